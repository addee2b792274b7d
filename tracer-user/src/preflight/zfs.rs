//! ZFS, its zvols, and what is known to be wrong with it.

use super::Check;
use crate::{
    device::{Roots, count_zvols},
    host,
    input::Mode,
    report::units,
};

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let host = host::read(roots);
    let zvols = count_zvols(roots);
    let mut checks = vec![version(&host), present(roots, zvols)];
    let modes: &[Mode] = match zvols {
        (0, 0) => &[],
        (_, 0) => &[Mode::Bio],
        (0, _) => &[Mode::BlkMq],
        _ => &[Mode::Bio, Mode::BlkMq],
    };
    checks.extend(host::known_defects(&host, modes).iter().map(|defect| {
        Check::warning(
            "ZFS defect",
            format!("{} ({})", defect.what, defect.source),
            defect.remedy,
        )
    }));
    checks
}

fn version(host: &crate::input::Host) -> Check {
    match &host.zfs_version {
        Some(version) => Check::ok("ZFS", version),
        None => Check::warning(
            "ZFS",
            "the module is not loaded, so there are no zvols",
            "modprobe zfs and import the pool, or name other disks (loop0)",
        ),
    }
}

/// The zvols, by mode, and whether their datasets can be known.
fn present(roots: &Roots, (bio, blk_mq): (usize, usize)) -> Check {
    let id = "zvols";
    let count = |number: usize| units::count(number as u64);
    let found = match (bio, blk_mq) {
        (0, 0) => {
            return Check::warning(
                id,
                "none",
                "'capture --wait' and 'top' wait for one; other disks are traced by name (loop0)",
            );
        }
        (bio, 0) => format!("{}, bio mode", count(bio)),
        (0, blk_mq) => format!("{}, blk-mq mode", count(blk_mq)),
        (bio, blk_mq) => format!(
            "{} in bio mode, {} in blk-mq mode",
            count(bio),
            count(blk_mq)
        ),
    };
    if roots.dev.join("zvol").is_dir() {
        Check::ok(id, found)
    } else {
        Check::warning(
            id,
            format!("{found}; /dev/zvol is missing, so their datasets are unknown"),
            "see that udev runs (in a container: mount the host's /dev), then: udevadm trigger \
             --subsystem-match=block",
        )
    }
}

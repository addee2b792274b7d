//! The machine of a capture, and what is known to be wrong with its ZFS.
//!
//! Owns the table of defects. A version alone decides: whether a defect mattered is for the
//! analysis, which knows what I/O there was. Distributions carry fixes under an old version;
//! what is known of that stands here too, the rest is said as "unless your distribution...".

use std::path::Path;

use crate::{
    device::{
        Roots,
        roots::{read_number, read_word},
    },
    input::{Host, Mode},
};

/// Reads the host. What cannot be read is empty or `None`.
#[must_use]
pub fn read(roots: &Roots) -> Host {
    let kernel = read_word(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default();
    let module = roots.sys.join("module/zfs");
    Host {
        hostname: read_word(&roots.proc.join("sys/kernel/hostname")).unwrap_or_default(),
        zfs_version: read_word(&module.join("version")),
        zfs_txg_timeout_s: read_number(&module.join("parameters/zfs_txg_timeout")),
        zfs_dirty_sync_bytes: dirty_sync_bytes(&module.join("parameters")),
        defects_patched: is_patched(&kernel),
        kernel,
    }
}

/// The limit of `dsl_pool_need_dirty_sync` (OpenZFS 0.8 to 2.4, `dsl_pool.c`).
#[allow(clippy::cast_possible_truncation, reason = "a percentage of 64 bits")]
fn dirty_sync_bytes(parameters: &Path) -> Option<u64> {
    let most: u64 = read_number(&parameters.join("zfs_dirty_data_max"))?;
    let percent: u64 = read_number(&parameters.join("zfs_dirty_data_sync_percent"))?;
    Some((u128::from(most) * u128::from(percent) / 100) as u64).filter(|bytes| *bytes > 0)
}

/// What I/O a defect bears on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bears {
    /// Flushes of bio-mode zvols (`PREFLUSH`, with or without data).
    BioFlush,
    /// Flushes, FUA and trim of blk-mq zvols.
    BlkMqFlush,
    /// Not on the I/O, but on what other tools show of it.
    Statistics,
}

/// A defect of the host's ZFS version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What I/O it bears on.
    pub bears_on: Bears,
    /// What goes wrong, in plain words.
    pub what: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// Where it is documented.
    pub source: &'static str,
}

impl Defect {
    /// The defect in a line: what, and what to do.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}; {} ({})", self.what, self.remedy, self.source)
    }

    /// Whether it bears on disks of one mode.
    #[must_use]
    pub const fn bears_on_mode(&self, mode: Mode) -> bool {
        match self.bears_on {
            Bears::BioFlush => matches!(mode, Mode::Bio),
            Bears::BlkMqFlush => matches!(mode, Mode::BlkMq),
            Bears::Statistics => true,
        }
    }
}

/// A range of versions, its end not included.
type Range = (Version, Version);

struct Known {
    defect: Defect,
    affected: &'static [Range],
    /// Whether a kernel that carries the fix under the old version ([`Host::defects_patched`])
    /// is free of it.
    is_backported: bool,
}

/// A version as `/sys/module/zfs/version` begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

/// Found in OpenZFS's history: the release tags that contain a fix.
const KNOWN: [Known; 3] = [
    Known {
        // `bio_is_flush` asked for the operation FLUSH alone, which no bio carries. Broken by
        // 846b59851924 (in 2.2.7 and 2.3.0), fixed by 41823a0ede, which is 8ff37c68d2 in
        // 2.2.8, 112dca3483 in 2.3.2 and in every 2.4.
        defect: Defect {
            bears_on: Bears::BioFlush,
            what: "this ZFS ignores the flushes of zvols: what a guest has fsynced can be lost \
                   in a crash",
            remedy: "update to ZFS 2.2.8, 2.3.2 or later",
            source: "openzfs/zfs pull request 17131",
        },
        affected: &[
            (Version(2, 2, 7), Version(2, 2, 8)),
            (Version(2, 3, 0), Version(2, 3, 2)),
        ],
        is_backported: true,
    },
    Known {
        // Fixed by 6a02c09942 in 2.2.9, 0bb5950e72 in 2.3.5 and 9079f986ae in 2.4.0-rc2.
        defect: Defect {
            bears_on: Bears::BlkMqFlush,
            what: "this ZFS sends the flushes and trims of blk-mq zvols down the read path: a \
                   flush makes nothing durable",
            remedy: "update to ZFS 2.2.9, 2.3.5, 2.4.0 or later, or set zvol_use_blk_mq=0 and \
                     import the pool again",
            source: "openzfs/zfs issue 17761, pull request 17765",
        },
        affected: &[
            (Version(2, 2, 0), Version(2, 2, 9)),
            (Version(2, 3, 0), Version(2, 3, 5)),
        ],
        is_backported: false,
    },
    Known {
        // The queue lacked QUEUE_FLAG_IO_STAT, without which the driver accounts nothing;
        // fixed by 32a971e749 in 2.1.1, never in 2.0.
        defect: Defect {
            bears_on: Bears::Statistics,
            what: "block statistics are not maintained: iostat and /sys/block/zd*/stat show \
                   zeros for zvols; zvoltrace does not use them",
            remedy: "update to ZFS 2.1.1 or later for iostat",
            source: "openzfs/zfs issue 12066",
        },
        affected: &[(Version(0, 0, 0), Version(2, 1, 1))],
        is_backported: false,
    },
];

/// The known defects of the host's ZFS that bear on disks of these modes. None without ZFS, or
/// when its version cannot be read.
#[must_use]
pub fn known_defects(host: &Host, modes: &[Mode]) -> Vec<Defect> {
    let Some(version) = host.zfs_version.as_deref().and_then(version) else {
        return Vec::new();
    };
    KNOWN
        .iter()
        .filter(|known| {
            let is_affected = known
                .affected
                .iter()
                .any(|(from, to)| (*from..*to).contains(&version));
            is_affected && !(known.is_backported && host.defects_patched)
        })
        .map(|known| known.defect)
        .filter(|defect| modes.iter().any(|mode| defect.bears_on_mode(*mode)))
        .collect()
}

/// Takes `2.2.7` from `2.2.7-pve1`, `2.3.0-rc4`, `2.1.5-1ubuntu6~22.04.4`, `v2.4.0`.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.trim_start_matches('v').splitn(3, '.').map(|part| {
        let end = part
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(part.len());
        part[..end].parse::<u32>().ok()
    });
    Some(Version(
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    ))
}

/// Whether the kernel is one of Proxmox's that carry the fix of the ignored flushes under the
/// old version: 6.8.12-9 and 6.11.11-2, and what came later in those series and after.
fn is_patched(release: &str) -> bool {
    let Some(release) = release.strip_suffix("-pve") else {
        return false;
    };
    let Some((kernel, build)) = release.split_once('-') else {
        return false;
    };
    let (Some(kernel), Ok(build)) = (version(kernel), build.parse::<u32>()) else {
        return false;
    };
    match (kernel.0, kernel.1) {
        (6, 8) => (kernel, build) >= (Version(6, 8, 12), 9),
        (6, 11) => (kernel, build) >= (Version(6, 11, 11), 2),
        _ => kernel > Version(6, 11, 11),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::FakeHost;

    fn host(kernel: &str, zfs: Option<&str>) -> Host {
        let fake = FakeHost::new();
        fake.write("proc/sys/kernel/hostname", "pve1\n");
        fake.write("proc/sys/kernel/osrelease", &format!("{kernel}\n"));
        if let Some(zfs) = zfs {
            fake.write("sys/module/zfs/version", &format!("{zfs}\n"));
            fake.write("sys/module/zfs/parameters/zfs_txg_timeout", "5\n");
            fake.write(
                "sys/module/zfs/parameters/zfs_dirty_data_max",
                "4294967296\n",
            );
            fake.write(
                "sys/module/zfs/parameters/zfs_dirty_data_sync_percent",
                "20\n",
            );
        }
        read(&fake.roots())
    }

    fn bears(kernel: &str, zfs: &str, modes: &[Mode]) -> Vec<Bears> {
        known_defects(&host(kernel, Some(zfs)), modes)
            .iter()
            .map(|defect| defect.bears_on)
            .collect()
    }

    #[test]
    fn the_host_is_read_with_and_without_zfs() {
        let with = host("6.8.12-8-pve", Some("2.2.7-pve2"));
        assert_eq!(with.hostname, "pve1");
        assert_eq!(with.kernel, "6.8.12-8-pve");
        assert_eq!(with.zfs_version.as_deref(), Some("2.2.7-pve2"));
        assert_eq!(with.zfs_txg_timeout_s, Some(5));
        assert_eq!(with.zfs_dirty_sync_bytes, Some(858_993_459));
        assert!(!with.defects_patched);
        let without = host("6.12.1", None);
        assert_eq!(
            (without.zfs_version, without.zfs_txg_timeout_s),
            (None, None)
        );
        assert_eq!(read(&FakeHost::new().roots()), Host::default());
    }

    #[test]
    fn each_version_has_its_defects_and_no_other() {
        use Bears::{BioFlush, BlkMqFlush, Statistics};
        let both = [Mode::Bio, Mode::BlkMq];
        for (zfs, expected) in [
            ("2.0.3-9", &[Statistics][..]),
            ("2.1.0", &[Statistics]),
            ("2.1.1", &[]),
            ("2.1.11-1", &[]),
            ("2.2.0", &[BlkMqFlush]),
            ("2.2.2-0ubuntu9.1", &[BlkMqFlush]),
            ("2.2.6", &[BlkMqFlush]),
            ("2.2.7-1", &[BioFlush, BlkMqFlush]),
            ("2.2.8", &[BlkMqFlush]),
            ("2.2.9", &[]),
            ("2.2.10", &[]),
            ("2.3.0-rc4", &[BioFlush, BlkMqFlush]),
            ("2.3.0-1", &[BioFlush, BlkMqFlush]),
            ("2.3.1-1~bpo12+1", &[BioFlush, BlkMqFlush]),
            ("2.3.2-1~bpo12+2", &[BlkMqFlush]),
            ("2.3.4", &[BlkMqFlush]),
            ("2.3.5", &[]),
            ("2.3.9", &[]),
            ("2.4.0", &[]),
            ("2.4.4-1", &[]),
            ("10.0.0", &[]),
            ("", &[]),
            ("git-abc", &[]),
        ] {
            assert_eq!(bears("6.12.0", zfs, &both), expected, "{zfs}");
        }
    }

    #[test]
    fn a_defect_of_the_other_mode_is_not_named() {
        assert_eq!(bears("6.12.0", "2.3.1", &[Mode::Bio]), [Bears::BioFlush]);
        assert_eq!(
            bears("6.12.0", "2.3.1", &[Mode::BlkMq]),
            [Bears::BlkMqFlush]
        );
        assert!(bears("6.12.0", "2.3.1", &[]).is_empty());
    }

    #[test]
    fn a_proxmox_kernel_with_the_fix_is_not_blamed() {
        for (kernel, is_affected) in [
            ("6.8.12-8-pve", true),
            ("6.8.12-9-pve", false),
            ("6.8.12-10-pve", false),
            ("6.8.8-4-pve", true),
            ("6.11.11-1-pve", true),
            ("6.11.11-2-pve", false),
            ("6.11.0-2-pve", true),
            ("6.14.0-1-pve", false),
            ("6.8.12-9", true),
            ("6.8.0-55-generic", true),
            ("6.5.13-6-pve", true),
        ] {
            let found = bears(kernel, "2.2.7-pve2", &[Mode::Bio]);
            assert_eq!(found.contains(&Bears::BioFlush), is_affected, "{kernel}");
        }
        assert_eq!(
            bears("6.8.12-9-pve", "2.2.7-pve2", &[Mode::BlkMq]),
            [Bears::BlkMqFlush],
            "that fix is another"
        );
    }
}

//! The rights of this process.

use caps::Capability;

use super::{Check, kernel::Release};
use crate::device::{Roots, roots::read_text};

/// First kernel with `CAP_BPF` and `CAP_PERFMON`.
const FINE_GRAINED: (u32, u32) = (5, 8);
/// Longest `/proc/self/status` that is read.
const STATUS_BYTES: u64 = 64 << 10;

/// Effective capabilities and user of this process, as `/proc/self/status` tells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rights {
    effective: u64,
    is_root: bool,
}

impl Rights {
    pub(super) fn read(roots: &Roots) -> Self {
        let status = read_text(&roots.proc.join("self/status"), STATUS_BYTES).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().last().map(str::to_owned)
        };
        Self {
            effective: field("CapEff:")
                .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
                .unwrap_or(0),
            // Real, effective, saved and file system user: the last is as good as any.
            is_root: field("Uid:").as_deref() == Some("0"),
        }
    }

    pub(super) const fn has(self, capability: u64) -> bool {
        self.effective & capability != 0
    }
}

pub(super) fn capabilities(roots: &Roots, release: &Release) -> Check {
    let id = "capabilities";
    let rights = Rights::read(roots);
    if !is_initial_namespace(roots) {
        return Check::missing(
            id,
            "this is a user namespace (an unprivileged container): its capabilities do not \
             count for BPF",
            "run it on the host itself",
        );
    }
    if rights.has(Capability::CAP_SYS_ADMIN.bitmask()) {
        return Check::ok(id, "CAP_SYS_ADMIN");
    }
    let needed: &[Capability] = if release.is_before(FINE_GRAINED) {
        &[Capability::CAP_SYS_ADMIN]
    } else {
        &[Capability::CAP_BPF, Capability::CAP_PERFMON]
    };
    let names = |capabilities: &[Capability]| {
        capabilities
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let missing: Vec<Capability> = needed
        .iter()
        .filter(|capability| !rights.has(capability.bitmask()))
        .copied()
        .collect();
    if missing.is_empty() {
        return Check::ok(id, names(needed));
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    let remedy = if rights.is_root {
        format!(
            "give {} to the container or service this runs in",
            names(&missing)
        )
    } else {
        let setcap = needed
            .iter()
            .map(|capability| capability.to_string().to_lowercase())
            .collect::<Vec<_>>()
            .join(",");
        format!("run it as root (sudo), or once: setcap {setcap}+ep PATH/TO/zvoltrace")
    };
    Check::missing(id, format!("{} {verb} missing", names(&missing)), remedy)
}

/// The initial user namespace maps every user to itself (`user_namespaces(7)`). A file that is
/// not there means a kernel without user namespaces.
fn is_initial_namespace(roots: &Roots) -> bool {
    let map = read_text(&roots.proc.join("self/uid_map"), STATUS_BYTES).unwrap_or_default();
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

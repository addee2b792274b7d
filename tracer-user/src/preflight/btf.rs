//! BTF of the running kernel, and the tracepoints in it.

use std::{fs, path::Path};

use btf_rs::{Btf, Type};

use super::Check;
use crate::device::Roots;

/// The tracepoints that are attached to: two for bio-mode disks, four for blk-mq disks, which
/// also need the first one.
pub const TRACEPOINTS: [&str; 6] = [
    "block_bio_queue",
    "block_bio_complete",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
];

const NO_BTF: &str = "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (every current kernel of \
                      Debian, Ubuntu and Proxmox VE has it)";
const REPORT: &str = "send the output of 'uname -a' and this message to the authors";

/// The tracepoints of `names` that a BTF file does not describe. A tracepoint's signature is
/// the typedef `btf_trace_<name>` (`include/trace/bpf_probe.h`).
///
/// The error says in plain words what is wrong with the file.
pub fn missing_tracepoints<'a>(path: &Path, names: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let btf = Btf::from_bytes(&bytes).map_err(|error| format!("cannot be decoded: {error}"))?;
    Ok(names
        .iter()
        .filter(|name| {
            !btf.resolve_types_by_name(&format!("btf_trace_{name}"))
                .unwrap_or_default()
                .iter()
                .any(|found| matches!(found, Type::Typedef(_)))
        })
        .copied()
        .collect())
}

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let path = roots.sys.join("kernel/btf/vmlinux");
    if !path.exists() {
        return vec![Check::missing(
            "BTF",
            "/sys/kernel/btf/vmlinux is not there: this kernel does not describe its types",
            NO_BTF,
        )];
    }
    match missing_tracepoints(&path, &TRACEPOINTS) {
        Err(cause) => vec![Check::missing(
            "BTF",
            format!("/sys/kernel/btf/vmlinux {cause}"),
            REPORT,
        )],
        Ok(missing) => {
            let mut checks = vec![Check::ok("BTF", "/sys/kernel/btf/vmlinux")];
            checks.extend(TRACEPOINTS.map(|name| {
                if missing.contains(&name) {
                    Check::missing(name, "this kernel has no such tracepoint", REPORT)
                } else {
                    Check::ok(name, "found")
                }
            }));
            checks
        }
    }
}

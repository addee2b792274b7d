//! BTF of the running kernel, and the tracepoints in it.

use tracer_common::names::COPIES;

use super::Check;
use crate::{
    btf::{self, BtfError},
    device::Roots,
};

const NO_BTF: &str = "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (every current kernel of \
                      Debian, Ubuntu and Proxmox VE has it)";
const REPORT: &str = "send the output of 'uname -a' and this message to the authors";

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let types = match btf::open(&roots.sys.join(btf::VMLINUX)) {
        Ok(types) => types,
        Err(BtfError::Missing { .. }) => {
            return vec![Check::missing(
                "BTF",
                "/sys/kernel/btf/vmlinux is not there: this kernel does not describe its types",
                NO_BTF,
            )];
        }
        Err(BtfError::Unreadable { cause, .. }) => {
            return vec![Check::missing(
                "BTF",
                format!("/sys/kernel/btf/vmlinux cannot be read: {cause}"),
                REPORT,
            )];
        }
        Err(BtfError::Lacking { what }) => {
            return vec![Check::missing("BTF", format!("it has no {what}"), REPORT)];
        }
    };
    let mut checks = vec![Check::ok("BTF", "/sys/kernel/btf/vmlinux")];
    let mut lacks_one = false;
    for name in btf::tracepoints() {
        checks.push(if btf::has_tracepoint(&types, name) {
            Check::ok(name, "found")
        } else {
            lacks_one = true;
            Check::missing(name, "this kernel has no such tracepoint", REPORT)
        });
    }
    match btf::layout(&types) {
        Ok(layout) => {
            checks.push(Check::ok("hooks", hooks(&layout)));
            checks.push(Check::ok("copies of hooks", copies(&layout)));
        }
        // Named above.
        Err(_) if lacks_one => {}
        Err(error) => checks.push(Check::missing("hooks", error.to_string(), REPORT)),
    }
    checks
}

/// How many programs a hook is made of, and why.
fn copies(layout: &btf::Layout) -> String {
    if layout.preempts_hooks {
        format!(
            "{COPIES} of each: this kernel skips a hook while a preempted task is in it, and a \
             copy then does the work"
        )
    } else {
        "none: this kernel lets no task be preempted in a hook".to_owned()
    }
}

/// Which of the two kinds of hooks this kernel most likely takes; which it does is found by
/// loading them.
fn hooks(layout: &btf::Layout) -> &'static str {
    if layout.is_5_12_or_later() {
        "with atomic operations and a ring for each CPU (5.12 and later)"
    } else {
        "the slower ones of kernels before 5.12, with a hash map and one ring"
    }
}

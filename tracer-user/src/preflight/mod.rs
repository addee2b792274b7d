//! Everything live tracing needs, and for what is missing what to do.
//!
//! Owns the list of checks. It only reads, all of it under [`Roots`]; it loads no program,
//! opens no device and runs nothing, so it is safe on a host in trouble. What it says must be
//! true of *this* tool: programs are attached to BTF tracepoints, which need neither tracefs
//! nor debugfs nor perf events, so none of those is ever given as a reason.

mod btf;
mod kernel;
mod memory;
mod render;
mod rights;
#[cfg(test)]
mod tests;
mod zfs;

use serde::Serialize;

pub use self::{
    memory::kernel_memory_bytes,
    render::{json, text},
};
use crate::device::Roots;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Tracing works, but something is worth knowing.
    Warning,
    /// Live tracing does not work without it.
    Missing,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is checked; a name for scripts.
    pub id: &'static str,
    /// Outcome.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do; there is one whenever the status is not ok.
    pub remedy: Option<String>,
}

impl Check {
    fn ok(id: &'static str, found: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(id: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Warning,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn missing(id: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            status: Status::Missing,
            ..Self::warning(id, found, remedy)
        }
    }
}

/// Runs every check, for a ring of `ring_bytes`.
#[must_use]
pub fn run(roots: &Roots, ring_bytes: u64) -> Vec<Check> {
    let release = kernel::Release::read(roots);
    let mut checks = vec![kernel::version(&release)];
    checks.extend(btf::checks(roots));
    checks.push(rights::capabilities(roots, &release));
    checks.push(kernel::lockdown(roots));
    checks.push(kernel::tracefs(roots));
    checks.push(kernel::debugfs(roots));
    checks.extend(kernel::sysctls(roots));
    checks.push(memory::locked(roots, &release, ring_bytes));
    checks.push(memory::free(roots, ring_bytes));
    checks.extend(zfs::checks(roots));
    checks
}

/// Whether nothing that is required is missing. The command ends with 0 then, and else with 3.
#[must_use]
pub fn is_ready(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.status != Status::Missing)
}

/// What lockdown forbids and what to do; `None` when it allows tracing. To be asked before the
/// kernel is: `confidentiality` stops the helpers that read kernel memory, while programs that
/// read it by typed loads alone were let through (seen on 6.12). It forbids those no less.
#[must_use]
pub fn lockdown_refusal(roots: &Roots) -> Option<String> {
    refusal(&[kernel::lockdown(roots)])
}

/// What is missing and what to do, in one message, for a command that cannot begin; `None`
/// when nothing is.
#[must_use]
pub fn refusal(checks: &[Check]) -> Option<String> {
    let missing: Vec<String> = checks
        .iter()
        .filter(|check| check.status == Status::Missing)
        .map(render::sentence)
        .collect();
    (!missing.is_empty()).then(|| missing.join("\n"))
}

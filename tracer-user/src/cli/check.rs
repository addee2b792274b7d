//! `check`: whether this machine can be traced.

use super::{ExitStatus, plan::CheckPlan, present::deliver, value::PlainFormat};
use crate::{device::Roots, preflight};

/// Prints every prerequisite; the exit status says whether one is missing.
pub(super) fn run(plan: &CheckPlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    let checks = preflight::run(roots, u64::from(plan.ring_bytes));
    let text = match plan.format {
        PlainFormat::Text => preflight::text(&checks),
        PlainFormat::Json => preflight::json(&checks)?,
    };
    deliver(&plan.target, text.as_bytes())?;
    Ok(if preflight::is_ready(&checks) {
        ExitStatus::Done
    } else {
        ExitStatus::Prerequisite
    })
}

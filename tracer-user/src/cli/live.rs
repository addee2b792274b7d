//! What the live verbs share: which disks, how they are traced, and what keeps them from it.

use std::time::Duration;

use super::{
    Refusal,
    plan::{TracePlan, selector},
};
use crate::{
    device::{Roots, Selector, scan},
    preflight,
    source::live::Plan,
    tracer::TracerError,
};

/// The part of a plan that the live source looks at.
pub(super) fn live_plan(trace: &TracePlan, duration: Option<Duration>, announce: bool) -> Plan {
    Plan {
        args: trace.args.clone(),
        block_size_bytes: trace.block_size_bytes,
        duration,
        ring_bytes: trace.ring_bytes,
        kernel_log: trace.kernel_log,
        copies: trace.copies,
        ask_zpool: false,
        announce,
    }
}

/// The disks of a plan; none at all is refused unless it waits for one, and all are where
/// lockdown forbids tracing.
pub(super) fn select(trace: &TracePlan, wait: bool, roots: &Roots) -> Result<Selector, Refusal> {
    let selector = selector(&trace.patterns, roots)?;
    if let Some(refusal) = preflight::lockdown_refusal(roots) {
        return Err(Refusal::Prerequisite(refusal));
    }
    if !wait {
        require_a_disk(&selector, roots)?;
    }
    Ok(selector)
}

/// Refuses when no disk matches, and says which there are.
fn require_a_disk(selector: &Selector, roots: &Roots) -> Result<(), Refusal> {
    match selector.absence(&scan(roots)) {
        Some(absence) => Err(Refusal::Prerequisite(format!(
            "{absence}; with --wait it is traced as soon as it comes"
        ))),
        None => Ok(()),
    }
}

/// Gives a tracer's error the exit status it leads to. Where a prerequisite is missing, it is
/// named instead of what the kernel said, which may be only a verifier's log.
pub(super) fn refuse(error: anyhow::Error, plan: &Plan, roots: &Roots) -> anyhow::Error {
    match error.downcast_ref::<TracerError>() {
        Some(tracer) if tracer.is_missing_prerequisite() => {
            let checks = preflight::run(roots, u64::from(plan.ring_bytes));
            let missing = preflight::refusal(&checks);
            Refusal::Prerequisite(missing.unwrap_or_else(|| tracer.to_string())).into()
        }
        _ => error,
    }
}

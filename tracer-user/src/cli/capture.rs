//! `capture`: traces for a while, then prints the report.

use std::time::Duration;

use super::{
    ExitStatus, Refusal,
    plan::{CapturePlan, RecordPlan, TracePlan, selector},
    present,
};
use crate::{
    capture::{self, Setup},
    device::{Roots, Selector, scan},
    recording::{self, Recorder},
    source::live::Plan,
    tracer::TracerError,
};

/// Runs the capture. What would keep a result from being written is said before it begins.
pub(super) fn run(plan: &CapturePlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    present::check(&plan.presentation)?;
    let selector = selector(&plan.trace.patterns, roots)?;
    if !plan.wait {
        require_a_disk(&selector, roots)?;
    }
    let setup = Setup {
        selector,
        roots: roots.clone(),
        recorder: plan.record.as_ref().map(recorder).transpose()?,
        progress: plan.progress,
        analysis: plan.analysis.clone(),
    };
    let live = live_plan(&plan.trace, Some(Duration::from_nanos(plan.duration_ns)));
    let outcome = capture::run(&live, setup).map_err(refuse)?;
    let presented = present::present(&outcome.report, &outcome.why, &plan.presentation);
    if let Some(error) = outcome.recording.and_then(|recording| recording.error) {
        let status = presented?;
        return match status {
            ExitStatus::Done => Err(error.into()),
            other => Ok(other),
        };
    }
    presented
}

/// The part of a plan that the live source looks at.
pub(super) fn live_plan(trace: &TracePlan, duration: Option<Duration>) -> Plan {
    Plan {
        args: trace.args.clone(),
        block_size_bytes: trace.block_size_bytes,
        duration,
        ring_bytes: trace.ring_bytes,
        kernel_log: trace.kernel_log,
    }
}

/// Refuses when no disk matches, and says which there are.
pub(super) fn require_a_disk(selector: &Selector, roots: &Roots) -> Result<(), Refusal> {
    match selector.absence(&scan(roots)) {
        Some(absence) => Err(Refusal::Prerequisite(format!(
            "{absence}; with --wait it is traced as soon as it comes"
        ))),
        None => Ok(()),
    }
}

/// Gives a tracer's error the exit status it leads to.
pub(super) fn refuse(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<TracerError>() {
        Some(tracer) if tracer.is_missing_prerequisite() => {
            Refusal::Prerequisite(tracer.to_string()).into()
        }
        _ => error,
    }
}

fn recorder(plan: &RecordPlan) -> anyhow::Result<Recorder> {
    Recorder::spawn(
        &plan.path,
        &recording::Options {
            max_bytes: plan.max_bytes,
            max_files: plan.max_files,
            ..recording::Options::default()
        },
    )
}

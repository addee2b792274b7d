//! `capture`: traces for a while, then prints the report.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    ExitStatus,
    live::{live_plan, refuse, select},
    plan::{CapturePlan, RecordPlan},
    present,
};
use crate::{
    capture::{self, Setup},
    device::Roots,
    progress::ProgressKind,
    recording::{self, Recorder},
    source::live::Plan,
};

/// Runs the capture. What would keep a result from being written is said before it begins.
pub(super) fn run(plan: &CapturePlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    present::check(&plan.presentation)?;
    let setup = Setup {
        selector: select(&plan.trace, plan.wait, roots)?,
        roots: roots.clone(),
        recorder: plan.record.as_ref().map(recorder).transpose()?,
        progress: plan.progress,
        analysis: plan.analysis.clone(),
    };
    let live = Plan {
        ask_zpool: plan.ask_zpool,
        ..live_plan(
            &plan.trace,
            Some(Duration::from_nanos(plan.duration_ns)),
            plan.progress != ProgressKind::Quiet,
        )
    };
    let outcome = capture::run(&live, setup).map_err(|error| refuse(error, &live, roots))?;
    if let Some(failure) = &outcome.zpool_failure {
        let _ = writeln!(
            io::stderr(),
            "zvoltrace: {failure}: the report lacks the space that block sizes take; \
             name the layout yourself, as in --layout raidz2:6"
        );
    }
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

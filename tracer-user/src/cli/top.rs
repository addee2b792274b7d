//! `top`: the screen, over tracing or over what was recorded.

use std::path::PathBuf;

use super::{
    ExitStatus,
    live::{live_plan, refuse, select},
    plan::{TopFrom, TopPlan},
};
use crate::{
    analysis::Options,
    device::Roots,
    source::{Source, blktrace, live::Plan, open::open},
    tui::{self, Recorded, observe::Observer},
};

/// Shows until the user leaves. What is missing is said before the screen is entered.
pub(super) fn run(plan: &TopPlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    match &plan.from {
        TopFrom::Live { trace, ask_zpool } => {
            let selector = select(trace, true, roots)?;
            let live = Plan {
                ask_zpool: *ask_zpool,
                ..live_plan(trace, None, false)
            };
            tui::live(&live, roots, selector, plan.analysis.clone(), plan.style)
                .map_err(|error| refuse(error, &live, roots))?;
        }
        TopFrom::Files {
            inputs,
            block_size_bytes,
            args,
        } => {
            let options = blktrace::Options {
                block_size_bytes: *block_size_bytes,
                args: args.clone(),
            };
            let source = open(inputs, options.clone())?;
            let recorded = recorded(&*source, inputs.clone(), options, plan.analysis.clone());
            tui::replay(source, recorded, plan.style)?;
        }
    }
    Ok(ExitStatus::Done)
}

fn recorded(
    source: &dyn Source,
    inputs: Vec<PathBuf>,
    options: blktrace::Options,
    analysis: Options,
) -> Recorded {
    let kind = source.kind();
    let can_rewind = inputs.iter().all(|path| path.as_os_str() != "-");
    let patterns = inputs.iter().map(|path| path.display().to_string());
    let patterns = patterns.collect::<Vec<_>>().join(" ");
    Recorded {
        open: Box::new(move || open(&inputs, options.clone())),
        observer: Box::new(move || Observer::new(analysis.clone(), kind, patterns.clone())),
        can_rewind,
    }
}

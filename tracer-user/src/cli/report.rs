//! `report`: the report of a capture that was kept in files.

use std::io::{self, Write};

use super::{ExitStatus, plan::ReportPlan, present};
use crate::{
    analysis::Collector,
    source::{Source, blktrace, open::open},
};

/// Reads the inputs and presents the report of what they hold.
///
/// When an input turns out to be damaged on the way, the report of what came before is still
/// presented, marked incomplete, and the damage is the error.
pub(super) fn run(plan: &ReportPlan) -> anyhow::Result<ExitStatus> {
    let options = blktrace::Options {
        block_size_bytes: plan.block_size_bytes,
        args: plan.args.clone(),
    };
    let mut source = open(&plan.inputs, options)?;
    present::check(&plan.presentation)?;
    let mut collector = Collector::new(plan.analysis.clone(), source.kind());
    let damage = feed(source.as_mut(), &mut collector);
    let why = if plan.presentation.explain {
        collector.explain()
    } else {
        Vec::new()
    };
    let presented = present::present(&collector.report(), &why, &plan.presentation);
    match (damage, presented) {
        (Ok(()), presented) => presented,
        (Err(damage), Ok(_)) => Err(damage),
        (Err(damage), Err(error)) => {
            // Both matter: the one is said here, the other by the caller.
            let _ = writeln!(io::stderr(), "zvoltrace: {damage:#}");
            Err(error)
        }
    }
}

fn feed(source: &mut dyn Source, collector: &mut Collector) -> anyhow::Result<()> {
    while let Some(input) = source.next()? {
        collector.feed(&input);
    }
    Ok(())
}

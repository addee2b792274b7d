//! `export`: a capture in the format of another tool.

use std::io::{self, Write};

use super::{ExitStatus, plan::ExportPlan};
use crate::{
    export,
    source::{blktrace, open::open},
};

/// Exports, and says on standard error what was written and what the format cannot hold.
pub(super) fn run(plan: &ExportPlan) -> anyhow::Result<ExitStatus> {
    let options = blktrace::Options {
        args: plan.args.clone(),
        ..blktrace::Options::default()
    };
    let mut source = open(&plan.inputs, options)?;
    let summary = export::export(source.as_mut(), plan.to, &plan.path)?;
    if !plan.quiet {
        // Notes only: the files are written, whoever reads this.
        let _ = say(&summary);
    }
    Ok(ExitStatus::Done)
}

fn say(summary: &export::Summary) -> io::Result<()> {
    let mut err = io::stderr().lock();
    for file in &summary.files {
        writeln!(err, "zvoltrace: wrote {}", file.display())?;
    }
    for note in &summary.notes {
        writeln!(err, "zvoltrace: {note}")?;
    }
    Ok(())
}

//! `events`: one line an I/O.

use std::{
    fs::File,
    io::{self, Write},
};

use super::{
    ExitStatus,
    plan::{EventsPlan, Target},
};
use crate::{
    events::{Printer, Summary, print_all},
    output,
    report::units::count,
    source::{Source, blktrace, open::open},
};

/// Prints the I/Os of the input, and says on standard error what is missing among them.
pub(super) fn run(plan: &EventsPlan) -> anyhow::Result<ExitStatus> {
    let options = blktrace::Options {
        args: plan.args.clone(),
        ..blktrace::Options::default()
    };
    let mut source = open(&plan.from, options)?;
    let summary = match &plan.target {
        Target::Stdout => print(plan, source.as_mut(), io::stdout().lock())?,
        Target::File(path) => {
            let mut printed = Ok(Summary::default());
            output::replace_file(path, |file: &mut File| {
                match print(plan, source.as_mut(), file) {
                    // What cannot be written fails the file; what cannot be read ends it.
                    Err(error) => match error.downcast::<io::Error>() {
                        Ok(error) => return Err(error),
                        Err(error) => printed = Err(error),
                    },
                    done => printed = done,
                }
                Ok(())
            })?;
            printed?
        }
    };
    if !plan.quiet {
        // Notes only: every line is printed, whoever reads this.
        let _ = say(&summary);
    }
    Ok(ExitStatus::Done)
}

fn print(plan: &EventsPlan, source: &mut dyn Source, out: impl Write) -> anyhow::Result<Summary> {
    let mut printer = Printer::new(out, plan.format, plan.filter.clone());
    print_all(source, &mut printer)?;
    Ok(printer.summary().clone())
}

fn say(summary: &Summary) -> io::Result<()> {
    let mut err = io::stderr().lock();
    if summary.lost > 0 {
        writeln!(
            err,
            "zvoltrace: {} I/Os were lost and are not among these",
            count(summary.lost)
        )?;
    }
    if !summary.ended {
        writeln!(
            err,
            "zvoltrace: the capture was cut off; its end is not among these"
        )?;
    }
    for reason in &summary.incomplete_reasons {
        writeln!(err, "zvoltrace: not complete: {reason}")?;
    }
    Ok(())
}

//! `events`: one line an I/O, from files or as it completes.

use std::{
    fs::File,
    io::{self, Write},
    thread,
};

use anyhow::{Context, anyhow};

use super::{
    ExitStatus,
    live::{live_plan, refuse, select},
    plan::{EventsFrom, EventsPlan, Target},
};
use crate::{
    device::Roots,
    events::{Printer, Summary, handover, print_all},
    input::Input,
    output,
    report::units::count,
    session,
    source::{Source, blktrace, live::Live, open::open},
};

/// Prints the I/Os, and says on standard error what is missing among them.
pub(super) fn run(plan: &EventsPlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    if let Target::File(path) = &plan.target {
        output::check(path)?;
    }
    let summary = match &plan.from {
        EventsFrom::Files(files) => {
            let options = blktrace::Options {
                args: plan.args.clone(),
                ..blktrace::Options::default()
            };
            let mut source = open(files, options)?;
            print(plan, |printer| print_all(source.as_mut(), printer))?
        }
        EventsFrom::Live {
            trace,
            duration,
            wait,
        } => {
            let selector = select(trace, *wait, roots)?;
            let plan = plan.clone();
            let live_plan = live_plan(trace, *duration, !plan.quiet);
            session::run(
                &live_plan,
                roots,
                selector,
                move |live| print_live(live, plan),
                || {},
            )
            .map_err(|error| refuse(error, &live_plan, roots))?
        }
    };
    if !plan.quiet {
        // Notes only: every line is printed, whoever reads this.
        let _ = say(&summary);
    }
    Ok(ExitStatus::Done)
}

/// Prints on a thread of its own, so that a slow reader never keeps the ring from being drained.
fn print_live(mut live: Live, plan: EventsPlan) -> anyhow::Result<Summary> {
    let (mut sender, receiver) = handover();
    let thread = thread::Builder::new()
        .name("print".to_owned())
        .spawn(move || {
            print(&plan, |printer| {
                for input in receiver {
                    printer.feed(&input)?;
                }
                Ok(())
            })
        })
        .context("cannot start the printing thread")?;
    let drained = drain(&mut live, |input| sender.offer(input).is_ok());
    drop(sender);
    let printed = thread
        .join()
        .unwrap_or_else(|_| Err(anyhow!("the printing thread broke down; report this")));
    drained.and(printed)
}

/// Pulls the source until it ends or nobody takes its inputs.
fn drain(live: &mut Live, mut take: impl FnMut(Input) -> bool) -> anyhow::Result<()> {
    while let Some(input) = live.next()? {
        if !take(input) {
            break;
        }
    }
    Ok(())
}

/// Lets `feed` print to the plan's place.
fn print(
    plan: &EventsPlan,
    feed: impl FnOnce(&mut Printer<&mut dyn Write>) -> anyhow::Result<()>,
) -> anyhow::Result<Summary> {
    let print_to = |out: &mut dyn Write| {
        let mut printer = Printer::new(out, plan.format, plan.filter.clone());
        feed(&mut printer)?;
        Ok(printer.summary().clone())
    };
    match &plan.target {
        Target::Stdout => print_to(&mut io::stdout()),
        Target::File(path) => {
            let mut result: anyhow::Result<_> = Ok(Summary::default());
            output::replace_file(path, |file: &mut File| {
                match print_to(file) {
                    // What cannot be written fails the file; what cannot be read ends it.
                    Err(error) => match error.downcast::<io::Error>() {
                        Ok(error) => return Err(error),
                        Err(error) => result = Err(error),
                    },
                    done => result = done,
                }
                Ok(())
            })?;
            result
        }
    }
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

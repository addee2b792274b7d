//! The command line: arguments -> plan -> verb -> exit status.
//!
//! [`args`] is the one clap definition, [`plan`] what it comes to. Nothing below this module
//! looks at arguments, and nothing here traces, analyses or renders.

pub mod args;
mod capture;
mod check;
mod compare;
mod environment;
mod events;
mod exit;
mod export;
mod list;
mod live;
pub mod plan;
pub mod present;
mod report;
mod top;
pub mod value;

use std::{
    ffi::OsString,
    io::{self, Write},
};

use clap::{CommandFactory, Parser};

use self::{
    args::{Cli, Verb},
    plan::{
        CapturePlan, CheckPlan, ComparePlan, EventsPlan, ExportPlan, ListPlan, ReportPlan, Target,
        TopPlan,
    },
    present::deliver,
};
pub use self::{
    environment::Environment,
    exit::{ExitStatus, Refusal},
};
use crate::device::Roots;

/// Runs the command and says how the process is to end. Errors are printed on standard error.
#[must_use]
pub fn run(args: &[OsString]) -> ExitStatus {
    let env = Environment::of_process(args);
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help or version into a closed pipe is no failure; nor is there anybody to tell.
            let _ = error.print();
            return if error.use_stderr() {
                ExitStatus::Usage
            } else {
                ExitStatus::Done
            };
        }
    };
    match dispatch(cli.verb, &env) {
        Ok(status) => status,
        Err(error) => {
            let status = ExitStatus::of(&error);
            if status != ExitStatus::Done {
                // The same reader may have closed standard error too.
                let _ = writeln!(io::stderr(), "zvoltrace: {error:#}");
            }
            status
        }
    }
}

fn dispatch(verb: Verb, env: &Environment) -> anyhow::Result<ExitStatus> {
    match verb {
        Verb::Top(args) => top::run(&TopPlan::resolve(args, env)?, &Roots::system()),
        Verb::Capture(args) => capture::run(&CapturePlan::resolve(args, env)?, &Roots::system()),
        Verb::Events(args) => events::run(&EventsPlan::resolve(args, env), &Roots::system()),
        Verb::Report(args) => report::run(&ReportPlan::resolve(args, env)?),
        Verb::Compare(args) => compare::run(&ComparePlan::resolve(args, env)),
        Verb::Export(args) => export::run(&ExportPlan::resolve(args, env)),
        Verb::List(args) => list::run(&ListPlan::resolve(args), &Roots::system()),
        Verb::Check(args) => check::run(&CheckPlan::resolve(args), &Roots::system()),
        Verb::Completions(args) => {
            let mut text = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "zvoltrace", &mut text);
            deliver(&Target::Stdout, &text)?;
            Ok(ExitStatus::Done)
        }
        Verb::Man(args) => {
            deliver(&Target::Stdout, &manual(args.verb.as_deref())?)?;
            Ok(ExitStatus::Done)
        }
    }
}

fn manual(verb: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut command = Cli::command();
    // Gives the verbs their full names and inherited flags.
    command.build();
    if let Some(verb) = verb {
        command = command
            .find_subcommand(verb)
            .ok_or_else(|| Refusal::Usage(format!("no verb {verb}: see zvoltrace --help")))?
            .clone();
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}

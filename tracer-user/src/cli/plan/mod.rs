//! What the command line comes to: every default filled in, every choice made. A plan is all
//! that a verb sees; it never looks at arguments or the environment again.

mod files;
mod host;
mod live;
#[cfg(test)]
mod tests;
mod top;

use std::path::PathBuf;

pub use self::{
    files::{ComparePlan, EventsFrom, EventsPlan, ExportPlan, ReportPlan},
    host::{CheckPlan, ListPlan, selector},
    live::{CapturePlan, RecordPlan, TracePlan},
    top::{TopFrom, TopPlan},
};
use super::{
    Environment, Refusal,
    args::{ColorWhen, ConsoleArgs, PoolArgs, ReportArgs},
    value::{FailOn, Format},
};
use crate::{
    analysis::{
        self,
        space::{DEFAULT_ASHIFT, PoolLayout},
    },
    progress::ProgressKind,
    report::style::Style,
};

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// `-` and nothing are standard output, as elsewhere.
    #[must_use]
    pub fn of(path: Option<PathBuf>) -> Self {
        match path {
            Some(path) if path.as_os_str() != "-" => Self::File(path),
            _ => Self::Stdout,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// One form of a report, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Form.
    pub format: Format,
    /// Place.
    pub target: Target,
}

/// How results are shown, and what they lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Forms and places of the report; empty for none.
    pub outputs: Vec<Output>,
    /// Names become tokens.
    pub redact: bool,
    /// The rules behind the verdicts are shown.
    pub explain: bool,
    /// Conditions of exit status 4.
    pub fail_on: Vec<FailOn>,
    /// How text on standard output looks.
    pub style: Style,
}

impl Presentation {
    /// Resolves the flags of a verb that ends in a report.
    pub fn resolve(
        args: ReportArgs,
        console: &ConsoleArgs,
        env: &Environment,
    ) -> Result<Self, Refusal> {
        let mut outputs = Vec::new();
        if let Some(format) = args.format.0 {
            outputs.push(Output {
                format,
                target: Target::of(args.output),
            });
        } else if let Some(path) = args.output {
            return Err(Refusal::Usage(format!(
                "--format none writes no report, but -o names {}: leave one out",
                path.display()
            )));
        }
        outputs.extend(args.also.into_iter().map(|also| Output {
            format: also.format,
            target: Target::of(Some(also.path)),
        }));
        for (n, output) in outputs.iter().enumerate() {
            if outputs[..n].iter().any(|o| o.target == output.target) {
                return Err(Refusal::Usage(format!(
                    "two forms of the report go to {}: give each a file of its own",
                    output.target
                )));
            }
        }
        Ok(Self {
            outputs,
            redact: args.redact,
            explain: args.explain,
            fail_on: args.fail_on,
            style: style(console, env),
        })
    }
}

/// How a capture is analysed.
#[must_use]
pub fn analysis(pool: &PoolArgs) -> analysis::Options {
    analysis::Options {
        layout: pool.layout.map(|layout| PoolLayout {
            layout,
            ashift: pool.ashift.unwrap_or(DEFAULT_ASHIFT),
        }),
        ..analysis::Options::default()
    }
}

/// How progress is shown on standard error.
#[must_use]
pub fn progress(console: &ConsoleArgs, env: &Environment) -> ProgressKind {
    match (console.quiet, env.stderr_is_terminal && !env.dumb_terminal) {
        (true, _) => ProgressKind::Quiet,
        (false, false) => ProgressKind::Lines,
        (false, true) => ProgressKind::Bar {
            unicode: env.unicode,
        },
    }
}

/// How text on standard output looks.
#[must_use]
pub fn style(console: &ConsoleArgs, env: &Environment) -> Style {
    let color = match console.color {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => env.stdout_is_terminal && !env.no_color && !env.dumb_terminal,
    };
    Style {
        color,
        unicode: env.unicode,
        ..Style::default()
    }
}

//! What the command line comes to: every default filled in, every choice made. A plan is all
//! that a verb sees; it never looks at arguments or the environment again.

use std::path::PathBuf;

use super::{
    Refusal,
    args::{
        CaptureArgs, CheckArgs, ColorWhen, ConsoleArgs, FileReportArgs, ListArgs, RecordArgs,
        ReportArgs, TraceArgs,
    },
    environment::Environment,
    value::{FailOn, Format, PlainFormat},
};
use crate::{
    device::{DEFAULT_PATTERN, Roots, Selector, SelectorError},
    progress::ProgressKind,
    report::style::Style,
};

/// Which disks are traced, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// Patterns of disks, `zd*` when none was given.
    pub patterns: Vec<String>,
    /// Block size for disks that are no zvols.
    pub block_size_bytes: Option<u64>,
    /// Size of the ring, a power of two of pages.
    pub ring_bytes: u32,
    /// Arguments as given, for the report.
    pub args: Vec<String>,
}

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
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
    /// Conditions of exit status 4.
    pub fail_on: Vec<FailOn>,
    /// How text on standard output looks.
    pub style: Style,
}

/// Plan of `capture`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePlan {
    /// What is traced.
    pub trace: TracePlan,
    /// For how long, ns.
    pub duration_ns: u64,
    /// Start though nothing matches yet.
    pub wait: bool,
    /// Where every event is kept.
    pub record: Option<RecordPlan>,
    /// What becomes of the report.
    pub presentation: Presentation,
    /// Progress.
    pub progress: ProgressKind,
}

impl CapturePlan {
    /// Resolves the arguments of `capture`.
    pub fn resolve(args: CaptureArgs, env: &Environment) -> Result<Self, Refusal> {
        let record = RecordPlan::resolve(args.record);
        let presentation = Presentation::resolve(args.report, &args.console, env)?;
        if let Some(record) = &record {
            let target = Target::of(Some(record.path.clone()));
            if presentation.outputs.iter().any(|o| o.target == target) {
                return Err(Refusal::Usage(format!(
                    "the recording and the report both go to {target}: give the report a file \
                     of its own by -o, or use --format none"
                )));
            }
        } else if presentation.outputs.is_empty() {
            return Err(Refusal::Usage(
                "--format none leaves nothing to do: give --record FILE".into(),
            ));
        }
        Ok(Self {
            trace: TracePlan::resolve(args.trace, env),
            duration_ns: args.duration,
            wait: args.wait,
            record,
            presentation,
            progress: progress(&args.console, env),
        })
    }
}

/// Where and how a recording is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlan {
    /// File; `-` for standard output.
    pub path: PathBuf,
    /// Size at which a new part begins; `None` for one file.
    pub max_bytes: Option<u64>,
    /// Parts that are kept, the newest; `None` for all.
    pub max_files: Option<u32>,
}

impl RecordPlan {
    /// Resolves the flags that keep events.
    #[must_use]
    pub fn resolve(args: RecordArgs) -> Option<Self> {
        Some(Self {
            path: args.record?,
            max_bytes: args.max_size,
            max_files: args.max_files,
        })
    }
}

/// Plan of `report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportPlan {
    /// Files, folders or base names.
    pub inputs: Vec<PathBuf>,
    /// Block size for disks whose own is not in the input.
    pub block_size_bytes: Option<u64>,
    /// Arguments as given, for inputs that do not hold those of the capture.
    pub args: Vec<String>,
    /// What becomes of the report.
    pub presentation: Presentation,
}

impl ReportPlan {
    /// Resolves the arguments of `report`.
    pub fn resolve(args: FileReportArgs, env: &Environment) -> Result<Self, Refusal> {
        Ok(Self {
            inputs: args.inputs,
            block_size_bytes: args.block_size,
            args: env.args.clone(),
            presentation: Presentation::resolve(args.report, &args.console, env)?,
        })
    }
}

/// Plan of `list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPlan {
    /// Patterns as given; none for all zvols.
    pub patterns: Vec<String>,
    /// Form.
    pub format: PlainFormat,
    /// Place.
    pub target: Target,
    /// Names become tokens.
    pub redact: bool,
}

impl ListPlan {
    /// Resolves the arguments of `list`.
    #[must_use]
    pub fn resolve(args: ListArgs) -> Self {
        let mut patterns = args.patterns;
        patterns.extend(args.devices);
        Self {
            patterns,
            format: args.plain.format,
            target: Target::of(args.plain.output),
            redact: args.redact,
        }
    }
}

/// Plan of `check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPlan {
    /// Size of the ring that a capture is to have.
    pub ring_bytes: u32,
    /// Form.
    pub format: PlainFormat,
    /// Place.
    pub target: Target,
}

impl CheckPlan {
    /// Resolves the arguments of `check`.
    #[must_use]
    pub fn resolve(args: CheckArgs) -> Self {
        Self {
            ring_bytes: args.ring_size,
            format: args.plain.format,
            target: Target::of(args.plain.output),
        }
    }
}

/// Compiles patterns. What no disk could ever match is wrong usage; a path that is not there
/// now is a missing prerequisite.
pub fn selector(patterns: &[String], roots: &Roots) -> Result<Selector, Refusal> {
    Selector::new(roots, patterns).map_err(|error| match error {
        SelectorError::NoSuchPath { .. } | SelectorError::NotABlockDevice { .. } => {
            Refusal::Prerequisite(error.to_string())
        }
        _ => Refusal::Usage(error.to_string()),
    })
}

impl TracePlan {
    /// Resolves the flags of the live verbs.
    #[must_use]
    pub fn resolve(args: TraceArgs, env: &Environment) -> Self {
        let mut patterns = args.patterns;
        patterns.extend(args.devices);
        if patterns.is_empty() {
            patterns.push(DEFAULT_PATTERN.into());
        }
        Self {
            patterns,
            block_size_bytes: args.block_size,
            ring_bytes: args.ring_size,
            args: env.args.clone(),
        }
    }
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
            fail_on: args.fail_on,
            style: style(console, env),
        })
    }
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Capture {
        #[command(flatten)]
        args: CaptureArgs,
    }

    fn resolve(line: &str, env: &Environment) -> Result<CapturePlan, Refusal> {
        let words = std::iter::once("capture").chain(line.split_whitespace());
        CapturePlan::resolve(Capture::try_parse_from(words).unwrap().args, env)
    }

    #[test]
    fn without_arguments_all_zvols_are_traced_for_a_minute() {
        let plan = resolve("", &Environment::default()).unwrap();
        assert_eq!(plan.trace.patterns, ["zd*"]);
        assert_eq!(plan.trace.ring_bytes, 16 << 20);
        assert_eq!(plan.duration_ns, 60_000_000_000);
        assert!(!plan.wait);
        let text = Output {
            format: Format::Text,
            target: Target::Stdout,
        };
        assert_eq!(plan.presentation.outputs, [text]);
        assert_eq!(plan.progress, ProgressKind::Lines);
    }

    #[test]
    fn no_report_needs_a_recording_and_a_recording_a_place_of_its_own() {
        let env = Environment::default();
        let plan = resolve("--format none --record a --max-size 1M --max-files 3", &env).unwrap();
        assert_eq!(plan.presentation.outputs, []);
        assert_eq!(
            plan.record,
            Some(RecordPlan {
                path: "a".into(),
                max_bytes: Some(1 << 20),
                max_files: Some(3),
            })
        );
        for line in [
            "--format none",
            "--format none --record a -o b",
            "--record a -o a",
            "--record -",
        ] {
            assert!(resolve(line, &env).is_err(), "{line}");
        }
        assert!(resolve("--record - --format none", &env).is_ok());
    }

    #[test]
    fn positional_patterns_and_flags_are_one_list() {
        let plan = resolve("-d loop0 zd16 --device tank/*", &Environment::default()).unwrap();
        assert_eq!(plan.trace.patterns, ["zd16", "loop0", "tank/*"]);
    }

    #[test]
    fn two_forms_cannot_share_a_place() {
        let env = Environment::default();
        let error = resolve("-o a --also json:a", &env).unwrap_err();
        assert!(error.to_string().contains("a file of its own"), "{error}");
        assert!(resolve("-o - --also json:-", &env).is_err());
        let plan = resolve("--also json:a --also markdown:b", &env).unwrap();
        assert_eq!(plan.presentation.outputs.len(), 3);
    }

    #[test]
    fn colour_is_for_terminals_that_have_it_unless_asked_for() {
        let on_terminal = |mut env: Environment, line: &str| {
            env.stdout_is_terminal = true;
            resolve(line, &env).unwrap().presentation.style.color
        };
        let xterm = || Environment::default();
        let dumb = Environment {
            dumb_terminal: true,
            ..xterm()
        };
        let no_color = Environment {
            no_color: true,
            ..xterm()
        };
        assert!(on_terminal(xterm(), ""));
        assert!(!on_terminal(xterm(), "--color never"));
        assert!(!on_terminal(dumb, ""));
        assert!(!on_terminal(no_color.clone(), ""));
        assert!(on_terminal(no_color, "--color always"));
        assert!(!resolve("", &xterm()).unwrap().presentation.style.color);
    }
}

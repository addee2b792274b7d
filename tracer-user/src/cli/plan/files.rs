//! Plans of the verbs that read what was kept.

use std::{path::PathBuf, time::Duration};

use super::{Presentation, Target, TracePlan};
use crate::{
    analysis,
    cli::{
        Environment, Refusal,
        args::{CompareArgs, EventFormat, EventsArgs, ExportArgs, ExportFormat, FileReportArgs},
        value::PlainFormat,
    },
    events, export,
};

/// Plan of `report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportPlan {
    /// Files, folders or base names.
    pub inputs: Vec<PathBuf>,
    /// Block size for disks whose own is not in the input.
    pub block_size_bytes: Option<u64>,
    /// Arguments as given, for inputs that do not hold those of the capture.
    pub args: Vec<String>,
    /// How it is analysed.
    pub analysis: analysis::Options,
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
            analysis: super::analysis(&args.pool),
            presentation: Presentation::resolve(args.report, &args.console, env)?,
        })
    }
}

/// Plan of `compare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparePlan {
    /// The first capture.
    pub a: PathBuf,
    /// The second capture.
    pub b: PathBuf,
    /// Block size for disks whose own is not in the input.
    pub block_size_bytes: Option<u64>,
    /// Form.
    pub format: PlainFormat,
    /// Place.
    pub target: Target,
    /// Names become tokens.
    pub redact: bool,
    /// More than ASCII may be shown.
    pub unicode: bool,
    /// Arguments as given.
    pub args: Vec<String>,
}

impl ComparePlan {
    /// Resolves the arguments of `compare`.
    #[must_use]
    pub fn resolve(args: CompareArgs, env: &Environment) -> Self {
        Self {
            a: args.a,
            b: args.b,
            block_size_bytes: args.block_size,
            format: args.plain.format,
            target: Target::of(args.plain.output),
            redact: args.redact,
            unicode: env.unicode,
            args: env.args.clone(),
        }
    }
}

/// Where `events` takes them from.
#[derive(Clone, Debug)]
pub enum EventsFrom {
    /// Files that were kept.
    Files(Vec<PathBuf>),
    /// Tracing.
    Live {
        /// What is traced.
        trace: TracePlan,
        /// For how long; `None` until a signal.
        duration: Option<Duration>,
        /// Start though nothing matches yet.
        wait: bool,
    },
}

/// Plan of `events`.
#[derive(Clone, Debug)]
pub struct EventsPlan {
    /// Where the I/Os come from.
    pub from: EventsFrom,
    /// How a line looks.
    pub format: events::Format,
    /// Which I/Os are shown.
    pub filter: events::Filter,
    /// Place.
    pub target: Target,
    /// No notes on standard error.
    pub quiet: bool,
    /// Arguments as given.
    pub args: Vec<String>,
}

impl EventsPlan {
    /// Resolves the arguments of `events`.
    #[must_use]
    pub fn resolve(args: EventsArgs, env: &Environment) -> Self {
        let filter = args.filter;
        let from = if args.from.is_empty() {
            EventsFrom::Live {
                trace: TracePlan::resolve(args.trace, env),
                duration: args.duration.map(Duration::from_nanos),
                wait: args.wait,
            }
        } else {
            EventsFrom::Files(args.from)
        };
        Self {
            from,
            format: match args.format {
                EventFormat::Text => events::Format::Text,
                EventFormat::Jsonl => events::Format::JsonLines,
            },
            filter: events::Filter {
                ops: filter.op,
                flags: filter.flags.unwrap_or_default(),
                min_latency_ns: filter.min_latency,
                min_bytes: filter.min_size,
                offsets: filter.offset_range,
                pids: filter.pid,
                comms: filter.comm,
            },
            target: Target::of(args.output),
            quiet: args.quiet,
            args: env.args.clone(),
        }
    }
}

/// Plan of `export`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPlan {
    /// Files, folders or base names to read.
    pub inputs: Vec<PathBuf>,
    /// Format to write.
    pub to: export::Target,
    /// File or base name to write.
    pub path: PathBuf,
    /// No notes on standard error.
    pub quiet: bool,
    /// Arguments as given.
    pub args: Vec<String>,
}

impl ExportPlan {
    /// Resolves the arguments of `export`.
    #[must_use]
    pub fn resolve(args: ExportArgs, env: &Environment) -> Self {
        Self {
            inputs: args.inputs,
            to: match args.to {
                ExportFormat::Blktrace => export::Target::Blktrace,
                ExportFormat::Fio => export::Target::Fio,
                ExportFormat::Parquet => export::Target::Parquet,
            },
            path: args.output,
            quiet: args.quiet,
            args: env.args.clone(),
        }
    }
}

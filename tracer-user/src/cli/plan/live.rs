//! Plans of the verbs that trace.

use std::path::PathBuf;

use super::{Presentation, Target, progress};
use crate::{
    analysis,
    cli::{
        Environment, Refusal,
        args::{CaptureArgs, RecordArgs, TraceArgs},
    },
    device::DEFAULT_PATTERN,
    progress::ProgressKind,
    tracer::Copies,
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
    /// Print what the hooks log of their rare paths.
    pub kernel_log: bool,
    /// Copies of each hook to attach; `None` for what this kernel needs.
    pub copies: Option<Copies>,
    /// Arguments as given, for the report.
    pub args: Vec<String>,
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
            kernel_log: env.kernel_log,
            copies: env.copies,
            args: env.args.clone(),
        }
    }
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
    /// How it is analysed.
    pub analysis: analysis::Options,
    /// Ask zpool for the layout of the pools.
    pub ask_zpool: bool,
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
            analysis: super::analysis(&args.pool.told),
            ask_zpool: args.pool.ask_zpool,
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

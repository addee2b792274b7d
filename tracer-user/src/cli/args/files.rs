//! Flags of the verbs that read what was kept.

use std::{ops::Range, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{ConsoleArgs, PlainArgs, PoolArgs, ReportArgs, TraceArgs};
use crate::{
    cli::value,
    event::Op,
    events::filter::{self, CommPattern, FlagCondition},
};

/// Flags of `report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct FileReportArgs {
    /// What to read: a recording (all its parts, or - for a stream), blktrace files (a folder, a
    /// base name, files, or -), or the default lines of blkparse
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// Block size to judge writes against, for disks whose own is not in the input
    #[arg(long, value_name = "SIZE", value_parser = value::block_size)]
    pub block_size: Option<u64>,

    /// What the analysis is told.
    #[command(flatten)]
    pub pool: PoolArgs,

    /// How the report is written.
    #[command(flatten)]
    pub report: ReportArgs,

    /// What is said beside it.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  zvoltrace report rec.arrow                           a recording
  zvoltrace report zd16.arrow                          a recording
  zvoltrace report --block-size 16K zd16               zd16.blktrace.0, .1, ...
  zvoltrace report --block-size 16K trace.txt          what blkparse printed
  blktrace -d /dev/zd16 -w 10 -o - | zvoltrace report --block-size 16K -";

/// Flags of `compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// The first capture, the one before: a recording, a JSON report or a blktrace file
    #[arg(value_name = "A")]
    pub a: PathBuf,

    /// The second capture, the one after
    #[arg(value_name = "B")]
    pub b: PathBuf,

    /// Block size to judge writes against, for disks whose own is not in the input
    #[arg(long, value_name = "SIZE", value_parser = value::block_size)]
    pub block_size: Option<u64>,

    /// How the comparison is written.
    #[command(flatten)]
    pub plain: PlainArgs,

    /// Replace host, pool and dataset names by tokens, and the inputs' names by A and B
    #[arg(long)]
    pub redact: bool,
}

const COMPARE_EXAMPLES: &str = "\
Devices are paired by dataset, else by name. Each number stands with its
difference and ratio, and whether the difference is more than noise.

Examples:
  zvoltrace compare before.arrow after.arrow
  zvoltrace compare monday.json today.json --format json";

/// Flags of `events`.
#[derive(Debug, Args)]
#[command(after_help = EVENTS_EXAMPLES)]
pub struct EventsArgs {
    /// Which disks.
    #[command(flatten)]
    pub trace: TraceArgs,

    /// How long to trace, as in 60s, 1m30s or 2h [default: until Ctrl-C]
    #[arg(short = 'w', long, value_name = "TIME", value_parser = value::duration_ns)]
    pub duration: Option<u64>,

    /// Start even if no disk matches yet, and trace those that come
    #[arg(long)]
    pub wait: bool,

    /// Read FILE instead of tracing: a recording or a part of one (repeat it for more parts),
    /// blktrace files, or - for standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["patterns", "devices", "block_size", "ring_size", "duration", "wait"]
    )]
    pub from: Vec<PathBuf>,

    /// How a line looks
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = EventFormat::Text)]
    pub format: EventFormat,

    /// Write to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Which I/Os are shown.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// No notes on standard error; errors are still printed
    #[arg(short, long)]
    pub quiet: bool,
}

/// How a line of `events` looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventFormat {
    /// As blkparse prints a completion, then latency and command
    Text,
    /// One JSON object a line
    Jsonl,
}

/// Which I/Os are shown: all conditions must be met.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (all must be met)")]
pub struct FilterArgs {
    /// Operations: read, write, flush, discard, secure-erase, write-zeroes
    #[arg(long, value_name = "OP,...", value_delimiter = ',', value_parser = filter::op)]
    pub op: Vec<Op>,

    /// Flags that are set, or with ! are not, as in fua or preflush,!sync
    #[arg(long, value_name = "FLAG,...", value_parser = filter::flags)]
    pub flags: Option<FlagCondition>,

    /// Shortest latency, as in 5ms
    #[arg(long, value_name = "TIME", value_parser = value::duration_ns)]
    pub min_latency: Option<u64>,

    /// Smallest size, as in 64K
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    pub min_size: Option<u64>,

    /// Part of the disk that is touched, as in 0-1G, or 10G- to the end
    #[arg(long, value_name = "FROM-TO", value_parser = filter::offset_range)]
    pub offset_range: Option<Range<u64>>,

    /// Process that submitted
    #[arg(long, value_name = "PID,...", value_delimiter = ',')]
    pub pid: Vec<u32>,

    /// Command name that submitted, or a glob such as iou-wrk-*
    #[arg(long, value_name = "NAME", value_parser = filter::comm)]
    pub comm: Vec<CommPattern>,
}

const EVENTS_EXAMPLES: &str = "\
Examples:
  zvoltrace events 'tank/vm-100-*' --min-latency 100ms
  zvoltrace events --from zd16.arrow --op write --min-latency 10ms
  zvoltrace events --from zd16.arrow --format jsonl | jq .latency_ns";

/// Flags of `export`.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// What to read: a recording or its parts, or blktrace files; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// What to make of it
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: ExportFormat,

    /// Where to: a file for fio and parquet, a base name for blktrace
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    /// Do not say on standard error what was written; errors are still printed
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `export` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// PATH.blktrace.0 for blkparse, btt and fio
    Blktrace,
    /// PATH, an iolog, and beside it PATH.replay.fio and PATH.summary.fio, ready jobs
    Fio,
    /// PATH, one row an I/O, for DuckDB, pandas and others
    Parquet,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  zvoltrace export zd16.arrow --to blktrace -o zd16     then: blkparse zd16
  zvoltrace export zd16.arrow --to fio -o zd16.log      then: fio zd16.log.replay.fio
  zvoltrace export zd16.arrow --to parquet -o zd16.parquet";

//! Flags of the verbs that trace.

use std::path::PathBuf;

use clap::Args;

use super::{ConsoleArgs, PoolArgs, ReportArgs};
use crate::cli::value;

/// Which disks, and how they are traced: flags of the live verbs.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Disks to trace [default: zd*, all zvols]
    ///
    /// A kernel name or glob (zd16, zd*, loop0), a path (/dev/zvol/tank/vm-100-disk-0), or a
    /// dataset or glob (tank/vm-100-*). Quote globs, so that the shell leaves them alone.
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,

    /// The same as PATTERN; may be given several times
    #[arg(short, long = "device", value_name = "PATTERN")]
    pub devices: Vec<String>,

    /// Block size to judge writes against, for disks that are no zvols
    ///
    /// A zvol's own volblocksize is known and always used.
    #[arg(long, value_name = "SIZE", value_parser = value::block_size)]
    pub block_size: Option<u64>,

    /// Memory for events on their way out of the kernel; a power of two
    ///
    /// Events that find it full are lost to the histograms and said so; counts stay exact.
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = value::ring_size)]
    pub ring_size: u32,
}

/// What the analysis is told of the pools, or asks.
#[derive(Debug, Args)]
pub struct LivePoolArgs {
    /// What it is told.
    #[command(flatten)]
    pub told: PoolArgs,

    /// Ask zpool for the layout of the pools, their fill and whether they resilver
    ///
    /// For the space that block sizes take. Without it no ZFS command is run. zpool gets 5
    /// seconds, nothing waits for it, and a pool that is not healthy is not asked.
    #[arg(long, conflicts_with = "layout")]
    pub ask_zpool: bool,
}

/// Flags of `capture`.
#[derive(Debug, Args)]
#[command(after_help = CAPTURE_EXAMPLES)]
pub struct CaptureArgs {
    /// Which disks.
    #[command(flatten)]
    pub trace: TraceArgs,

    /// How long to trace, as in 60s, 1m30s or 2h; a bare number is seconds
    ///
    /// Ctrl-C ends it early: the report is then printed and marked short.
    #[arg(short = 'w', long, value_name = "TIME", default_value = "60s", value_parser = value::duration_ns)]
    pub duration: u64,

    /// Start even if no disk matches yet, and trace those that come
    #[arg(long)]
    pub wait: bool,

    /// What is kept.
    #[command(flatten)]
    pub record: RecordArgs,

    /// What is known of the pools.
    #[command(flatten)]
    pub pool: LivePoolArgs,

    /// How the report is written.
    #[command(flatten)]
    pub report: ReportArgs,

    /// What is said beside it.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

const CAPTURE_EXAMPLES: &str = "\
Examples:
  zvoltrace capture                                    all zvols, for 60 seconds
  zvoltrace capture -w 10 'tank/vm-100-*'              one guest, for 10 seconds
  zvoltrace capture --block-size 128K loop0            a disk that is no zvol
  zvoltrace capture --also json:report.json -o report.txt
  zvoltrace capture -w 10m --record zd16.arrow zd16    every I/O, for later
  zvoltrace capture -q --fail-on warning && echo fits";

/// Whether and how every event is kept.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Keep every I/O in FILE, for report, events, compare, export and top
    ///
    /// An Arrow IPC stream, readable up to the last second even after a kill.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Begin a new part of the recording at this size
    #[arg(long, value_name = "SIZE", requires = "record", value_parser = value::part_size)]
    pub max_size: Option<u64>,

    /// Keep only so many parts, the newest
    #[arg(
        long,
        value_name = "N",
        requires = "max_size",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_files: Option<u32>,
}

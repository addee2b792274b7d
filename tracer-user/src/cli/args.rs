//! The one definition of the command line: verbs, flags and their help. It knows syntax only;
//! what a flag leads to stands in [`super::plan`]. Completions and the manual page are made
//! from here.

#![allow(
    clippy::doc_markdown,
    reason = "the doc comments are the help texts, shown as they are"
)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::value::{self, Also, FailOn, Format, MaybeFormat, PlainFormat};

/// What guests do to their ZFS volumes, and whether volblocksize fits.
///
/// A zvol is a block device made by ZFS, usually the disk of a virtual machine. ZFS rewrites it
/// in blocks of a fixed size, the volblocksize. zvoltrace watches the I/O of zvols (or of other
/// disks) in the kernel by eBPF, without opening them and without any zfs command, and says
/// whether the writes fit the blocks and what it costs when they do not.
#[derive(Debug, Parser)]
#[command(
    name = "zvoltrace",
    version,
    max_term_width = 80,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    after_help = EXAMPLES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  zvoltrace check                             can this machine be traced?
  zvoltrace list                              its zvols

Exit status: 0 done, 1 failed, 2 wrong usage, 3 something needed is missing,
4 a verdict meets --fail-on.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Trace for a while, then print the report
    Capture(CaptureArgs),
    /// Print the report of a capture kept in files
    Report(FileReportArgs),
    /// List the zvols of this host: device, dataset, volblocksize, mode
    List(ListArgs),
    /// Check every prerequisite of tracing; say what is missing and what to do
    Check(CheckArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page, in roff
    Man(ManArgs),
}

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

/// How a report is written.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Form of the report
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = MaybeFormat(Some(Format::Text)))]
    pub format: MaybeFormat,

    /// Write the report to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the same report in a second form, as in json:report.json
    #[arg(long, value_name = "FORMAT:FILE", value_parser = value::also())]
    pub also: Vec<Also>,

    /// Replace host, pool and dataset names by tokens
    ///
    /// The same name gives the same token in every report made on this machine. Command names
    /// of submitters and the kernel's version stay.
    #[arg(long)]
    pub redact: bool,

    /// Exit with status 4 when a verdict is at least this severe, or has this code
    ///
    /// Severities: ok, info, warning, critical. Codes: as in the report, such as
    /// write_smaller_than_block or misaligned.
    #[arg(long, value_name = "SEVERITY|CODE")]
    pub fail_on: Vec<FailOn>,
}

/// What is said beside the result.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// No progress on standard error; errors are still printed
    #[arg(short, long)]
    pub quiet: bool,

    /// Colour of text on standard output
    ///
    /// auto: on a terminal, unless NO_COLOR is set or TERM is dumb.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto)]
    pub color: ColorWhen,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    Auto,
    /// In every case
    Always,
    /// In no case
    Never,
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

    /// How the report is written.
    #[command(flatten)]
    pub report: ReportArgs,

    /// What is said beside it.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

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

const CAPTURE_EXAMPLES: &str = "\
Examples:
  zvoltrace capture                                    all zvols, for 60 seconds
  zvoltrace capture -w 10 'tank/vm-100-*'              one guest, for 10 seconds
  zvoltrace capture --block-size 128K loop0            a disk that is no zvol
  zvoltrace capture --also json:report.json -o report.txt
  zvoltrace capture -w 10m --record zd16.arrow zd16    every I/O, for later
  zvoltrace capture -q --fail-on warning && echo fits";

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
  zvoltrace report --block-size 16K zd16               zd16.blktrace.0, .1, ...
  zvoltrace report --block-size 16K trace.txt          what blkparse printed
  blktrace -d /dev/zd16 -w 10 -o - | zvoltrace report --block-size 16K -";

/// Flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct ListArgs {
    /// Disks to list, as for capture [default: zd*, all zvols]
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,

    /// The same as PATTERN; may be given several times
    #[arg(short, long = "device", value_name = "PATTERN")]
    pub devices: Vec<String>,

    /// How the list is written.
    #[command(flatten)]
    pub plain: PlainArgs,

    /// Replace dataset names by the tokens that reports have
    #[arg(long)]
    pub redact: bool,
}

/// How what is no report is written.
#[derive(Debug, Args)]
pub struct PlainArgs {
    /// Form of the output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = PlainFormat::Text)]
    pub format: PlainFormat,

    /// Write to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// Memory that the ring of a capture is to have; a power of two
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = value::ring_size)]
    pub ring_size: u32,

    /// How the result is written.
    #[command(flatten)]
    pub plain: PlainArgs,
}

const CHECK_EXAMPLES: &str = "\
It only reads: no program is loaded and no device opened. Each line is ok,
warning (tracing works, but something is worth knowing) or missing (it does not),
and says what to do. Exit status 3 when something is missing.

Examples:
  zvoltrace check
  zvoltrace check --format json -o check.json";

const LIST_EXAMPLES: &str = "\
Columns: the kernel's name; the block size (volblocksize) that ZFS rewrites as a
whole; the mode, bio or blk-mq, that decides how the disk is traced; its size;
the virtual machine by Proxmox's names; the dataset.

Examples:
  zvoltrace list                      all zvols
  zvoltrace list '*'                  every disk
  zvoltrace list --format json 'tank/vm-100-*'";

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  zvoltrace man capture | man -l -")]
pub struct ManArgs {
    /// Verb to print the page of, instead of the whole command's
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
}

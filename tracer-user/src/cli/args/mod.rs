//! The one definition of the command line: verbs, flags and their help. It knows syntax only;
//! what a flag leads to stands in [`super::plan`]. Completions and the manual page are made
//! from here.

#![allow(
    clippy::doc_markdown,
    reason = "the doc comments are the help texts, shown as they are"
)]

mod common;
mod files;
mod host;
mod live;
mod top;

use clap::{Parser, Subcommand};

pub use self::{
    common::{ColorWhen, ConsoleArgs, PlainArgs, PoolArgs, ReportArgs},
    files::{
        CompareArgs, EventFormat, EventsArgs, ExportArgs, ExportFormat, FileReportArgs, FilterArgs,
    },
    host::{CheckArgs, CompletionsArgs, ListArgs, ManArgs},
    live::{CaptureArgs, RecordArgs, TraceArgs},
    top::TopArgs,
};

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
  zvoltrace top                               which zvol hurts, live
  zvoltrace capture                           all zvols, one minute, a report
  zvoltrace capture 'tank/vm-101-*' -w 10s    one guest's disks, ten seconds
  zvoltrace events zd16 --min-latency 100ms   slow I/Os as they complete
  zvoltrace report zd16.arrow                 the report of a recording
  zvoltrace compare before.json after.json    what changed, beyond noise

Exit status: 0 done, 1 failed, 2 wrong usage, 3 something needed is missing,
4 a verdict meets --fail-on.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Watch live which zvol hurts, and why
    Top(TopArgs),
    /// Trace for a while, then print the report
    Capture(CaptureArgs),
    /// Print one line an I/O
    Events(EventsArgs),
    /// Print the report of a capture kept in files
    Report(FileReportArgs),
    /// Put two captures side by side, and say which differences are more than noise
    Compare(CompareArgs),
    /// Turn a capture into files for blktrace's tools, fio, or Parquet readers
    Export(ExportArgs),
    /// List the zvols of this host: device, dataset, volblocksize, mode
    List(ListArgs),
    /// Check every prerequisite of tracing; say what is missing and what to do
    Check(CheckArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page, in roff
    Man(ManArgs),
}

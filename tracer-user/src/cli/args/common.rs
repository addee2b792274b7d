//! Flags that several verbs share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{
    analysis::space::Layout,
    cli::value::{self, Also, FailOn, Format, MaybeFormat, PlainFormat},
};

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

    /// Say behind the report which rules of the verdict fired, which did not, and why
    #[arg(long)]
    pub explain: bool,

    /// Exit with status 4 when a verdict is at least this severe, or has this code
    ///
    /// Severities: ok, info, warning, critical. Codes: as in the report, such as
    /// write_smaller_than_block or misaligned.
    #[arg(long, value_name = "SEVERITY|CODE")]
    pub fail_on: Vec<FailOn>,
}

/// What the analysis is told about the pool.
#[derive(Debug, Args)]
pub struct PoolArgs {
    /// Layout of the pool, for the space that block sizes take: stripe, mirror, raidz2:6
    /// (parity:disks) or draid2:8d (parity:data disks)
    #[arg(long, value_name = "LAYOUT")]
    pub layout: Option<Layout>,

    /// Sector that the pool allocates, as a power of two [default: 12, which is 4K]
    #[arg(
        long,
        value_name = "N",
        requires = "layout",
        value_parser = clap::value_parser!(u32).range(9..=16)
    )]
    pub ashift: Option<u32>,
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

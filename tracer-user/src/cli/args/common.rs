//! Flags that several verbs share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::value::{self, Also, FailOn, Format, MaybeFormat, PlainFormat};

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

//! Flags of the verbs about this host and this command.

use clap::Args;

use super::PlainArgs;
use crate::cli::value;

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

const LIST_EXAMPLES: &str = "\
Columns: the kernel's name; the block size (volblocksize) that ZFS rewrites as a
whole; the mode, bio or blk-mq, that decides how the disk is traced; its size;
the virtual machine by Proxmox's names; the dataset.

Examples:
  zvoltrace list                      all zvols
  zvoltrace list '*'                  every disk
  zvoltrace list --format json 'tank/vm-100-*'";

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

//! Flags of `top`.

use std::path::PathBuf;

use clap::Args;

use super::{ColorWhen, TraceArgs, live::LivePoolArgs};

/// Flags of `top`.
#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub struct TopArgs {
    /// Which disks.
    #[command(flatten)]
    pub trace: TraceArgs,

    /// Show FILE instead of tracing: a recording or a part of one (repeat it for more parts),
    /// blktrace files, or - for standard input
    ///
    /// Its time runs as it did; + and - change the speed, the arrow keys seek.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["patterns", "devices", "ring_size", "ask_zpool"]
    )]
    pub from: Vec<PathBuf>,

    /// What is known of the pools.
    #[command(flatten)]
    pub pool: LivePoolArgs,

    /// Colour of the screen
    ///
    /// auto: unless NO_COLOR is set. Nothing is said by colour alone.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto)]
    pub color: ColorWhen,
}

const TOP_EXAMPLES: &str = "\
Without a disk that matches it waits for one. The mouse is left to the
terminal, so that text can be marked and copied. ? shows the keys, q leaves.

Examples:
  zvoltrace top                        all zvols
  zvoltrace top 'tank/vm-100-*'        one guest
  zvoltrace top --block-size 8K loop0  a disk that is no zvol
  zvoltrace top --from zd16.arrow      what a recording holds, as it happened";

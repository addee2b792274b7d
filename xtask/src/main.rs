//! `cargo xtask VERB`: the project's development verbs, one file a verb.

use anyhow::Result;
use clap::Parser;

/// Development verbs of zvoltrace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Verb {
    /// Format, lint and dependency checks; changes nothing.
    Check,
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Check => anyhow::bail!("not written yet"),
    }
}

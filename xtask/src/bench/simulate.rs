//! What no machine has enough of: a thousand active disks, and a day of events. Run through the
//! real analysis by `tracer-user/examples/feed.rs`, as fast as it goes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::measure::median;
use super::table::{Table, Target};
use crate::{process, workspace};

/// Runs of each, of which the median counts.
const ROUNDS: usize = 5;
/// 100,000 I/Os a second for 20 s.
const EVENTS: &str = "2000000";
const SECONDS: &str = "20";
const DAY_S: &str = "86400";

#[derive(Debug, Deserialize)]
struct Fed {
    ns: f64,
    half_way_bytes: u64,
    end_bytes: u64,
}

/// Builds the program that feeds events, in the profile `release` or `dev`.
pub(crate) fn feeder(profile: &str) -> Result<PathBuf> {
    let mut build = process::cargo();
    build.current_dir(workspace::root()?);
    build.args(["build", "--profile", profile, "--locked"]);
    process::run(build.args(["--package", "tracer-user", "--example", "feed"]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(workspace::target_dir()?.join(folder).join("examples/feed"))
}

/// Cost by the number of devices and by the length of a capture.
pub(crate) fn growth(table: &mut Table) -> Result<()> {
    let feeder = feeder("release")?;
    let feed = |devices: &str, seconds: &str| -> Result<Fed> {
        let output = process::output(Command::new(&feeder).args([devices, EVENTS, seconds]))?;
        serde_json::from_str(&output).context("feed printed something else")
    };
    let counts = ["1", "16", "256", "1024"];
    let mut times = vec![Vec::new(); counts.len()];
    let mut most_bytes = 0;
    for _ in 0..ROUNDS {
        for (count, times) in counts.iter().zip(&mut times) {
            let run = feed(count, SECONDS)?;
            times.push(run.ns);
            most_bytes = most_bytes.max(run.end_bytes);
        }
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for (count, ns) in counts.iter().zip(&medians) {
        table.show(
            format!("simulated, {count} disks: analysis an event"),
            *ns,
            "ns",
        );
    }
    let ratio = medians[counts.len() - 1] / medians[0];
    table.judge("  1,024 disks / 1 disk", ratio, "x", Target::AtMost(1.2));
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    table.judge(
        "  resident with 1,024 disks",
        mebibytes(most_bytes),
        "MiB",
        Target::AtMost(64.0),
    );
    let day = feed("16", DAY_S)?;
    let grown = mebibytes(day.end_bytes) / mebibytes(day.half_way_bytes);
    table.judge(
        "  memory after 24 h / after 12 h",
        grown,
        "x",
        Target::AtMost(1.02),
    );
    Ok(())
}

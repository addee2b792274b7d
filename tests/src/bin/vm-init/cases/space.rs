//! Space on RAIDZ: what the report says, against what `zfs` and `zpool` then show.

use anyhow::{Context, Result};
use zvoltrace_tests::direct::DirectDevice;

use super::report_with;
use crate::harness::{Differences, Outcome, Test};
use crate::program;
use crate::zfs::{self, Mode, Zvol, property};

pub(super) const TESTS: &[Test] = &[Test::new(
    "a_full_zvol_on_raidz2_takes_the_space_that_was_said",
    raidz2,
)];

const BYTES: u64 = 64 << 20;
const PIECE: usize = 256 << 10;

/// Six disks with 4K sectors, blocks of 8K: 3.00 times raw, 2.00 times as `zfs list` shows it.
fn raidz2() -> Result<Outcome> {
    let pool = zfs::raidz2()?;
    let zvol = Zvol::create_in(pool, "space", BYTES, "8K", Mode::Bio)?;
    let before = allocated(pool)?;
    let report = report_with(&zvol, &["--ask-zpool"], |path| {
        let disk = DirectDevice::open(path, PIECE)?;
        for offset in (0..BYTES).step_by(PIECE) {
            disk.write(offset, PIECE)?;
        }
        program::run("zpool", &["sync", pool])
    })?;
    let raw = ratio(allocated(pool)? - before);
    let used = ratio(property(&zvol.dataset, "referenced")?.parse()?);

    let row = report["pools"]
        .as_array()
        .and_then(|pools| pools.iter().find(|p| p["name"] == pool))
        .context("the pool is not in the report")?;
    let device = zvoltrace_tests::capture::device(&report, &zvol.disk);
    let said = device["candidates"]
        .as_array()
        .and_then(|list| list.iter().find(|c| c["block_bytes"] == 8192))
        .context("no candidate of 8K")?;
    println!("zvoltrace-vm: raw {raw:.2}, used {used:.2}; said {said}");
    let mut differences = Differences::default();
    differences.holds(row["layout"] == "raidz2:6", || {
        format!(
            "layout: {}; {}",
            row["layout"], report["capture"]["incomplete_reasons"]
        )
    });
    differences.holds(row["fill_share"].is_number(), || "no fill_share".to_owned());
    for (what, measured) in [("space_raw", raw), ("space_used", used)] {
        // Metadata comes on top of the data, and a little of what was there before is freed.
        let said = said[what].as_f64().unwrap_or(f64::NAN);
        differences.holds((said * 0.99..said * 1.05).contains(&measured), || {
            format!("{what}: said {said:.4}, measured {measured:.4}")
        });
    }
    differences.none()?;
    Ok(Outcome::Ok)
}

/// Bytes allocated in the pool, parity and padding included.
fn allocated(pool: &str) -> Result<u64> {
    let text = program::output("zpool", &["list", "-Hp", "-o", "allocated", pool])?;
    Ok(text.trim().parse()?)
}

#[allow(clippy::cast_precision_loss, reason = "a ratio of two decimals")]
fn ratio(bytes: u64) -> f64 {
    bytes as f64 / BYTES as f64
}

//! zvols that come, go and change while tracing.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use zvoltrace_tests::capture::Capture;
use zvoltrace_tests::plan::Plan;

use crate::harness::{Differences, Outcome, Test, wait_until};
use crate::program;
use crate::zfs::{Mode, POOL, Zvol, disk_of};

pub(super) const TESTS: &[Test] = &[
    Test::new(
        "a_new_zvol_is_traced_and_a_reused_number_is_a_new_row",
        reused,
    ),
    Test::new("a_renamed_zvol_has_its_new_name", renamed),
    Test::new("a_clone_is_a_device_of_its_own", cloned),
    Test::new("a_hundred_snapshots_come_and_go_without_a_leak", snapshots),
];

const BYTES: u64 = 32 << 20;

/// The rows of a dataset.
fn rows<'a>(report: &'a Value, dataset: &str) -> Vec<&'a Value> {
    let devices = report["devices"].as_array().into_iter().flatten();
    devices
        .filter(|device| device["dataset"] == dataset)
        .collect()
}

fn writes(row: &Value) -> Option<u64> {
    row["ops"]["write"]["count"].as_u64()
}

fn every_zvol() -> Capture {
    Capture::start(&["--device", "zd*", "--duration", "600", "--wait"])
}

/// After a second of being there, as promised; the pause is the promise, not a guess.
fn second() {
    std::thread::sleep(Duration::from_secs(1));
}

fn reused() -> Result<Outcome> {
    crate::zfs::pool()?;
    let capture = every_zvol();
    let first = Zvol::create("first", BYTES, "8K", Mode::Bio)?;
    second();
    Plan::random_writes(1, 50, 8192, BYTES).run(&first.path())?;
    let (disk, dataset) = (first.disk.clone(), first.dataset.clone());
    first.destroy()?;
    let next = Zvol::create("second", BYTES, "16K", Mode::Bio)?;
    second();
    Plan::random_writes(2, 70, 16 << 10, BYTES).run(&next.path())?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    differences.equal("the number of the second zvol", &next.disk, &disk);
    let old = rows(&report, &dataset);
    let new = rows(&report, &next.dataset);
    differences.equal("rows of the first", old.len(), 1);
    differences.equal("rows of the second", new.len(), 1);
    if let ([old], [new]) = (&old[..], &new[..]) {
        differences.equal("writes on the first", writes(old), Some(50));
        differences.equal("writes on the second", writes(new), Some(70));
        differences.holds(old["vanished_ns"].is_u64(), || {
            "the first did not vanish".to_owned()
        });
        differences.holds(new["appeared_ns"].is_u64(), || {
            "the second did not appear".to_owned()
        });
        differences.equal(
            "blocks of the second",
            new["volblocksize_bytes"].as_u64(),
            Some(16 << 10),
        );
    }
    differences.none()?;
    Ok(Outcome::Ok)
}

fn renamed() -> Result<Outcome> {
    let mut zvol = Zvol::create("before", BYTES, "8K", Mode::Bio)?;
    let capture = every_zvol();
    Plan::random_writes(1, 50, 8192, BYTES).run(&zvol.path())?;
    zvol.rename("after")?;
    second();
    Plan::random_writes(2, 50, 8192, BYTES).run(&zvol.path())?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    differences.equal(
        "rows of the old name",
        rows(&report, "tank/before").len(),
        0,
    );
    let new = rows(&report, "tank/after");
    differences.equal("rows of the new name", new.len(), 1);
    differences.equal("writes", new.first().and_then(|row| writes(row)), Some(100));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn cloned() -> Result<Outcome> {
    let origin = Zvol::create("origin", BYTES, "8K", Mode::Bio)?;
    let capture = every_zvol();
    program::run("zfs", &["snapshot", "tank/origin@s"])?;
    program::run("zfs", &["clone", "tank/origin@s", "tank/clone"])?;
    let disk = disk_of("tank/clone")?;
    second();
    Plan::random_writes(1, 60, 8192, BYTES).run(std::path::Path::new(&format!("/dev/{disk}")))?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    let clone = rows(&report, "tank/clone");
    differences.equal("rows of the clone", clone.len(), 1);
    differences.equal(
        "writes",
        clone.first().and_then(|row| writes(row)),
        Some(60),
    );
    let origin_writes = rows(&report, &origin.dataset)
        .first()
        .and_then(|row| writes(row));
    differences.equal("writes on the origin", origin_writes, Some(0));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn snapshots() -> Result<Outcome> {
    const COUNT: usize = 100;
    let zvol = Zvol::create("many", BYTES, "8K", Mode::Bio)?;
    Plan::random_writes(1, 10, 8192, BYTES).run(&zvol.path())?;
    let disks = || {
        let entries = std::fs::read_dir("/sys/block")
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("zd"))
            .count()
    };
    let before = disks();
    program::run("zfs", &["set", "snapdev=visible", &zvol.dataset])?;
    let capture = every_zvol();
    // One command may not take two snapshots of one dataset.
    for number in 0..COUNT {
        program::run("zfs", &["snapshot", &format!("{POOL}/many@s{number}")])?;
    }
    let patience = Duration::from_mins(2);
    wait_until("the snapshots' disks", patience, || {
        disks() >= before + COUNT
    })?;
    program::run("zfs", &["set", "snapdev=hidden", &zvol.dataset])?;
    wait_until("the snapshots' disks to go", patience, || disks() <= before)?;
    Plan::random_writes(2, 40, 8192, BYTES).run(&zvol.path())?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    let row = rows(&report, &zvol.dataset);
    differences.equal("rows of the zvol", row.len(), 1);
    differences.equal("writes", row.first().and_then(|row| writes(row)), Some(40));
    differences.equal(
        "lost",
        report["capture"]["events"]["lost"].as_u64(),
        Some(0),
    );
    let memory = report["capture"]["overhead"]["max_rss_bytes"].as_u64();
    differences.holds(memory < Some(256 << 20), || format!("memory: {memory:?}"));
    differences.none()?;
    Ok(Outcome::Ok)
}

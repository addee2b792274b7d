//! zvols that come, go and change while tracing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use zvoltrace_tests::capture::Capture;
use zvoltrace_tests::direct::DirectDevice;
use zvoltrace_tests::plan::Plan;

use super::held_open;
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

/// Writes of a size.
fn writes(row: &Value, bytes: u64) -> Option<u64> {
    let mut sizes = row["ops"]["write"]["sizes"].as_array()?.iter();
    let of_size = sizes.find(|size| size["bytes"] == bytes);
    of_size.map_or(Some(0), |size| size["count"].as_u64())
}

fn every_zvol() -> Capture {
    Capture::start(&["--device", "zd*", "--duration", "600", "--wait"])
}

/// From when on a zvol that comes while tracing is traced without a gap.
const PROMISED: Duration = Duration::from_secs(1);
/// A size that no plan here has.
const KNOCK: usize = 4096;

/// Writes to a new zvol for as long as it may go untraced; how many writes.
fn knock(path: &Path) -> Result<u64> {
    let begin = Instant::now();
    let disk = DirectDevice::open(path, KNOCK)?;
    let mut count = 0;
    while begin.elapsed() < PROMISED {
        disk.write(0, KNOCK)?;
        count += 1;
    }
    Ok(count)
}

/// Some of those writes are seen: tracing began before the time was over.
fn heard(differences: &mut Differences, row: &Value, knocks: u64) {
    let seen = writes(row, KNOCK as u64).unwrap_or_default();
    println!("  | {seen} of the first {knocks} writes to a new zvol were traced");
    differences.holds(seen > 0 && seen <= knocks, || {
        format!("{seen} of the first {knocks} writes were traced")
    });
}

fn reused() -> Result<Outcome> {
    crate::zfs::pool()?;
    let capture = every_zvol();
    let first = Zvol::create("first", BYTES, "8K", Mode::Bio)?;
    let first_knocks = knock(&first.path())?;
    Plan::random_writes(1, 50, 8192, BYTES).run(&first.path())?;
    let (disk, dataset) = (first.disk.clone(), first.dataset.clone());
    first.destroy()?;
    let next = Zvol::create("second", BYTES, "16K", Mode::Bio)?;
    let next_knocks = knock(&next.path())?;
    Plan::random_writes(2, 70, 16 << 10, BYTES).run(&next.path())?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    differences.equal("the number of the second zvol", &next.disk, &disk);
    let old = rows(&report, &dataset);
    let new = rows(&report, &next.dataset);
    differences.equal("rows of the first", old.len(), 1);
    differences.equal("rows of the second", new.len(), 1);
    if let ([old], [new]) = (&old[..], &new[..]) {
        heard(&mut differences, old, first_knocks);
        heard(&mut differences, new, next_knocks);
        differences.equal("writes on the first", writes(old, 8192), Some(50));
        differences.equal("writes on the second", writes(new, 16 << 10), Some(70));
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
    let _open = held_open(&zvol)?;
    let capture = every_zvol();
    Plan::random_writes(1, 50, 8192, BYTES).run(&zvol.path())?;
    zvol.rename("after")?;
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
    let count = new.first().and_then(|row| writes(row, 8192));
    differences.equal("writes", count, Some(100));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn cloned() -> Result<Outcome> {
    let origin = Zvol::create("origin", BYTES, "8K", Mode::Bio)?;
    let capture = every_zvol();
    program::run("zfs", &["snapshot", "tank/origin@s"])?;
    program::run("zfs", &["clone", "tank/origin@s", "tank/clone"])?;
    let path = Path::new("/dev").join(disk_of("tank/clone")?);
    let knocks = knock(&path)?;
    Plan::random_writes(1, 60, 8192, BYTES).run(&path)?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    let clone = rows(&report, "tank/clone");
    differences.equal("rows of the clone", clone.len(), 1);
    if let [clone] = &clone[..] {
        heard(&mut differences, clone, knocks);
        differences.equal("writes", writes(clone, 8192), Some(60));
    }
    let origin_writes = rows(&report, &origin.dataset)
        .first()
        .and_then(|row| row["ops"]["write"]["count"].as_u64());
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
    let count = row.first().and_then(|row| writes(row, 8192));
    differences.equal("writes", count, Some(40));
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

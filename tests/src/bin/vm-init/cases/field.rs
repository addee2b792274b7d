//! Situations that engineers reported, by the numbers of the catalogue of cases.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use zvoltrace_tests::capture;
use zvoltrace_tests::direct::DirectDevice;
use zvoltrace_tests::plan::Plan;

use super::{device, report, report_with, verdict};
use crate::harness::{Differences, Outcome, Test};
use crate::kstat;
use crate::program;
use crate::zfs::{Mode, Zvol};

pub(super) const TESTS: &[Test] = &[
    Test::new("case_5_a_sequential_fill_of_1m_blocks_coalesces", fill),
    Test::new(
        "case_13_io_that_the_block_statistics_hide_is_seen_and_named",
        hidden,
    ),
    Test::new(
        "case_25_totals_count_an_io_once_though_disks_are_stacked",
        stacked,
    ),
];

/// 1,024 writes of 4K in a row onto an empty zvol of 1M blocks: four blocks, whatever the worst
/// case says.
fn fill() -> Result<Outcome> {
    const BLOCK: &str = "1M";
    let zvol = Zvol::create("fill", 64 << 20, BLOCK, Mode::Bio)?;
    let device = device(&zvol, |path| {
        let disk = DirectDevice::open(path, 4096)?;
        for index in 0..1024 {
            disk.write(index * 4096, 4096)?;
        }
        Ok(())
    })?;
    let mut differences = Differences::default();
    let write = &device["ops"]["write"];
    differences.equal("writes", write["count"].as_u64(), Some(1024));
    differences.equal("size", write["sizes"][0]["bytes"].as_u64(), Some(4096));
    differences.equal("reads", device["ops"]["read"]["count"].as_u64(), Some(0));
    let found = &device["amplification"];
    let factor = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
    differences.equal("worst case", factor("worst_case"), 256.0);
    // A group that ends in the middle of a block has it twice.
    differences.holds((1.0..=2.0).contains(&factor("coalesced")), || {
        format!("coalesced: {found}")
    });
    differences.none()?;
    Ok(Outcome::Ok)
}

/// Where ZFS keeps no statistics of the block device (2.0), other tools say idle; the trace does
/// not, and says why they do.
fn hidden() -> Result<Outcome> {
    let zvol = Zvol::create("hidden", 64 << 20, "16K", Mode::Bio)?;
    let before = kstat::objset(&zvol.dataset)?;
    let report = report(&zvol, |path| {
        let disk = DirectDevice::open(path, 16 << 10)?;
        for index in 0..400 {
            disk.write(index * (32 << 10), 16 << 10)?;
        }
        Ok(())
    })?;
    let after = kstat::objset(&zvol.dataset)?;
    ensure!(after.writes - before.writes == 400, "the kstat: {after:?}");
    let stat = fs::read_to_string(zvol.sysfs().join("stat"))?;
    let is_hidden = stat.split_whitespace().all(|number| number == "0");
    let device = capture::device(&report, &zvol.disk);
    let mut differences = Differences::default();
    differences.equal(
        "writes",
        device["ops"]["write"]["count"].as_u64(),
        Some(400),
    );
    let codes: Vec<_> = device["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    differences.holds(!codes.contains(&"idle"), || format!("findings: {codes:?}"));
    differences.equal(
        "statistics_not_maintained is said",
        codes.contains(&"statistics_not_maintained"),
        is_hidden,
    );
    differences.none()?;
    println!(
        "  | block statistics are {}",
        if is_hidden { "hidden" } else { "kept" }
    );
    Ok(Outcome::Ok)
}

/// A mapping that is removed when its value goes.
struct Mapping(&'static str);

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Err(error) = program::run("dmsetup", &["remove", "--retry", self.0]) {
            println!("  | {error:#}");
        }
    }
}

/// A zvol, its partition and a device-mapper disk on top, all selected: each row is right, and
/// the totals have every write once.
fn stacked() -> Result<Outcome> {
    const NAME: &str = "zvoltrace-stacked";
    const WRITES: u64 = 400;
    let zvol = Zvol::create("stacked", 64 << 20, "16K", Mode::Bio)?;
    let partition = verdict::partition(&zvol, 2048)?;
    program::run("modprobe", &["dm-mod"])?;
    let table = format!(
        "0 {} linear {} 0",
        (32_u64 << 20) / 512,
        partition.display()
    );
    program::run("dmsetup", &["create", NAME, "--table", &table])?;
    let _mapping = Mapping(NAME);
    program::run("udevadm", &["settle"])?;
    let node = fs::canonicalize(Path::new("/dev/mapper").join(NAME))?;
    let top = node
        .file_name()
        .and_then(|name| name.to_str())
        .context("a name")?;
    let partition = partition.display().to_string();
    let flags = ["--device", &partition, "--device", top];
    let report = report_with(&zvol, &flags, |_| {
        Ok(Plan::random_writes(6, 400, 8192, 32 << 20).run(&node)?)
    })?;
    let mut differences = Differences::default();
    let count = |of: &serde_json::Value| of["write"]["count"].as_u64();
    for disk in [&zvol.disk, top] {
        let row = capture::device(&report, disk);
        differences.equal(disk, count(&row["ops"]), Some(WRITES));
    }
    differences.equal("totals", count(&report["totals"]), Some(WRITES));
    differences.equal("rows", report["devices"].as_array().map(Vec::len), Some(2));
    differences.none()?;
    Ok(Outcome::Ok)
}

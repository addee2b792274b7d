//! Workloads from the field and what is to be said of them.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use zvoltrace_tests::direct::DirectDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::queue::Queue;

use super::{Quiet, device};
use crate::blktrace::{self, Blktrace, Record};
use crate::harness::{Differences, Outcome, Test, wait_until};
use crate::program;
use crate::zfs::{Mode, Zvol};

pub(super) const TESTS: &[Test] = &[
    Test::new(
        "writes_of_8k_on_64k_blocks_are_smaller_than_the_block",
        smaller,
    ),
    Test::new("writes_of_16k_on_16k_blocks_fit", fits),
    Test::new("buffered_writes_are_the_page_caches_4k", page_cache),
    Test::new("sequential_writes_of_1m_are_not_called_small", sequential),
    Test::new("a_partition_at_sector_63_is_misaligned", misaligned),
    Test::new("an_fdatasync_a_write_is_a_flush_a_write", fdatasync),
    Test::new(
        "o_dsync_writes_are_durable_and_plain_direct_ones_are_not",
        dsync,
    ),
    Test::new("discards_count_as_discards", discards),
    Test::new("mkfs_and_a_mount_agree_with_blktrace", file_system),
];

const BYTES: u64 = 64 << 20;
const KIB: usize = 1024;

fn smaller() -> Result<Outcome> {
    let zvol = Zvol::create("smaller", BYTES, "64K", Mode::Bio)?;
    let plan = Plan::random_writes(3, 1000, 8 * KIB, BYTES);
    let device = device(&zvol, |path| Ok(plan.run(path)?))?;
    let mut differences = Differences::default();
    verdict(&mut differences, &device, "write_smaller_than_block");
    differences.equal(
        "dominant size",
        device["verdict"]["dominant_write_bytes"].as_u64(),
        Some(8192),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

fn fits() -> Result<Outcome> {
    let zvol = Zvol::create("fits", BYTES, "16K", Mode::Bio)?;
    let plan = Plan::random_writes(4, 1000, 16 * KIB, BYTES);
    let device = device(&zvol, |path| Ok(plan.run(path)?))?;
    let mut differences = Differences::default();
    verdict(&mut differences, &device, "fits");
    differences.equal(
        "dominant size",
        device["verdict"]["dominant_write_bytes"].as_u64(),
        Some(16 << 10),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

/// The kernel's page cache hands a zvol one bio a page, whatever was written.
fn page_cache() -> Result<Outcome> {
    let zvol = Zvol::create("buffered", BYTES, "16K", Mode::Bio)?;
    let device = device(&zvol, |path| {
        let file = OpenOptions::new().write(true).open(path)?;
        for index in 0..256 {
            file.write_all_at(&vec![7; 16 * KIB], index * 16 * 1024)?;
        }
        Ok(file.sync_data()?)
    })?;
    let mut differences = Differences::default();
    verdict(&mut differences, &device, "page_cache_split");
    let write = &device["ops"]["write"];
    differences.equal("writes", write["count"].as_u64(), Some(1024));
    differences.equal("bytes", write["bytes"].as_u64(), Some(4 << 20));
    differences.equal("size", write["sizes"][0]["bytes"].as_u64(), Some(4096));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn sequential() -> Result<Outcome> {
    let zvol = Zvol::create("sequential", 512 << 20, "64K", Mode::Bio)?;
    let device = device(&zvol, |path| {
        let disk = DirectDevice::open(path, 1024 * KIB)?;
        for index in 0..320 {
            disk.write(index << 20, 1024 * KIB)?;
        }
        Ok(())
    })?;
    let mut differences = Differences::default();
    differences.equal(
        "bytes",
        device["ops"]["write"]["bytes"].as_u64(),
        Some(320 << 20),
    );
    let code = device["verdict"]["code"]
        .as_str()
        .unwrap_or("none")
        .to_owned();
    differences.holds(
        ["fits", "write_larger_than_block"].contains(&code.as_str()),
        || format!("verdict is {code}"),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

/// The partition's I/O is the disk's, at offsets of the disk (case 24).
fn misaligned() -> Result<Outcome> {
    const FIRST: u32 = 63;
    let zvol = Zvol::create("partitioned", BYTES, "8K", Mode::Bio)?;
    let partition = partition(&zvol, FIRST)?;
    let plan = Plan::random_writes(5, 1000, 8 * KIB, 32 << 20);
    let device = device(&zvol, |_| Ok(plan.run(&partition)?))?;
    let mut differences = Differences::default();
    verdict(&mut differences, &device, "misaligned");
    differences.equal(
        "writes",
        device["ops"]["write"]["count"].as_u64(),
        Some(1000),
    );
    differences.equal(
        "remainder",
        device["alignment"]["constant_remainder_bytes"].as_u64(),
        Some(u64::from(FIRST) * 512 % 8192),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

/// Makes one partition of 32 MiB on a zvol; its device node.
pub(super) fn partition(zvol: &Zvol, first_sector: u32) -> Result<PathBuf> {
    let path = zvol.path();
    let disk = OpenOptions::new().read(true).write(true).open(&path)?;
    disk.write_all_at(&partition_table(first_sector, 64 << 10), 0)?;
    disk.sync_data()?;
    drop(disk);
    program::run("udevadm", &["settle"])?;
    program::run("blockdev", &["--rereadpt", &path.display().to_string()])?;
    let name = format!("{}p1", zvol.disk);
    let node = Path::new("/dev").join(&name);
    wait_until("the partition", Duration::from_secs(30), || {
        zvol.sysfs().join(&name).exists() && node.exists()
    })?;
    Ok(node)
}

/// A master boot record with one Linux partition (type 0x83).
fn partition_table(first_sector: u32, sectors: u32) -> [u8; 512] {
    let mut record = [0; 512];
    record[446 + 4] = 0x83;
    record[446 + 8..446 + 12].copy_from_slice(&first_sector.to_le_bytes());
    record[446 + 12..446 + 16].copy_from_slice(&sectors.to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    record
}

fn fdatasync() -> Result<Outcome> {
    let zvol = Zvol::create("fdatasync", BYTES, "16K", Mode::Bio)?;
    let device = device(&zvol, |path| {
        let disk = DirectDevice::open(path, 16 * KIB)?;
        for index in 0..320 {
            disk.write(index * (64 << 10), 16 * KIB)?;
            disk.flush()?;
        }
        Ok(())
    })?;
    let mut differences = Differences::default();
    differences.equal("flushes", device["flush"]["count"].as_u64(), Some(320));
    differences.equal(
        "writes",
        device["ops"]["write"]["count"].as_u64(),
        Some(320),
    );
    differences.equal("FUA", device["sync"]["fua"].as_u64(), Some(0));
    differences.equal(
        "durable",
        device["sync"]["durable_writes"].as_u64(),
        Some(0),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

fn dsync() -> Result<Outcome> {
    let zvol = Zvol::create("dsync", BYTES, "16K", Mode::Bio)?;
    let device = device(&zvol, |path| {
        let disk = DirectDevice::open(path, 16 * KIB)?;
        for index in 0..320 {
            disk.write_durable(index * (64 << 10), 16 * KIB)?;
            disk.write(index * (64 << 10) + (32 << 10), 16 * KIB)?;
        }
        Ok(())
    })?;
    let mut differences = Differences::default();
    differences.equal(
        "writes",
        device["ops"]["write"]["count"].as_u64(),
        Some(640),
    );
    differences.equal("FUA", device["sync"]["fua"].as_u64(), Some(320));
    differences.equal(
        "durable",
        device["sync"]["durable_writes"].as_u64(),
        Some(320),
    );
    // Direct I/O carries the hint on every write; it says nothing of durability (case 10).
    differences.equal("hinted", device["sync"]["hinted"].as_u64(), Some(640));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn discards() -> Result<Outcome> {
    let zvol = Zvol::create("discards", BYTES, "16K", Mode::Bio)?;
    let device = device(&zvol, |path| {
        let disk = DirectDevice::open(path, 16 * KIB)?;
        for index in 0..20 {
            disk.discard(index << 20, 256 << 10)?;
        }
        Ok(())
    })?;
    let mut differences = Differences::default();
    differences.equal(
        "discards",
        device["ops"]["discard"]["count"].as_u64(),
        Some(20),
    );
    differences.equal(
        "bytes",
        device["ops"]["discard"]["bytes"].as_u64(),
        Some(20 * (256 << 10)),
    );
    differences.equal("reads", device["ops"]["read"]["count"].as_u64(), Some(0));
    differences.equal("writes", device["ops"]["write"]["count"].as_u64(), Some(0));
    differences.none()?;
    Ok(Outcome::Ok)
}

/// A file system's own mixture: nobody knows its counts beforehand, so blktrace is the witness.
fn file_system() -> Result<Outcome> {
    let zvol = Zvol::create("ext4", BYTES, "16K", Mode::Bio)?;
    let quiet = Quiet::begin()?;
    let trace = Blktrace::start(&zvol.disk, Path::new("/tmp/blktrace-ext4"))?;
    let node = zvol.path().display().to_string();
    let capture =
        zvoltrace_tests::capture::Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    program::run("mkfs.ext4", &["-q", "-F", &node])?;
    fs::create_dir_all("/tmp/mnt")?;
    program::run("mount", &[&node, "/tmp/mnt"])?;
    let mut file = File::create("/tmp/mnt/file")?;
    for _ in 0..64 {
        file.write_all(&[3; 5000])?;
        file.sync_data()?;
    }
    drop(file);
    program::run("umount", &["/tmp/mnt"])?;
    let report = capture.interrupt();
    let records = trace.stop()?;
    drop(quiet);
    let device = zvoltrace_tests::capture::device(&report, &zvol.disk);
    let of = |class: &str| {
        let op = &device["ops"][class];
        Some((op["count"].as_u64()?, op["bytes"].as_u64()?))
    };
    let mut differences = Differences::default();
    let kind = |letter: char| {
        move |record: &Record| {
            record.bytes > 0 && record.rwbs.trim_start_matches('F').starts_with(letter)
        }
    };
    differences.equal(
        "discards",
        of("discard"),
        Some(blktrace::sum(&records, "Q", kind('D'))),
    );
    let queued = blktrace::sum(&records, "Q", Record::is_write);
    let completed = blktrace::sum(&records, "C", Record::is_write);
    if blktrace::shows_fua(&records) {
        differences.equal("writes", of("write"), Some(completed));
    } else {
        // As on 7.2; see `blktrace::visible`.
        let durable = device["sync"]["fua"].as_u64();
        differences.equal(
            "writes without FUA",
            of("write").zip(durable).map(|(writes, fua)| writes.0 - fua),
            Some(completed.0),
        );
    }
    // Before Linux 5.15 the end of a chained bio, which zeroing a range makes, is not traced
    // (block/bio.c, bio_endio goes on with the parent first), for blktrace and for us alike.
    differences.equal(
        "without completion",
        report["capture"]["events"]["without_completion"].as_u64(),
        queued.0.checked_sub(completed.0),
    );
    if queued != completed {
        println!("  | {} writes have no completion", queued.0 - completed.0);
    }
    differences.equal("other", of("other"), Some((0, 0)));
    differences.holds(device["flush"]["count"].as_u64() > Some(0), || {
        "no flush was seen".to_owned()
    });
    differences.holds(report["capture"]["events"]["lost"] == 0, || {
        format!("lost: {}", report["capture"]["events"])
    });
    differences.none()?;
    let queue = Queue::read(&zvol.disk).context("sysfs")?;
    ensure!(!queue.blk_mq, "this zvol is to be in bio mode");
    Ok(Outcome::Ok)
}

fn verdict(differences: &mut Differences, device: &Value, code: &str) {
    differences.equal("verdict", device["verdict"]["code"].as_str(), Some(code));
}

//! Predicted against written bytes on real ZFS: a table made by the run. Asked for by name.
//!
//! Each workload runs on each block size while it is traced, and the recordings are handed out. What ZFS then wrote (`nwritten` of
//! the pool's transaction groups) is set against the prediction of the same capture, and against
//! the one that a capture on another block size made for this one.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::direct::DirectDevice;

use super::Quiet;
use crate::harness::{Differences, Outcome, Test};
use crate::kstat;
use crate::program;
use crate::results;
use crate::zfs::{Mode, Zvol, roomy};

/// One a workload: each is within the limit of a test.
pub(super) const TESTS: &[Test] = &[
    Test::on_demand("amplification_proof_of_random_4k", || table(0)),
    Test::on_demand("amplification_proof_of_random_8k", || table(1)),
    Test::on_demand("amplification_proof_of_sequential_4k", || table(2)),
    Test::on_demand("amplification_proof_of_sequential_1m", || table(3)),
    Test::on_demand("amplification_proof_of_a_mix_with_reads", || table(4)),
    Test::on_demand("amplification_proof_of_8k_from_sector_63", || table(5)),
    Test::on_demand("amplification_proof_of_a_database", || table(6)),
];

const BLOCKS: [(&str, u64); 4] = [
    ("8K", 8 << 10),
    ("16K", 16 << 10),
    ("64K", 64 << 10),
    ("128K", 128 << 10),
];
/// Without holes up to here; all I/O stays below it.
const SPAN: u64 = 128 << 20;
const LONGEST: usize = 1 << 20;
/// Slow enough for several transaction groups.
const PAUSE: Duration = Duration::from_millis(4);
/// Most that data and metadata together may be off.
const TOLERANCE: f64 = 0.15;
/// Block sizes that cost about the same may come in either order.
const TIE: f64 = 0.10;

/// A workload: its name, its steps, and what step `n` does.
struct Workload {
    name: &'static str,
    steps: u64,
    step: fn(&mut Disk<'_>, u64) -> Result<()>,
}

const WORKLOADS: [Workload; 7] = [
    Workload {
        name: "random 4K",
        steps: 2000,
        step: |disk, _| disk.write_random(4096, 0),
    },
    Workload {
        name: "random 8K",
        steps: 2000,
        step: |disk, _| disk.write_random(8192, 0),
    },
    Workload {
        name: "sequential 4K",
        steps: 2000,
        step: |disk, n| disk.write(n * 4096, 4096),
    },
    Workload {
        name: "sequential 1M",
        // Once over the disk: what is rewritten would hang on where groups happen to end.
        steps: SPAN >> 20,
        step: |disk, n| disk.write(n << 20, 1 << 20),
    },
    Workload {
        name: "70 % reads, 8K",
        steps: 4000,
        step: |disk, n| match n % 10 {
            0..7 => disk.read_random(8192),
            _ => disk.write_random(8192, 0),
        },
    },
    Workload {
        name: "8K from sector 63",
        steps: 2000,
        step: |disk, _| disk.write_random(8192, 63 * 512),
    },
    Workload {
        name: "database",
        steps: 2000,
        step: |disk, n| {
            // Pages at random, and a log of its own that is made durable.
            const LOG_FROM: u64 = SPAN - (32 << 20);
            if n % 4 != 3 {
                return disk.write_random(8192, 0);
            }
            disk.write(LOG_FROM + n / 4 * (16 << 10), 16 << 10)?;
            Ok(disk.device.flush()?)
        },
    },
];

/// A disk and what was done to it.
struct Disk<'a> {
    device: &'a mut DirectDevice,
    random: fastrand::Rng,
    written: u64,
}

impl Disk<'_> {
    fn write(&mut self, offset: u64, len: usize) -> Result<()> {
        self.device.write(offset, len)?;
        self.written += len as u64;
        Ok(())
    }

    /// At a multiple of its length, moved by so many bytes; below the last quarter.
    fn write_random(&mut self, len: usize, moved: u64) -> Result<()> {
        let offset = self.place(len) + moved;
        self.write(offset, len)
    }

    fn read_random(&mut self, len: usize) -> Result<()> {
        let offset = self.place(len);
        Ok(self.device.read(offset, len)?)
    }

    fn place(&mut self, len: usize) -> u64 {
        let len = len as u64;
        self.random.u64(..SPAN / 4 * 3 / len) * len
    }
}

/// One workload on one block size.
struct Run {
    /// Bytes that ZFS wrote / bytes written.
    measured: f64,
    groups: u64,
    report: Value,
}

impl Run {
    /// A factor of the candidate of this size.
    fn candidate(&self, block_bytes: u64, key: &str) -> Option<f64> {
        let candidates = self.report["candidates"].as_array()?;
        candidates
            .iter()
            .find(|c| c["block_bytes"].as_u64() == Some(block_bytes))?[key]
            .as_f64()
    }

    /// Data and metadata on this block size, as this run predicts them.
    fn predicted(&self, block_bytes: u64) -> Result<f64> {
        self.candidate(block_bytes, "coalesced")
            .zip(self.candidate(block_bytes, "metadata"))
            .map(|(data, metadata)| data + metadata)
            .with_context(|| format!("no prediction for {block_bytes} B"))
    }
}

fn table(index: usize) -> Result<Outcome> {
    let workload = &WORKLOADS[index];
    for name in [
        "zfs_txg_timeout",
        "zfs_dirty_data_max",
        "zfs_dirty_data_sync_percent",
    ] {
        let value = std::fs::read_to_string(format!("/sys/module/zfs/parameters/{name}"))?;
        println!("  | {name} {}", value.trim());
    }
    let mut text = format!(
        "{:17} {:>6} {:>5} {:>7} {:>7} {:>6} {:>8} {:>8} {:>6} {:>10} {:>6}\n",
        "workload",
        "block",
        "txgs",
        "worst",
        "data",
        "meta",
        "together",
        "measured",
        "error",
        "from other",
        "error"
    );
    let mut differences = Differences::default();
    let runs = BLOCKS
        .iter()
        .map(|(block, _)| measure(block, workload))
        .collect::<Result<Vec<_>>>()?;
    for (index, run) in runs.iter().enumerate() {
        // The prediction for 64K comes from 8K, every other one from 64K.
        let other = &runs[if index == 2 { 0 } else { 2 }];
        row(
            &mut text,
            &mut differences,
            workload.name,
            index,
            run,
            other,
        )?;
    }
    order(&mut differences, workload.name, &runs)?;
    results::table(&format!("amplification-{index}.txt"), &text)?;
    differences.none()?;
    Ok(Outcome::Ok)
}

fn row(
    text: &mut String,
    differences: &mut Differences,
    name: &str,
    index: usize,
    run: &Run,
    other: &Run,
) -> Result<()> {
    let (block, block_bytes) = BLOCKS[index];
    let (own, foreign) = (run.predicted(block_bytes)?, other.predicted(block_bytes)?);
    let error = |predicted: f64| predicted / run.measured - 1.0;
    let part = |key| run.candidate(block_bytes, key).unwrap_or(f64::NAN);
    writeln!(
        text,
        "{name:17} {block:>6} {:>5} {:>7.2} {:>7.2} {:>6.2} {own:>8.2} {:>8.2} {:>+5.0}% {foreign:>10.2} {:>+5.0}%",
        run.groups,
        part("worst_case"),
        part("coalesced"),
        part("metadata"),
        run.measured,
        error(own) * 100.0,
        error(foreign) * 100.0,
    )?;
    for (whose, predicted) in [("own", own), ("other", foreign)] {
        differences.holds(error(predicted).abs() <= TOLERANCE, || {
            format!(
                "{name} on {block}, {whose} capture: predicted {predicted:.2}, measured {:.2}",
                run.measured
            )
        });
    }
    Ok(())
}

/// One capture puts the block sizes in the order of what they really cost.
fn order(differences: &mut Differences, name: &str, runs: &[Run]) -> Result<()> {
    for (from, run) in runs.iter().enumerate() {
        for (a, cheap) in runs.iter().enumerate() {
            for (b, dear) in runs.iter().enumerate() {
                if dear.measured < cheap.measured * (1.0 + TIE) {
                    continue;
                }
                let (less, more) = (run.predicted(BLOCKS[a].1)?, run.predicted(BLOCKS[b].1)?);
                differences.holds(less < more, || {
                    format!(
                        "{name}: traced on {}, {} at {less:.2} should cost less than {} at {more:.2}",
                        BLOCKS[from].0, BLOCKS[a].0, BLOCKS[b].0
                    )
                });
            }
        }
    }
    Ok(())
}

fn measure(block: &str, workload: &Workload) -> Result<Run> {
    let zvol = Zvol::create_in(roomy()?, "proof", SPAN, block, Mode::Bio)?;
    let mut device = DirectDevice::open(&zvol.path(), LONGEST)?;
    for offset in (0..SPAN).step_by(LONGEST) {
        device.write(offset, LONGEST)?;
    }
    let _quiet = Quiet::begin()?;
    sync()?;
    let recording = format!("{}-{block}.arrows", workload.name.replace(' ', "-"));
    let recording = results::folder("amplification")?.join(recording);
    let recording = recording.display().to_string();
    let capture = Capture::start(&[
        "--device",
        &zvol.disk,
        "--duration",
        "600",
        "--record",
        &recording,
    ]);
    let last = kstat::groups(roomy()?)?
        .last()
        .map_or(0, |group| group.number);
    let written = run(&mut device, workload)?;
    // The report's transaction groups end with the capture; those still open sync afterwards.
    sync()?;
    let report = capture.interrupt();
    let (nwritten, groups) = kstat::written_after(roomy()?, last.saturating_sub(1))?;
    #[allow(clippy::cast_precision_loss, reason = "a ratio of two decimals")]
    let measured = nwritten as f64 / written as f64;
    Ok(Run {
        measured,
        groups,
        report: capture::device(&report, &zvol.disk).clone(),
    })
}

/// Runs the steps at an even rate; the bytes written.
fn run(device: &mut DirectDevice, workload: &Workload) -> Result<u64> {
    let mut disk = Disk {
        device,
        random: fastrand::Rng::with_seed(7),
        written: 0,
    };
    let begin = Instant::now();
    for n in 0..workload.steps {
        (workload.step)(&mut disk, n)?;
        let due = PAUSE * u32::try_from(n)?;
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
    Ok(disk.written)
}

/// Everything dirty onto disk: the first sync ends the open group, the second its successor.
fn sync() -> Result<()> {
    program::run("zpool", &["sync", roomy()?])?;
    program::run("zpool", &["sync", roomy()?])
}

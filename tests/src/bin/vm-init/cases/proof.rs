//! Predicted against written bytes on real ZFS: a table made by the run. Asked for by name.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::direct::DirectDevice;

use super::Quiet;
use crate::harness::{Outcome, Test};
use crate::kstat;
use crate::program;
use crate::results;
use crate::zfs::{Mode, Zvol, pool};

pub(super) const TESTS: &[Test] = &[Test::on_demand("amplification_proof", table)];

const BLOCKS: [&str; 4] = ["8K", "16K", "64K", "128K"];
/// Without holes up to here; the writes stay below it.
const SPAN: u64 = 128 << 20;
const WRITES: u64 = 2000;
/// Slow enough for several transaction groups.
const PAUSE: Duration = Duration::from_millis(4);

/// Where writes go.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Random(usize),
    Sequential(usize),
}

const PATTERNS: [(&str, Pattern); 3] = [
    ("random 8K", Pattern::Random(8192)),
    ("random 4K", Pattern::Random(4096)),
    ("sequential 4K", Pattern::Sequential(4096)),
];

fn table() -> Result<Outcome> {
    let mut text = String::new();
    writeln!(
        text,
        "{:>13} {:14} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "volblocksize", "pattern", "txgs", "worst", "coalesced", "metadata", "sum", "measured"
    )?;
    for block in BLOCKS {
        for (name, pattern) in PATTERNS {
            let row = measure(block, name, pattern)?;
            println!("zvoltrace-vm: {}", row.trim_end());
            text.push_str(&row);
        }
    }
    results::table("amplification.txt", &text)?;
    Ok(Outcome::Ok)
}

fn measure(block: &str, name: &str, pattern: Pattern) -> Result<String> {
    let zvol = Zvol::create("proof", SPAN, block, Mode::Bio)?;
    let disk = DirectDevice::open(&zvol.path(), 512 << 10)?;
    for offset in (0..SPAN).step_by(512 << 10) {
        disk.write(offset, 512 << 10)?;
    }
    let _quiet = Quiet::begin()?;
    sync()?;
    let capture = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    let last = kstat::groups(pool()?)?
        .last()
        .map_or(0, |group| group.number);
    let bytes = write(&disk, pattern)?;
    // The report's transaction groups end with the capture; those still open sync afterwards.
    sync()?;
    let report = capture.interrupt();
    let (written, groups) = kstat::written_after(pool()?, last - 1)?;
    let amplification = &capture::device(&report, &zvol.disk)["amplification"];
    let of = |key: &str| amplification[key].as_f64();
    let shown = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.2}"));
    let sum = of("coalesced")
        .zip(of("metadata"))
        .map(|(coalesced, metadata)| coalesced + metadata);
    #[allow(clippy::cast_precision_loss, reason = "a ratio of two decimals")]
    let measured = written as f64 / bytes as f64;
    Ok(format!(
        "{block:>13} {name:14} {groups:>6} {:>9} {:>9} {:>9} {:>9} {measured:>9.2}\n",
        shown(of("worst_case")),
        shown(of("coalesced")),
        shown(of("metadata")),
        shown(sum),
    ))
}

/// Writes at an even rate; the bytes written.
fn write(disk: &DirectDevice, pattern: Pattern) -> Result<u64> {
    let mut random = fastrand::Rng::with_seed(7);
    let begin = Instant::now();
    let mut bytes = 0;
    for index in 0..WRITES {
        let (offset, len) = match pattern {
            Pattern::Random(len) => (random.u64(..SPAN / len as u64) * len as u64, len),
            Pattern::Sequential(len) => (index * len as u64, len),
        };
        disk.write(offset, len)?;
        bytes += len as u64;
        let due = PAUSE * u32::try_from(index)?;
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
    Ok(bytes)
}

/// Everything dirty onto disk: the first sync ends the open group, the second its successor.
fn sync() -> Result<()> {
    program::run("zpool", &["sync", pool()?])?;
    program::run("zpool", &["sync", pool()?])
}

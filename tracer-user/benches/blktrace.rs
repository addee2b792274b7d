//! Analysing a blktrace capture against `blkparse` printing it.
//!
//! `cargo bench -p tracer-user --bench blktrace`. Both read the same file of 4 million records,
//! made here by the exporter's writer. Rounds alternate, and the median of their ratios is the
//! result: absolute times are this machine's. No criterion: one side is another program.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tracer_common::flag;
use tracer_user::{
    analysis::{Collector, Options},
    blktrace::{Sorter, TraceWriter},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::Mode,
    source::{
        Source,
        blktrace::{self, BlktraceSource},
    },
};

const IOS: u64 = 2_000_000;
const ROUNDS: usize = 7;

fn main() -> anyhow::Result<()> {
    // `cargo test --benches` asks for a trial run.
    let ios = if std::env::args().any(|arg| arg == "--bench") {
        IOS
    } else {
        1000
    };
    let folder = tempfile::tempdir()?;
    write_trace(&folder.path().join("zd0.blktrace.0"), ios)?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let analysed = analyse(&folder.path().join("zd0"), ios)?;
        ours.push(analysed);
        if let Some(printed) = print(folder.path()) {
            theirs.push(printed);
            ratios.push(printed.as_secs_f64() / analysed.as_secs_f64());
        }
    }
    println!("{} records: analysed in {:.2?}", 2 * ios, median(ours));
    if theirs.is_empty() {
        println!("blkparse cannot run here: nothing to compare with");
        return Ok(());
    }
    ratios.sort_unstable_by(f64::total_cmp);
    println!(
        "printed by blkparse in {:.2?}: {:.1} times as long ({:.1} to {:.1})",
        median(theirs),
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1]
    );
    Ok(())
}

/// A guest on a bio-mode zvol: 8K writes, some reads, flushes, 16 in flight.
fn write_trace(path: &Path, ios: u64) -> anyhow::Result<()> {
    let mut sorter = Sorter::default();
    for n in 0..ios {
        let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        let (op, flags, bytes) = match n % 16 {
            0..4 => (Op::Read, 0, 16_384),
            4 => (Op::Flush, flag::PREFLUSH | flag::SYNC, 0),
            _ => (Op::Write, flag::SYNC, 8192),
        };
        let start_ns = 1_000_000_000 + n * 10_000;
        let event = Event {
            device: DeviceId(0),
            op,
            flags: Flags::from_opf(flags),
            start_ns,
            issue_ns: None,
            end_ns: start_ns + 100_000 + place % 60_000,
            offset_bytes: if bytes == 0 { 0 } else { place * 8192 },
            bytes,
            errno: 0,
            cpu: 0,
            pid: 4242,
            tid: 4242,
            comm: Comm::new("qemu-kvm"),
        };
        sorter.push(&event, (230, 0), Mode::Bio)?;
    }
    let mut trace = TraceWriter::new(BufWriter::new(File::create(path)?));
    for record in sorter.sorted()? {
        let (record, comm) = record?;
        trace.write(&record, comm)?;
    }
    trace.finish()?;
    Ok(())
}

fn analyse(base: &Path, ios: u64) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let options = blktrace::Options {
        block_size_bytes: Some(16_384),
        args: Vec::new(),
    };
    let mut source = BlktraceSource::open(&[PathBuf::from(base)], options)?;
    let mut collector = Collector::new(Options::default(), source.kind());
    while let Some(input) = source.next()? {
        collector.feed(&input);
    }
    let report = collector.report();
    let took = begun.elapsed();
    anyhow::ensure!(
        report.capture.events.completed == ios,
        "not every I/O was paired"
    );
    Ok(took)
}

/// `None` when blkparse is not installed.
fn print(folder: &Path) -> Option<Duration> {
    let begun = Instant::now();
    let status = Command::new("blkparse")
        .args(["-q", "-i", "zd0"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status
        .is_ok_and(|status| status.success())
        .then(|| begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

//! What tracing costs beside blktrace: writes done in the same time without a tracer, with
//! `zvoltrace capture` and with blktrace into a tmpfs, on a zvol and on a RAM disk.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use zvoltrace_tests::capture::Capture;
use zvoltrace_tests::direct::DirectDevice;

use super::Quiet;
use crate::harness::{Outcome, Test, wait_until};
use crate::program;
use crate::results;
use crate::zfs::{Mode, Zvol};

pub(super) const TESTS: &[Test] = &[Test::on_demand(
    "writes_kept_beside_blktrace",
    writes_kept_beside_blktrace,
)];

/// Turns, each with every tracer; the order goes round.
const TURNS: usize = 7;
/// Writes before those that count.
const WARM_UP: Duration = Duration::from_millis(300);
const COUNTED: Duration = Duration::from_millis(1_500);
const BYTES: u64 = 64 << 20;
const WRITE_BYTES: usize = 4096;
/// A turn with us may keep this much less than one with blktrace: turns differ so much by
/// themselves under emulation.
const NOISE: f64 = 0.9;

#[derive(Clone, Copy)]
enum Tracer {
    None,
    Zvoltrace,
    Blktrace,
}

const TRACERS: [Tracer; 3] = [Tracer::None, Tracer::Zvoltrace, Tracer::Blktrace];

fn writes_kept_beside_blktrace() -> Result<Outcome> {
    let _quiet = Quiet::begin()?;
    let zvol = Zvol::create("beside", BYTES, "8K", Mode::Bio)?;
    program::run("modprobe", &["brd", "rd_nr=1", "rd_size=65536"])?;
    let mut text = format!(
        "4K direct writes kept, of those without a tracer (median of {TURNS} turns; {})\n",
        program::output("blktrace", &["-V"])?.trim()
    );
    writeln!(text, "{:8} {:>10} {:>10}", "disk", "zvoltrace", "blktrace")?;
    for disk in [zvol.disk.as_str(), "ram0"] {
        let (ours, theirs) = kept(disk)?;
        writeln!(text, "{disk:8} {ours:>10.2} {theirs:>10.2}")?;
        ensure!(
            ours >= theirs * NOISE,
            "on {disk} zvoltrace keeps {ours:.2} of the writes, blktrace {theirs:.2}"
        );
    }
    results::table("beside-blktrace.txt", &text)?;
    Ok(Outcome::Ok)
}

/// Shares of the writes that are kept with us and with blktrace.
fn kept(disk: &str) -> Result<(f64, f64)> {
    let mut shares = [const { Vec::new() }; 2];
    for turn in 0..TURNS {
        let mut done = [0.0; TRACERS.len()];
        for step in 0..TRACERS.len() {
            let at = (turn + step) % TRACERS.len();
            done[at] = writes_with(TRACERS[at], disk)?;
        }
        for (shares, with) in shares.iter_mut().zip(&done[1..]) {
            shares.push(with / done[0]);
        }
    }
    let [ours, theirs] = shares.map(|mut shares| {
        shares.sort_by(f64::total_cmp);
        shares[shares.len() / 2]
    });
    Ok((ours, theirs))
}

/// Writes done in [`COUNTED`] beside a tracer.
fn writes_with(tracer: Tracer, disk: &str) -> Result<f64> {
    match tracer {
        Tracer::None => writes(disk),
        Tracer::Zvoltrace => {
            let flags = ["--device", disk, "--block-size", "8K", "--duration", "600"];
            let capture = Capture::start(&flags);
            let done = writes(disk)?;
            let _ = capture.interrupt();
            Ok(done)
        }
        Tracer::Blktrace => {
            let folder = PathBuf::from("/tmp/beside-blktrace");
            let trace = Tracing::start(disk, &folder)?;
            let done = writes(disk)?;
            trace.stop()?;
            fs::remove_dir_all(folder)?;
            Ok(done)
        }
    }
}

fn writes(disk: &str) -> Result<f64> {
    let device = DirectDevice::open(&Path::new("/dev").join(disk), WRITE_BYTES)?;
    let mut random = fastrand::Rng::with_seed(8);
    let mut during = |time: Duration| -> Result<u32> {
        let since = Instant::now();
        let mut done = 0;
        while since.elapsed() < time {
            let block = random.u64(..BYTES / WRITE_BYTES as u64);
            device.write(block * WRITE_BYTES as u64, WRITE_BYTES)?;
            done += 1;
        }
        Ok(done)
    };
    during(WARM_UP)?;
    Ok(f64::from(during(COUNTED)?))
}

/// blktrace with the buffers that it has by itself; [`crate::blktrace::Blktrace`] has small ones.
struct Tracing(Child);

impl Tracing {
    fn start(disk: &str, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let child = program::command("blktrace")
            .arg("-d")
            .arg(Path::new("/dev").join(disk))
            .args(["-o", "trace"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start blktrace")?;
        let enabled = format!("/sys/block/{disk}/trace/enable");
        wait_until("blktrace to trace", Duration::from_mins(1), || {
            fs::read_to_string(&enabled).is_ok_and(|text| text.trim() == "1")
        })?;
        Ok(Self(child))
    }

    fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.0), Signal::INT)?;
        ensure!(self.0.wait()?.success(), "blktrace failed");
        Ok(())
    }
}

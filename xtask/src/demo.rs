//! `cargo xtask demo`: the whole way on one machine, without ZFS.
//!
//! A loop device stands in for a zvol, a workload like a virtual machine's runs on it, and the
//! released binary traces it live against a block size of 128K. Nothing stays behind on any way
//! out: the device goes with this process (see [`LoopDevice`]), and the tracer is ended first.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use zvoltrace_tests::capture::READY;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::workload;

use crate::{process, workspace};

/// Size of the device; its file is in memory and takes what is written, at most this.
const SIZE_BYTES: u64 = 512 << 20;
/// Exit status of zvoltrace when a prerequisite is missing.
const PREREQUISITE: u8 = 3;

/// Options of the verb.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How long to trace.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
}

/// Runs the verb; the exit status is that of the capture.
pub(crate) fn run(options: &Options) -> ExitCode {
    if !rustix::process::geteuid().is_root() {
        eprintln!(
            "demo: it makes a loop device and loads eBPF programs, which root may do: run it as \
             root, for example with `sudo --preserve-env=PATH cargo xtask demo`"
        );
        return ExitCode::from(PREREQUISITE);
    }
    match trace(options) {
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn trace(options: &Options) -> Result<ExitStatus> {
    let mut build = process::cargo();
    build.current_dir(workspace::root()?);
    process::run(build.args(["build", "--release", "--locked", "--bin", "zvoltrace"]))?;

    let device = LoopDevice::in_memory(SIZE_BYTES)?;
    eprintln!(
        "demo: on {}: 80 % random writes of 8K, 15 % of 4K, 5 % reads; judged against 128K blocks",
        device.name()
    );
    let mut capture = Command::new(workspace::target_dir()?.join("release/zvoltrace"));
    capture
        .args(["capture", "--device", device.name()])
        .args(["--block-size", "128K", "--duration"])
        .arg(format!("{}s", options.seconds))
        // Its own group: a Ctrl-C reaches it once, through here.
        .process_group(0)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut capture = capture.spawn().context("cannot start zvoltrace")?;
    forward_signals(&capture)?;
    let stderr = capture.stderr.take().context("no stderr")?;

    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut load = None;
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            if load.is_none() && line.starts_with(READY) {
                load = Some(scope.spawn(|| workload::like_a_vm(&device.path(), SIZE_BYTES, &stop)));
            }
        }
        let status = capture.wait().context("cannot wait for zvoltrace");
        stop.store(true, Ordering::Relaxed);
        match load.map(thread::ScopedJoinHandle::join) {
            Some(Ok(done)) => done.context("the workload failed")?,
            Some(Err(_)) => bail!("the workload panicked"),
            None => {}
        }
        status
    })
}

/// From here on a signal that would end this process ends the capture instead, which then prints
/// its report; a second one ends it at once.
fn forward_signals(capture: &Child) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot handle signals")?;
    let pidfd = pidfd_open(Pid::from_child(capture), PidfdFlags::empty())
        .context("cannot hold the capture's process")?;
    thread::spawn(move || {
        for _ in signals.forever() {
            // Fails when it has ended, which is what is wanted.
            let _ = pidfd_send_signal(&pidfd, Signal::INT);
        }
    });
    Ok(())
}

//! The tracers that are measured side by side.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zvoltrace_tests::capture::READY;

use super::floor::Floor;
use super::stats;
use crate::process;

/// Longest wait for a tracer to attach.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a bpftrace user would write; a bio-mode disk has no requests to look at.
const ONE_LINER: &str = "\
    tracepoint:block:block_bio_queue { @start[args->dev, args->sector] = nsecs; } \
    tracepoint:block:block_bio_complete /@start[args->dev, args->sector]/ { \
        @ns = hist(nsecs - @start[args->dev, args->sector]); \
        delete(@start[args->dev, args->sector]); }";

/// A tracer to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracer<'a> {
    /// None.
    Nothing,
    /// Programs that do nothing.
    Empty(&'a [&'a str]),
    /// `zvoltrace capture` of a disk, with more arguments.
    Zvoltrace {
        binary: &'a Path,
        disk: &'a str,
        more: &'a [&'a str],
    },
    /// biolatency of libbpf-tools.
    Biolatency,
    /// bpftrace with a latency histogram.
    Bpftrace,
}

/// A tracer that traces.
pub(crate) enum Running {
    Nothing,
    Empty(#[allow(dead_code, reason = "detaches when dropped")] Floor),
    Child(Child),
}

impl Tracer<'_> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Empty(_) => "empty programs",
            Self::Zvoltrace { .. } => "zvoltrace",
            Self::Biolatency => "biolatency",
            Self::Bpftrace => "bpftrace",
        }
    }

    /// Starts it and waits until it traces.
    pub(crate) fn start(&self) -> Result<Running> {
        Ok(match self {
            Self::Nothing => Running::Nothing,
            Self::Empty(tracepoints) => Running::Empty(Floor::attach(tracepoints)?),
            Self::Zvoltrace { binary, disk, more } => {
                let mut command = Command::new(binary);
                command
                    .args(["capture", "--device", disk, "--block-size", "8K"])
                    .args(["--format", "json", "--duration", "1h"])
                    .args(*more);
                Running::Child(ready(command)?)
            }
            Self::Biolatency => Running::Child(attached(&mut process::tied("biolatency"), 2)?),
            Self::Bpftrace => Running::Child(attached(
                Command::new("bpftrace").args(["-e", ONE_LINER]),
                2,
            )?),
        })
    }
}

impl Running {
    /// Ends it as Ctrl-C does; of zvoltrace, returns the report.
    pub(crate) fn end(self) -> Result<Option<Value>> {
        let Self::Child(child) = self else {
            return Ok(None);
        };
        // Gone already: its output says why.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let output = child.wait_with_output()?;
        Ok(serde_json::from_slice(&output.stdout).ok())
    }
}

/// Starts zvoltrace and waits for its line.
fn ready(mut command: Command) -> Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start zvoltrace")?;
    let stderr = child.stderr.take().context("no stderr")?;
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut seen = String::new();
    for line in lines.by_ref() {
        if line.starts_with(READY) {
            // Progress goes on; nobody reads it.
            thread::spawn(move || lines.for_each(drop));
            return Ok(child);
        }
        seen.push_str(&line);
    }
    let status = child.wait()?;
    bail!("zvoltrace ended before it traced ({status}): {seen}")
}

/// Starts another tracer and waits until that many new programs are loaded.
fn attached(command: &mut Command, programs: usize) -> Result<Child> {
    let before = stats::programs()?;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let since = Instant::now();
    loop {
        // By their numbers: those of the tracer before may only now go away.
        let present = stats::programs()?;
        if present.keys().filter(|id| !before.contains_key(id)).count() >= programs {
            break;
        }
        if since.elapsed() > PATIENCE || child.try_wait()?.is_some() {
            let _ = child.kill();
            bail!("{command:?} did not attach");
        }
        thread::sleep(Duration::from_millis(100));
    }
    // Loaded first and attached then.
    thread::sleep(Duration::from_millis(300));
    Ok(child)
}

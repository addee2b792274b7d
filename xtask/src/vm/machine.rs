//! Booting a cached machine in QEMU: its drives, its archive for this run, and watching its
//! console until it ends. The base image is never written (`snapshot=on`).

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process::tied;

use super::archive::Archive;
use super::cache::{self, Entry};
use super::console::{Console, End};

/// How long a machine may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Altogether.
    whole: Duration,
    /// Without a line.
    silence: Duration,
    /// To go away once a line has said how it ended.
    parting: Duration,
}

/// Longest time without a line: the longest test alone may take four minutes.
const SILENCE: Duration = Duration::from_mins(5);
/// Results are handed out after the verdict.
const PARTING: Duration = Duration::from_mins(1);
/// Room for what a run hands out.
const RESULTS_BYTES: u64 = 64 << 20;

/// What goes into a machine beside its image.
#[derive(Debug)]
pub(crate) struct Payload<'a> {
    /// PID 1, a static binary.
    pub(crate) init: &'a Path,
    /// Files for `/t`, by name.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// Resources of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Memory in MiB; pools lie in it.
    pub(crate) memory_mib: u32,
    /// CPUs.
    pub(crate) cpus: u32,
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) end: End,
    /// Its console.
    pub(crate) console: Console,
    /// Power-on to end.
    pub(crate) took: Duration,
}

/// A machine prepared to boot; its files lie in a folder that may vanish.
#[derive(Debug)]
pub(crate) struct Machine {
    command: Command,
    results: PathBuf,
}

/// Kills the emulator on every way out.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only when it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Machine {
    /// Writes the run's files into `folder`.
    pub(crate) fn prepare(
        entry: &Entry,
        payload: &Payload<'_>,
        size: Size,
        folder: &Path,
    ) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let initrd = folder.join("initrd");
        let mut out = File::create(&initrd)?;
        out.write_all(&fs::read(entry.file(cache::MODULES))?)?;
        let mut archive = Archive::new(out);
        let init = fs::read(payload.init)
            .with_context(|| format!("cannot read {}", payload.init.display()))?;
        archive.program("init", &init)?;
        archive.folder("t")?;
        for (name, content) in &payload.files {
            archive.program(&format!("t/{name}"), content)?;
        }
        archive.finish()?;
        let results = folder.join("results.tar");
        File::create(&results)?.set_len(RESULTS_BYTES)?;

        let mut command = tied("qemu-system-x86_64");
        command
            // KVM is not asked for: where the suite runs it is often there and unusable.
            .args(["-accel", "tcg,thread=multi", "-cpu", "max"])
            .args(["-m", &format!("{}M", size.memory_mib), "-smp", &size.cpus.to_string()])
            .args(["-display", "none", "-no-reboot", "-nic", "none"])
            .arg("-kernel")
            .arg(entry.file(cache::KERNEL))
            .arg("-initrd")
            .arg(&initrd)
            .args(["-append", "console=ttyS0 ZVOLTRACE_BIN=/t/zvoltrace loglevel=1 panic=-1 oops=panic rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60"])
            .args(["-drive", &drive(&entry.file(cache::DISK), ",snapshot=on")])
            .args(["-drive", &drive(&results, "")])
            .env("TMPDIR", folder);
        Ok(Self { command, results })
    }

    /// Boots and watches until the machine ends or `limit` is over; the console's lines go to
    /// `log`, those worth it to standard output.
    pub(crate) fn watch(mut self, limit: Duration, log: &Path) -> Result<(Finished, PathBuf)> {
        self.command.args(["-serial", "stdio", "-monitor", "none"]);
        let limits = Limits {
            whole: limit,
            silence: SILENCE,
            parting: PARTING,
        };
        Ok((watch(&mut self.command, limits, log)?, self.results))
    }

    /// Boots with the terminal as console.
    pub(crate) fn interact(mut self) -> Result<()> {
        let status = self
            .command
            .args(["-serial", "mon:stdio"])
            .status()
            .context("cannot start QEMU")?;
        anyhow::ensure!(status.success(), "QEMU ended with {status}");
        Ok(())
    }
}

/// Runs an emulator whose standard output is the machine's console.
fn watch(emulator: &mut Command, limits: Limits, log: &Path) -> Result<Finished> {
    let mut log = File::create(log)?;
    let begin = Instant::now();
    let mut guard = Guard(
        emulator
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start QEMU")?,
    );
    let lines = lines(guard.0.stdout.take().context("QEMU has no output")?);
    let mut console = Console::default();
    let mut until = begin + limits.whole;
    let end = loop {
        let left = until.saturating_duration_since(Instant::now());
        // A machine that never stops printing ends here.
        if left.is_zero() {
            break End::TimeOut;
        }
        match lines.recv_timeout(left.min(limits.silence)) {
            Ok(line) => {
                writeln!(log, "{line}")?;
                let ended = console.end().is_some();
                if console.line(&line) {
                    println!("{line}");
                }
                if !ended && console.end().is_some() {
                    until = until.min(Instant::now() + limits.parting);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break End::PowerOff,
            Err(RecvTimeoutError::Timeout) if left <= limits.silence => break End::TimeOut,
            Err(RecvTimeoutError::Timeout) => break End::Silent,
        }
    };
    drop(guard);
    Ok(Finished {
        end: console.end().cloned().unwrap_or(end),
        console,
        took: begin.elapsed(),
    })
}

/// Lines as they come; ends with the pipe, which ends with the process.
fn lines(pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(256);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|bytes| bytes > 0)
        {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(text).is_err() {
                break;
            }
        }
    });
    lines
}

fn drive(file: &Path, more: &str) -> String {
    // A comma in a value is doubled.
    let file = file.display().to_string().replace(',', ",,");
    format!("file={file},format=raw,if=virtio,cache=unsafe{more}")
}

#[cfg(test)]
mod tests {
    use super::{Command, Duration, End, Finished, Limits, watch};
    use crate::vm::console::Counts;

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(300);

    /// Watches a shell script in the place of an emulator.
    fn run(script: &str, limits: Limits) -> Finished {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        watch(&mut shell, limits, &folder.path().join("console.log")).expect("it runs")
    }

    const PATIENT: Limits = Limits {
        whole: LONG,
        silence: LONG,
        parting: SHORT,
    };

    #[test]
    fn a_verdict_ends_it_though_the_machine_stays() {
        let finished = run(
            "echo 'test a ... ok'; echo 'verdict: 1 passed, 0 failed, 0 skipped'; exec sleep 60",
            PATIENT,
        );
        let said = Counts {
            passed: 1,
            ..Counts::default()
        };
        assert_eq!(finished.end, End::Verdict(said));
        assert!(finished.took < LONG);
    }

    #[test]
    fn a_panic_and_a_lockup_end_it_with_the_console_s_tail() {
        for (line, end) in [
            ("Kernel panic - not syncing: Fatal exception", End::Panic),
            (
                "watchdog: BUG: soft lockup - CPU#1 stuck for 63s!",
                End::Lockup,
            ),
        ] {
            let script =
                format!("echo 'before'; echo '[ 9.1] {line}'; echo 'Call Trace:'; exec sleep 60");
            let finished = run(&script, PATIENT);
            assert_eq!(finished.end, end);
            let tail: Vec<_> = finished.console.tail().collect();
            assert_eq!(tail.first(), Some(&"before"));
            assert_eq!(tail.last(), Some(&"Call Trace:"));
        }
    }

    #[test]
    fn silence_and_a_long_run_end_it_and_are_told_apart() {
        let silent = Limits {
            silence: SHORT,
            ..PATIENT
        };
        assert_eq!(run("echo a; exec sleep 60", silent).end, End::Silent);
        let short = Limits {
            whole: SHORT,
            ..PATIENT
        };
        assert_eq!(run("echo a; exec sleep 60", short).end, End::TimeOut);
    }

    #[test]
    fn a_machine_that_goes_away_without_a_verdict_is_no_success() {
        assert_eq!(run("echo a", PATIENT).end, End::PowerOff);
    }
}

//! Booting a cached machine in QEMU: its drives, its archive for this run, and watching its
//! console until it ends. The base image is never written (`snapshot=on`).

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process::tied;

use super::archive::Archive;
use super::cache::{self, Entry};
use super::console::{Console, End};

/// Longest time without a line: emulated, loading ZFS alone takes half a minute.
const SILENCE: Duration = Duration::from_mins(5);
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
        let mut log = File::create(log)?;
        let begin = Instant::now();
        let mut guard = Guard(
            self.command
                .args(["-serial", "stdio", "-monitor", "none"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .context("cannot start QEMU")?,
        );
        let stdout = guard.0.stdout.take().context("QEMU has no output")?;
        let (sender, lines) = mpsc::sync_channel(256);
        // Ends with the pipe, which ends with QEMU.
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
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
        let mut console = Console::default();
        let mut fallback = loop {
            let left = limit.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break End::TimeOut;
            }
            match lines.recv_timeout(left.min(SILENCE)) {
                Ok(line) => {
                    writeln!(log, "{line}")?;
                    if console.line(&line) {
                        println!("{line}");
                    }
                    if matches!(console.end(), Some(End::Lockup)) {
                        break End::Lockup;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break End::PowerOff,
                Err(RecvTimeoutError::Timeout) if left <= SILENCE => break End::TimeOut,
                Err(RecvTimeoutError::Timeout) => break End::Silent,
            }
        };
        if let Some(end) = console.end() {
            fallback = end.clone();
        }
        drop(guard);
        Ok((
            Finished {
                end: fallback,
                console,
                took: begin.elapsed(),
            },
            self.results,
        ))
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

fn drive(file: &Path, more: &str) -> String {
    // A comma in a value is doubled.
    let file = file.display().to_string().replace(',', ",,");
    format!("file={file},format=raw,if=virtio,cache=unsafe{more}")
}

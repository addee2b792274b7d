//! The tests, one file a kind. Order matters only at the end: lockdown cannot be left again.

mod beside;
mod devices;
mod exact;
mod field;
mod fixtures;
mod lifecycle;
mod lockdown;
mod proof;
mod replay;
mod space;
mod startup;
mod suspend;
mod tools;
mod verdict;

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zvoltrace_tests::capture::{self, Capture};

use crate::harness::Test;
use crate::program;
use crate::zfs::Zvol;

/// Every test, in order of execution.
pub(crate) fn all() -> Vec<Test> {
    [
        exact::TESTS,
        devices::TESTS,
        verdict::TESTS,
        field::TESTS,
        lifecycle::TESTS,
        startup::TESTS,
        replay::TESTS,
        tools::TESTS,
        space::TESTS,
        fixtures::TESTS,
        proof::TESTS,
        beside::TESTS,
        suspend::TESTS,
        lockdown::TESTS,
    ]
    .concat()
}

/// Keeps udev from looking at disks while they are measured: when a writer closes one, the daemon
/// itself has the kernel read its partition table again, whatever its queue is told.
struct Quiet(Vec<Pid>);

impl Quiet {
    fn begin() -> Result<Self> {
        program::run("udevadm", &["settle"])?;
        let processes = fs::read_dir("/proc")?.flatten();
        let daemons = processes.filter_map(|entry| {
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            (name.trim() == "systemd-udevd").then(|| Pid::from_raw(pid))?
        });
        let quiet = Self(daemons.collect());
        ensure!(!quiet.0.is_empty(), "udev does not run");
        for pid in &quiet.0 {
            kill_process(*pid, Signal::STOP)?;
        }
        Ok(quiet)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        for pid in &self.0 {
            // A daemon that is gone needs no waking.
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

/// Keeps a disk open: the kernel reads its partition table when the first one opens it.
fn held_open(zvol: &Zvol) -> Result<File> {
    Ok(File::open(zvol.path())?)
}

/// The report of a capture of one zvol while `work` runs.
fn report(zvol: &Zvol, work: impl FnOnce(&Path) -> Result<()>) -> Result<Value> {
    report_with(zvol, &[], work)
}

/// The same with further flags.
fn report_with(
    zvol: &Zvol,
    flags: &[&str],
    work: impl FnOnce(&Path) -> Result<()>,
) -> Result<Value> {
    let _quiet = Quiet::begin()?;
    let _held = held_open(zvol)?;
    let all = ["--device", &zvol.disk, "--duration", "600"];
    let capture = Capture::start(&[&all, flags].concat());
    work(&zvol.path())?;
    Ok(capture.interrupt())
}

/// The zvol's part of [`report`].
fn device(zvol: &Zvol, work: impl FnOnce(&Path) -> Result<()>) -> Result<Value> {
    Ok(capture::device(&report(zvol, work)?, &zvol.disk).clone())
}

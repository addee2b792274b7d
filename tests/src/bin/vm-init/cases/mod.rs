//! The tests, one file a kind. Order matters only at the end: lockdown cannot be left again.

mod devices;
mod exact;
mod fixtures;
mod lifecycle;
mod lockdown;
mod proof;
mod startup;
mod suspend;
mod tools;
mod verdict;

use std::fs::File;
use std::path::Path;

use anyhow::Result;
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
        lifecycle::TESTS,
        startup::TESTS,
        tools::TESTS,
        fixtures::TESTS,
        proof::TESTS,
        suspend::TESTS,
        lockdown::TESTS,
    ]
    .concat()
}

/// Keeps udev from looking at disks while they are measured: it reads from each one that was
/// closed after writing.
struct Quiet;

impl Quiet {
    fn begin() -> Result<Self> {
        program::run("udevadm", &["settle"])?;
        program::run("udevadm", &["control", "--stop-exec-queue"])?;
        Ok(Self)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Err(error) = program::run("udevadm", &["control", "--start-exec-queue"]) {
            println!("  | {error:#}");
        }
    }
}

/// Keeps a disk open: the kernel reads its partition table when the first one opens it.
fn held_open(zvol: &Zvol) -> Result<File> {
    Ok(File::open(zvol.path())?)
}

/// The report of a capture of one zvol while `work` runs.
fn report(zvol: &Zvol, work: impl FnOnce(&Path) -> Result<()>) -> Result<Value> {
    let _quiet = Quiet::begin()?;
    let _held = held_open(zvol)?;
    let capture = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    work(&zvol.path())?;
    Ok(capture.interrupt())
}

/// The zvol's part of [`report`].
fn device(zvol: &Zvol, work: impl FnOnce(&Path) -> Result<()>) -> Result<Value> {
    Ok(capture::device(&report(zvol, work)?, &zvol.disk).clone())
}

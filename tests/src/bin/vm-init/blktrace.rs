//! blktrace taken beside a test: what the kernel's own block tracer saw, to compare with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use zvoltrace_tests::direct::DirectDevice;
use zvoltrace_tests::plan::{Io, Kind, Plan, Step};

use crate::harness::wait_until;
use crate::program;

/// A running blktrace that is known to record.
#[derive(Debug)]
pub(crate) struct Blktrace {
    child: Child,
    folder: PathBuf,
    disk: String,
}

/// A record of `blkparse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// `Q`, `C`, `D`...
    pub(crate) action: String,
    /// As blkparse prints it.
    pub(crate) rwbs: String,
    /// First sector of 512 B.
    pub(crate) sector: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// Offset of the reads by which a start is noticed; no test reads there.
const PROBE_OFFSET: u64 = 0;
const PROBE_BYTES: usize = 4096;

impl Blktrace {
    /// Starts it on a disk and returns when its records arrive.
    pub(crate) fn start(disk: &str, folder: &Path) -> Result<Self> {
        // Files of an earlier run would look like a start.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let node = Path::new("/dev").join(disk);
        let mut child = program::command("blktrace")
            // Small sub-buffers: the first records are on file after a few dozen I/Os.
            .args(["-b", "4", "-n", "256", "-d"])
            .arg(&node)
            .args(["-o", disk])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start blktrace")?;
        let mut probe = DirectDevice::open(&node, PROBE_BYTES)?;
        let recording = wait_until("records of blktrace", Duration::from_mins(1), || {
            let _ = probe.read(PROBE_OFFSET, PROBE_BYTES);
            written(folder) > 0
        });
        if let Err(error) = recording {
            let _ = child.kill();
            bail!("{error:#}");
        }
        Ok(Self {
            child,
            folder: folder.to_owned(),
            disk: disk.to_owned(),
        })
    }

    /// Ends it and returns its records but the probes.
    pub(crate) fn stop(mut self) -> Result<Vec<Record>> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("blktrace failed: {status}");
        }
        let text = program::command("blkparse")
            .args(["-q", "-i", &self.disk, "-f", "%a %d %S %N\\n"])
            .current_dir(&self.folder)
            .output()
            .context("cannot run blkparse")?;
        let text = String::from_utf8_lossy(&text.stdout);
        Ok(text
            .lines()
            .filter_map(parse)
            .filter(|record| !record.is_probe())
            .collect())
    }
}

impl Record {
    fn is_probe(&self) -> bool {
        self.rwbs.starts_with('R') && self.sector == PROBE_OFFSET
    }

    /// Whether it has `FUA`: an `F` behind the operation (`WFS`), not before it (`FWS`).
    fn is_fua(&self) -> bool {
        self.rwbs.trim_start_matches('F').contains('F')
    }

    /// What it is at the disk; `None` without data.
    fn io(&self) -> Option<Io> {
        let kind = match self.rwbs.trim_start_matches('F').chars().next()? {
            'R' => Kind::Read,
            'D' => Kind::Discard,
            'W' if self.is_fua() => Kind::WriteFua,
            'W' => Kind::Write,
            _ => return None,
        };
        (self.bytes > 0).then_some(Io {
            kind,
            offset: self.sector * 512,
            bytes: self.bytes,
        })
    }

    /// Whether it carries data to the disk. In blkparse's words a flush before comes first (`FW`),
    /// an empty one has no bytes.
    pub(crate) fn is_write(&self) -> bool {
        self.bytes > 0 && self.rwbs.trim_start_matches('F').starts_with('W')
    }
}

/// The part of a plan that blktrace can be asked about.
///
/// Kernel 7.2 writes no record at all of an I/O with `FUA` for a blktrace of protocol 7: its
/// files lack both Q and C of them, while the objset kstat counts them (measured on forky). Only
/// where not a single such record exists though the plan has some, the plan without them is what
/// blktrace must show, to the unit; the kstat is compared with the whole plan in any case.
pub(crate) fn visible(plan: &Plan, records: &[Record]) -> Plan {
    let is_durable = |step: &Step| matches!(step, Step::WriteDurable { .. });
    let mut visible = plan.clone();
    if plan.steps.iter().any(is_durable) && !shows_fua(records) {
        visible.steps.retain(|step| !is_durable(step));
        println!("  | blktrace shows no write with FUA on this kernel: compared without them");
    }
    visible
}

/// Whether any record has `FUA`.
pub(crate) fn shows_fua(records: &[Record]) -> bool {
    records.iter().any(Record::is_fua)
}

/// The I/Os with data that the records of an action are.
pub(crate) fn ios(records: &[Record], action: &str) -> Vec<Io> {
    let chosen = records.iter().filter(|record| record.action == action);
    chosen.filter_map(Record::io).collect()
}

/// Count and bytes of the records of an action that `wanted` chooses.
pub(crate) fn sum(
    records: &[Record],
    action: &str,
    wanted: impl Fn(&Record) -> bool,
) -> (u64, u64) {
    records
        .iter()
        .filter(|record| record.action == action && wanted(record))
        .fold((0, 0), |(count, bytes), record| {
            (count + 1, bytes + record.bytes)
        })
}

fn parse(line: &str) -> Option<Record> {
    let mut words = line.split_whitespace();
    Some(Record {
        action: words.next()?.to_owned(),
        rwbs: words.next()?.to_owned(),
        sector: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
    })
}

fn written(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

//! What the other tools show of the same I/O: a table made by the run.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::plan::Plan;

use super::Quiet;
use crate::blktrace::{self, Blktrace, Record};
use crate::harness::{Outcome, Test, wait_until};
use crate::program;
use crate::results;
use crate::zfs::{Mode, Zvol, blk_mq_missing};

pub(super) const TESTS: &[Test] = &[Test::new("other_tools_on_the_same_writes", table)];

const WRITES: usize = 200;
const BYTES: u64 = 64 << 20;

/// Tools by name without the suffix that Debian adds, and how their output is read.
const TOOLS: [(&str, Reading); 3] = [
    ("biolatency", Reading::Histogram),
    ("biosnoop", Reading::Lines),
    ("biopattern", Reading::Pattern),
];

/// How many I/Os a tool's output shows.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// `low -> high : count |****|`, summed.
    Histogram,
    /// One line an I/O, named by its disk.
    Lines,
    /// A line a disk: `TIME? DISK %RND %SEQ COUNT KBYTES`.
    Pattern,
}

impl Reading {
    fn count(self, text: &str, disk: &str) -> u64 {
        match self {
            Self::Histogram => text
                .lines()
                .filter(|line| line.contains("->"))
                .filter_map(|line| {
                    line.split_once(':')?
                        .1
                        .split_whitespace()
                        .next()?
                        .parse::<u64>()
                        .ok()
                })
                .sum(),
            Self::Lines => {
                let named = |line: &&str| line.split_whitespace().any(|word| word == disk);
                text.lines().filter(named).count() as u64
            }
            Self::Pattern => text
                .lines()
                .filter_map(|line| {
                    let words: Vec<_> = line.split_whitespace().collect();
                    let at = words.iter().position(|word| *word == disk)?;
                    words.get(at + 3)?.parse::<u64>().ok()
                })
                .sum(),
        }
    }
}

fn table() -> Result<Outcome> {
    let mut text = format!("I/Os seen of {WRITES} direct writes of 8K on a zvol\n");
    writeln!(text, "{:24} {:>10} {:>10}", "tool", "bio", "blk-mq")?;
    let modes: &[Mode] = if blk_mq_missing().is_some() {
        &[Mode::Bio]
    } else {
        &[Mode::Bio, Mode::BlkMq]
    };
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for mode in modes {
        let zvol = Zvol::create("tools", BYTES, "64K", *mode)?;
        let mut seen = vec![
            ("zvoltrace".to_owned(), ours(&zvol)?),
            ("blktrace Q, C".to_owned(), theirs(&zvol)?),
        ];
        for (name, reading) in TOOLS {
            seen.push(other(name, reading, &zvol)?);
        }
        for (index, (name, count)) in seen.into_iter().enumerate() {
            match rows.get_mut(index) {
                Some(row) => row.1.push(count),
                None => rows.push((name, vec![count])),
            }
        }
    }
    for (name, counts) in rows {
        let of = |index: usize| counts.get(index).map_or("-", String::as_str);
        writeln!(text, "{name:24} {:>10} {:>10}", of(0), of(1))?;
    }
    results::table("tools.txt", &text)?;
    Ok(Outcome::Ok)
}

fn plan() -> Plan {
    let mut plan = Plan::random_writes(9, WRITES + 1, 8192, BYTES);
    plan.steps
        .retain(|step| !matches!(step, zvoltrace_tests::plan::Step::Write { offset: 0, .. }));
    plan.steps.truncate(WRITES);
    plan
}

fn ours(zvol: &Zvol) -> Result<String> {
    let capture = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    plan().run(&zvol.path())?;
    let report = capture.interrupt();
    let count = capture::device(&report, &zvol.disk)["ops"]["write"]["count"].as_u64();
    Ok(count.map_or("?".to_owned(), |count| count.to_string()))
}

fn theirs(zvol: &Zvol) -> Result<String> {
    let _quiet = Quiet::begin()?;
    let trace = Blktrace::start(
        &zvol.disk,
        &Path::new("/tmp").join(format!("tools-{}", zvol.disk)),
    )?;
    plan().run(&zvol.path())?;
    let records = trace.stop()?;
    let of = |action| blktrace::sum(&records, action, Record::is_write).0;
    Ok(format!("{}, {}", of("Q"), of("C")))
}

/// Runs one of the eBPF tools beside the writes. When it is attached is seen in the kernel, since
/// not every one of them says so.
fn other(name: &str, reading: Reading, zvol: &Zvol) -> Result<(String, String)> {
    let Some(binary) = [format!("{name}-libbpf"), format!("{name}-bpfcc")]
        .into_iter()
        .find(|name| program::exists(name))
    else {
        return Ok((name.to_owned(), "no package".to_owned()));
    };
    let out = format!("/tmp/{name}-{}.txt", zvol.disk);
    let before = programs();
    let mut child = program::command(&binary)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(format!("{out}.err"))?)
        .spawn()
        .with_context(|| format!("cannot start {binary}"))?;
    let attached = wait_until("a tool to attach", Duration::from_mins(2), || {
        programs() > before || !matches!(child.try_wait(), Ok(None))
    });
    if attached.is_err() || !matches!(child.try_wait(), Ok(None)) {
        let _ = child.kill();
        let said = std::fs::read_to_string(format!("{out}.err")).unwrap_or_default();
        println!(
            "zvoltrace-vm: {binary}: {}",
            said.lines().last().unwrap_or("no reason given")
        );
        return Ok((binary, "fails".to_owned()));
    }
    // Loaded is not yet attached; a settled udev gives it the moment it needs.
    program::run("udevadm", &["settle"])?;
    std::thread::sleep(Duration::from_secs(2));
    plan().run(&zvol.path())?;
    end(&mut child)?;
    let text = std::fs::read_to_string(&out)?;
    Ok((binary, reading.count(&text, &zvol.disk).to_string()))
}

fn end(child: &mut Child) -> Result<()> {
    kill_process(Pid::from_child(child), Signal::INT)?;
    let ended = wait_until("a tool to end", Duration::from_mins(1), || {
        !matches!(child.try_wait(), Ok(None))
    });
    if ended.is_err() {
        child.kill()?;
    }
    Ok(())
}

/// eBPF programs loaded now, as the kernel numbers them in every process's descriptors.
fn programs() -> usize {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(|first: char| first.is_ascii_digit())
        })
        .flat_map(|entry| {
            std::fs::read_dir(entry.path().join("fd"))
                .into_iter()
                .flatten()
                .flatten()
        })
        .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
        .filter(|target| target.to_string_lossy().contains("bpf-prog"))
        .count()
}

//! What the other tools show of the same I/O: a table made by the run, with their versions.

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

/// How many I/Os a tool's output shows of one disk.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// `low -> high : count |****|` below `disk = NAME`, summed.
    Histogram,
    /// One line an I/O, named by its disk.
    Lines,
    /// A line a disk: `TIME? DISK %RND %SEQ COUNT KBYTES`.
    Pattern,
}

impl Reading {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Histogram => &["-D"],
            Self::Lines | Self::Pattern => &[],
        }
    }

    fn count(self, text: &str, disk: &str) -> u64 {
        match self {
            Self::Histogram => {
                let mut ours = false;
                let mut sum = 0;
                for line in text.lines() {
                    if let Some(name) = line.trim().strip_prefix("disk = ") {
                        // Python shows bytes as b'zd0'.
                        ours = name.trim_start_matches('b').trim_matches('\'') == disk;
                    } else if ours && line.contains("->") {
                        sum += number_after(line, ':');
                    }
                }
                sum
            }
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

fn number_after(line: &str, mark: char) -> u64 {
    let number = line
        .split_once(mark)
        .and_then(|(_, rest)| rest.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Version of a package in the image.
fn version(package: &str) -> Option<String> {
    let text = std::fs::read_to_string("/packages.txt").ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, version) = lines.find(|(name, _)| *name == package)?;
    Some(version.to_owned())
}

fn table() -> Result<Outcome> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let zfs = std::fs::read_to_string("/sys/module/zfs/version")?;
    let mut text = format!(
        "I/Os seen of {WRITES} direct writes of 8K on a zvol, kernel {}, ZFS {}\n",
        kernel.trim(),
        zfs.trim()
    );
    writeln!(text, "{:44} {:>10} {:>10}", "tool", "bio", "blk-mq")?;
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
            (
                format!(
                    "blktrace Q, C ({})",
                    version("blktrace").unwrap_or_default()
                ),
                theirs(&zvol)?,
            ),
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
        writeln!(text, "{name:44} {:>10} {:>10}", of(0), of(1))?;
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

/// Runs one of the eBPF tools beside the writes. Each prints a line when it is attached.
fn other(name: &str, reading: Reading, zvol: &Zvol) -> Result<(String, String)> {
    let Some((binary, package)) = [
        (format!("{name}-libbpf"), "libbpf-tools"),
        // Without a suffix in bookworm.
        (name.to_owned(), "libbpf-tools"),
        (format!("{name}-bpfcc"), "bpfcc-tools"),
    ]
    .into_iter()
    .find(|(binary, package)| program::exists(binary) && version(package).is_some()) else {
        return Ok((name.to_owned(), "no package".to_owned()));
    };
    let label = format!(
        "{name} ({package} {})",
        version(package).unwrap_or_default()
    );
    let out = format!("/tmp/{name}-{}.txt", zvol.disk);
    // Into a file they would keep that line to themselves.
    let mut child = program::command("stdbuf")
        .args(["-oL", &binary])
        .args(reading.arguments())
        .env("PYTHONUNBUFFERED", "1")
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(format!("{out}.err"))?)
        .spawn()
        .with_context(|| format!("cannot start {binary}"))?;
    let says = || std::fs::metadata(&out).is_ok_and(|metadata| metadata.len() > 0);
    let attached = wait_until("a tool to attach", Duration::from_mins(2), || {
        says() || !matches!(child.try_wait(), Ok(None))
    });
    if attached.is_err() || !matches!(child.try_wait(), Ok(None)) {
        let _ = child.kill();
        let said = std::fs::read_to_string(format!("{out}.err")).unwrap_or_default();
        println!(
            "zvoltrace-vm: {binary}: {}",
            said.lines().last().unwrap_or("no reason given")
        );
        return Ok((label, "fails".to_owned()));
    }
    plan().run(&zvol.path())?;
    end(&mut child)?;
    let text = std::fs::read_to_string(&out)?;
    Ok((label, reading.count(&text, &zvol.disk).to_string()))
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

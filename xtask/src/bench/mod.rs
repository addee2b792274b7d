//! `cargo xtask bench`: what the tracer costs, side by side with others on this machine.
//!
//! Prints a table, writes it as JSON, and says which targets are missed. Needs root, an idle
//! machine for numbers that mean something, and the other tracers' packages.

mod floor;
mod guard;
mod load;
mod measure;
mod simulate;
mod stats;
mod table;
mod tracer;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::load::Disk;
use self::measure::{Effort, lasting, side_by_side, start_ms};
use self::table::{Table, Target};
use self::tracer::Tracer;
use crate::tool::{self, Source, Tool};
use crate::{process, workspace};

/// Ring of a capture unless told otherwise.
const RING_BYTES: u64 = 16 << 20;
/// Bytes of a record in it.
const RECORD_BYTES: u64 = size_of::<tracer_common::IoRecord>() as u64;

const FULL: Effort = Effort {
    rounds: 15,
    seconds: 2,
    long_seconds: 60,
    devices: 1024,
};
const QUICK: Effort = Effort {
    rounds: 5,
    seconds: 1,
    long_seconds: 5,
    devices: 16,
};

const TOOLS: [Tool; 4] = [
    Tool {
        program: "fio",
        probe: &["--version"],
        purpose: "for the load",
        source: Source::Debian("fio"),
    },
    Tool {
        program: "bpftool",
        probe: &["version"],
        purpose: "to read the kernel's statistics",
        source: Source::Debian("bpftool"),
    },
    Tool {
        program: "biolatency",
        probe: &["--version"],
        purpose: "to compare with",
        source: Source::Debian("libbpf-tools"),
    },
    Tool {
        program: "bpftrace",
        probe: &["--version"],
        purpose: "to compare with",
        source: Source::Debian("bpftrace"),
    },
];

/// Options of the verb.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Options {
    /// A few short runs, for a first look.
    #[arg(long)]
    quick: bool,
    /// Only these parts.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Where to write the numbers.
    #[arg(long, default_value = "target/bench.json")]
    json: PathBuf,
    /// A binary to measure instead of the one that is built.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only compare counts of instructions with the kept baseline; no timing, needs no root.
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    guard: bool,
    /// Make the present counts of instructions the baseline.
    #[arg(long, requires = "guard")]
    bless: bool,
    /// Install what is missing (as root; the default when the variable CI is set).
    #[arg(long)]
    install: bool,
}

/// Parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Hooks,
    Filter,
    Throughput,
    Lasting,
    Growth,
    Start,
}

/// Measures a part into the table.
type Measure = fn(&mut Table, &Path, Effort) -> Result<()>;

/// Runs the verb.
pub(crate) fn run(options: &Options) -> Result<()> {
    let install = tool::may_install(options.install);
    if options.guard {
        return guard::run(options.bless, install);
    }
    if !rustix::process::geteuid().is_root() {
        bail!("bench loads eBPF programs and makes block devices: run it as root");
    }
    tool::require(&TOOLS, install)?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => built()?,
    };
    let effort = if options.quick { QUICK } else { FULL };
    let mut table = Table::new(machine()?);
    let wanted = |part| options.only.is_empty() || options.only.contains(&part);
    let parts: [(Part, Measure); 6] = [
        (Part::Hooks, hooks),
        (Part::Filter, filter),
        (Part::Throughput, throughput),
        (Part::Lasting, under_full_load),
        (Part::Growth, growth),
        (Part::Start, start),
    ];
    for (part, measure) in parts {
        if wanted(part) {
            measure(&mut table, &binary, effort)
                .with_context(|| format!("cannot measure {part:?}"))?;
        }
    }
    let path = workspace::root()?.join(&options.json);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, serde_json::to_string_pretty(&table)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("\nwritten to {}", path.display());
    let missed = table.missed();
    if missed.is_empty() {
        println!("every target is met");
    } else {
        println!("missed: {}", missed.join("; "));
    }
    Ok(())
}

fn built() -> Result<PathBuf> {
    let mut build = process::cargo();
    build.current_dir(workspace::root()?);
    process::run(build.args(["build", "--release", "--locked", "--bin", "zvoltrace"]))?;
    Ok(workspace::target_dir()?.join("release/zvoltrace"))
}

/// What the numbers depend on; printed first.
fn machine() -> Result<Vec<(&'static str, String)>> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or_else(String::new, |name| {
            name.trim_matches([' ', '\t', ':']).to_owned()
        });
    let version = |program: &str| {
        process::output(std::process::Command::new(program).arg("--version"))
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
    };
    let machine = vec![
        (
            "kernel",
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
        ("cpu", cpu),
        ("cpus", std::thread::available_parallelism()?.to_string()),
        ("load before", read("/proc/loadavg").trim().to_owned()),
        ("fio", version("fio")?),
        ("bpftrace", version("bpftrace")?),
        ("biolatency", version("biolatency")?),
    ];
    for (what, value) in &machine {
        println!("{what:<12} {value}");
    }
    println!();
    Ok(machine)
}

/// Kernel time of the hooks for an I/O that is traced.
fn hooks(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    let biolatency = {
        let disk = Disk::looped()?;
        let name = disk.name();
        let tracers = [
            Tracer::Empty(disk.tracepoints()),
            Tracer::Biolatency,
            zvoltrace(binary, &name),
        ];
        let effects = side_by_side(&disk, &tracers, true, effort)?;
        for (tracer, effect) in tracers.iter().zip(&effects) {
            let what = format!("hooks, loop, depth 16: {}", tracer.name());
            table.show(what, effect.kernel_ns, "ns/IO");
        }
        let ratio = effects[2].kernel_ns / effects[1].kernel_ns;
        table.judge("  zvoltrace / biolatency", ratio, "x", Target::AtMost(0.4));
        effects[1].kernel_ns
    };
    let disk = Disk::zram()?;
    let name = disk.name();
    let tracers = [
        Tracer::Empty(disk.tracepoints()),
        Tracer::Bpftrace,
        zvoltrace(binary, &name),
    ];
    let effects = side_by_side(&disk, &tracers, true, effort)?;
    for (tracer, effect) in tracers.iter().zip(&effects) {
        let what = format!("hooks, zram, depth 1: {}", tracer.name());
        table.show(what, effect.kernel_ns, "ns/IO");
    }
    table.show(
        "  zvoltrace / bpftrace",
        effects[2].kernel_ns / effects[1].kernel_ns,
        "x",
    );
    table.judge(
        "  zvoltrace on zram / biolatency on loop",
        effects[2].kernel_ns / biolatency,
        "x",
        Target::AtMost(0.4),
    );
    Ok(())
}

/// Kernel time for an I/O of a disk that is not traced, while another one is.
fn filter(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    let pairs = [
        (Disk::zram()?, Disk::zram()?, "zram"),
        (Disk::looped()?, Disk::looped()?, "loop"),
    ];
    for (busy, traced, kind) in pairs {
        let name = traced.name();
        let tracers = [Tracer::Empty(busy.tracepoints()), zvoltrace(binary, &name)];
        let effects = side_by_side(&busy, &tracers, true, effort)?;
        table.show(
            format!("{kind} that is not traced: empty programs"),
            effects[0].kernel_ns,
            "ns/IO",
        );
        table.show(
            format!("{kind} that is not traced: zvoltrace"),
            effects[1].kernel_ns,
            "ns/IO",
        );
        let ratio = effects[1].kernel_ns / effects[0].kernel_ns;
        table.judge(
            "  zvoltrace / empty programs",
            ratio,
            "x",
            Target::AtMost(1.3),
        );
    }
    Ok(())
}

/// What a load keeps of its speed, without statistics being kept.
fn throughput(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    let disk = Disk::zram()?;
    let name = disk.name();
    let tracers = [
        Tracer::Nothing,
        Tracer::Empty(disk.tracepoints()),
        zvoltrace(binary, &name),
    ];
    let effects = side_by_side(&disk, &tracers, false, effort)?;
    for (tracer, effect) in tracers.iter().zip(&effects) {
        let under = tracer.name();
        table.show(format!("throughput, zram: {under}"), effect.iops, "IOPS");
        table.show("  mean latency", effect.mean_ns, "ns");
        table.show("  p99 latency", effect.p99_ns, "ns");
    }
    table.show(
        "kept with empty programs, of nothing",
        effects[1].iops / effects[0].iops,
        "x",
    );
    table.judge(
        "kept with zvoltrace, of empty programs",
        effects[2].iops / effects[1].iops,
        "x",
        Target::AtLeast(0.93),
    );
    Ok(())
}

/// Losses and the process's own cost with both CPUs busy.
fn under_full_load(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    let disks = [Disk::zram()?, Disk::looped()?];
    let run = lasting(binary, &disks, effort.long_seconds, RING_BYTES, &[])?;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let [completed, lost, ring_records] =
        [run.completed, run.lost, RING_BYTES / RECORD_BYTES].map(|count| count as f64);
    table.show("full load, zram and loop", run.iops, "IOPS");
    table.show("  I/Os", completed, "");
    table.judge("  events lost", lost, "", Target::AtMost(0.0));
    table.show("  ring of 16 MiB, headroom", ring_records / run.iops, "s");
    table.judge(
        "  user time an event",
        run.user_ns,
        "ns",
        Target::AtMost(500.0),
    );
    table.judge(
        "  resident beyond the ring",
        mebibytes(run.resident_bytes),
        "MiB",
        Target::AtMost(64.0),
    );
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bench.arrows");
    let file = file.to_str().context("a folder that is not UTF-8")?;
    let run = lasting(
        binary,
        &disks,
        effort.long_seconds,
        RING_BYTES,
        &["--record", file],
    )?;
    table.judge(
        "  user time an event, recording too",
        run.user_ns,
        "ns",
        Target::AtMost(1000.0),
    );
    Ok(())
}

/// Cost by the number of active devices: loop devices as far as the machine has them, then
/// simulated events.
fn growth(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    for count in [1, 16, 128]
        .into_iter()
        .filter(|count| *count <= effort.devices)
    {
        let disks: Vec<Disk> = (0..count).map(|_| Disk::looped()).collect::<Result<_>>()?;
        let run = lasting(binary, &disks, effort.seconds.max(2), RING_BYTES, &[])?;
        table.show(
            format!("{count} loop devices: user time"),
            run.user_ns,
            "ns",
        );
        table.judge(
            "  resident beyond the ring",
            mebibytes(run.resident_bytes),
            "MiB",
            Target::AtMost(64.0),
        );
    }
    simulate::growth(table)
}

fn start(table: &mut Table, binary: &Path, effort: Effort) -> Result<()> {
    let ms = start_ms(binary, &Disk::zram()?, effort.rounds)?;
    table.judge("start to tracing", ms, "ms", Target::AtMost(300.0));
    Ok(())
}

fn zvoltrace<'a>(binary: &'a Path, disk: &'a str) -> Tracer<'a> {
    Tracer::Zvoltrace {
        binary,
        disk,
        more: &[],
    }
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

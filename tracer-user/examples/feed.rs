//! Feeds simulated events to the analysis: `feed DEVICES EVENTS SECONDS`, for `cargo xtask bench`.
//!
//! The events are spread evenly over the devices and the time, 8K writes and 16K reads at random
//! places of 64 GiB, in batches as a live capture hands them over: what came within 100 ms. Prints
//! one line of JSON: time an event, and the resident memory half way and at the end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tracer_user::{
    analysis::{Collector, Options},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, Host, Input, Mode, Start},
    report::model::SourceKind,
};

const NS_PER_S: u64 = 1_000_000_000;
/// `GATHER_FOR` and `GATHER` of `source/live.rs`.
const GATHERED_A_SECOND: u64 = 10;
const MOST_GATHERED: u64 = 16_384;

fn main() -> Result<()> {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|argument| {
            argument
                .parse()
                .context("DEVICES EVENTS SECONDS are numbers")
        })
        .collect::<Result<_>>()?;
    let [devices, events, seconds] = arguments[..] else {
        bail!("feed DEVICES EVENTS SECONDS");
    };
    let mut collector = Collector::new(Options::default(), SourceKind::Live);
    collector.feed(&start());
    for id in 0..devices {
        collector.feed(&Input::Appeared(device(u32::try_from(id)?)));
    }
    let apart_ns = (seconds * NS_PER_S) / events.max(1);
    let batch_events = (events / seconds.max(1) / GATHERED_A_SECOND).clamp(1, MOST_GATHERED);
    let mut spent = Duration::ZERO;
    let mut half_way_bytes = 0;
    for first in (0..events).step_by(usize::try_from(batch_events)?) {
        let batch = (first..events.min(first + batch_events))
            .map(|i| event(i, apart_ns, devices))
            .collect();
        let input = Input::Events(batch);
        let since = Instant::now();
        collector.feed(&input);
        spent += since.elapsed();
        if half_way_bytes == 0 && first >= events / 2 {
            half_way_bytes = resident_bytes()?;
        }
    }
    let end_bytes = resident_bytes()?;
    let ns = spent.as_nanos() / u128::from(events.max(1));
    println!("{{\"ns\":{ns},\"half_way_bytes\":{half_way_bytes},\"end_bytes\":{end_bytes}}}");
    Ok(())
}

fn start() -> Input {
    Input::Start(Start {
        host: Host::default(),
        args: Vec::new(),
        started_unix_ns: 0,
        started_ns: 0,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".into(),
        block_size_bytes: None,
    })
}

fn device(id: u32) -> Device {
    Device {
        id: DeviceId(id),
        name: format!("zd{}", id * 16),
        major: 230,
        minor: id * 16,
        mode: Mode::Bio,
        dataset: Some(format!("tank/vm-{id}-disk-0")),
        volblocksize_bytes: Some(16_384),
        size_bytes: 64 << 30,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }
}

fn event(i: u64, apart_ns: u64, devices: u64) -> Event {
    let draw = scramble(i);
    let end_ns = 1_000_000_000 + i * apart_ns;
    let write = draw % 10 < 8;
    let (op, bytes) = if write {
        (Op::Write, 8_192)
    } else {
        (Op::Read, 16_384)
    };
    Event {
        device: DeviceId(u32::try_from(i % devices.max(1)).unwrap_or(0)),
        op,
        flags: Flags::default(),
        start_ns: end_ns - 50_000 - draw % 300_000,
        issue_ns: None,
        end_ns,
        offset_bytes: (draw >> 20) % (1 << 22) * 16_384,
        bytes,
        errno: 0,
        cpu: 0,
        pid: 4242,
        tid: 4242,
        comm: Comm::new("qemu-kvm"),
    }
}

/// A number that looks random, the same on every run.
fn scramble(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

/// `VmRSS` of `/proc/self/status`, which counts in KiB.
fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib: u64 = kib.context("no VmRSS")?.trim().parse()?;
    Ok(kib * 1024)
}

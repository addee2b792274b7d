//! What the analysis costs for each event, with the default candidates.
//!
//! Each round feeds a second of I/O in batches as the ring delivers them, with a pool sample
//! at its end, so that transaction groups end and are counted within the measured time.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tracer_user::{
    analysis::{Collector, Options},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, Host, Input, Mode, PoolSample, Start, Txg},
    report::model::SourceKind,
};

const SECOND: u64 = 1_000_000_000;
const EVENTS: u64 = 100_000;
const BATCH: usize = 512;

fn device() -> Device {
    Device {
        id: DeviceId(0),
        name: "zd0".into(),
        major: 230,
        minor: 0,
        mode: Mode::Bio,
        dataset: Some("tank/vm-100-disk-0".into()),
        volblocksize_bytes: Some(131_072),
        size_bytes: 1 << 40,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }
}

fn start() -> Input {
    Input::Start(Start {
        host: Host {
            zfs_txg_timeout_s: Some(5),
            zfs_dirty_sync_bytes: Some((4 << 30) / 5),
            ..Host::default()
        },
        args: Vec::new(),
        started_unix_ns: 0,
        started_ns: 0,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".into(),
        block_size_bytes: None,
    })
}

fn event(second: u64, i: u64, op: Op, offset_bytes: u64, bytes: u32) -> Event {
    let end_ns = second * SECOND + i * (SECOND / EVENTS);
    Event {
        device: DeviceId(0),
        op,
        flags: Flags::default(),
        start_ns: end_ns.saturating_sub(50_000 + offset_bytes % 300_000),
        issue_ns: None,
        end_ns,
        offset_bytes,
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

type Shape = fn(u64, u64) -> Event;

fn random_8k(second: u64, i: u64) -> Event {
    let place = scramble(second * EVENTS + i) % ((1 << 40) / 8_192);
    event(second, i, Op::Write, place * 8_192, 8_192)
}

fn sequential_128k(second: u64, i: u64) -> Event {
    let offset = (second * EVENTS + i) % (1 << 22) * 131_072;
    event(second, i, Op::Write, offset, 131_072)
}

fn mixed(second: u64, i: u64) -> Event {
    let draw = scramble(second * EVENTS + i);
    let offset = (draw >> 20) % ((1 << 36) / 4_096) * 4_096;
    match draw % 10 {
        0..3 => event(second, i, Op::Read, offset, 16_384),
        3..8 => event(second, i, Op::Write, offset, 8_192),
        _ => event(second, i, Op::Write, offset, 4_096),
    }
}

/// One second of a capture: events, then the sample that tells the groups.
fn second_of(shape: Shape, second: u64) -> Vec<Input> {
    let events: Vec<Event> = (0..EVENTS).map(|i| shape(second, i)).collect();
    let mut inputs: Vec<Input> = events
        .chunks(BATCH)
        .map(|batch| Input::Events(batch.to_vec()))
        .collect();
    inputs.push(Input::Pools(vec![PoolSample {
        name: "tank".into(),
        at_ns: (second + 1) * SECOND,
        state: Some("ONLINE".into()),
        txgs: (0..=second / 5)
            .map(|group| Txg {
                txg: group + 1,
                birth_ns: (group * 5 * SECOND).max(1),
                state: 'O',
                ..Txg::default()
            })
            .collect(),
        objsets: Vec::new(),
        shape: None,
    }]));
    inputs
}

fn per_event(c: &mut Criterion) {
    let mut group = c.benchmark_group("feed");
    group.throughput(Throughput::Elements(EVENTS));
    group.sample_size(20);
    let shapes: [(&str, Shape); 3] = [
        ("random 8K writes over 1 TiB", random_8k),
        ("sequential 128K writes", sequential_128k),
        ("mixed, 30 % reads", mixed),
    ];
    for (name, shape) in shapes {
        let mut collector = Collector::new(Options::default(), SourceKind::Live);
        collector.feed(&start());
        collector.feed(&Input::Appeared(device()));
        let mut second = 0;
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || {
                    second += 1;
                    second_of(shape, second)
                },
                |inputs| {
                    for input in &inputs {
                        collector.feed(input);
                    }
                    inputs
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn a_report_of_a_thousand_devices(c: &mut Criterion) {
    let mut collector = Collector::new(Options::default(), SourceKind::Live);
    collector.feed(&start());
    for id in 0..1_000 {
        collector.feed(&Input::Appeared(Device {
            id: DeviceId(id),
            ..device()
        }));
        let events = (0..500)
            .map(|i| Event {
                device: DeviceId(id),
                ..mixed(1, i)
            })
            .collect();
        collector.feed(&Input::Events(events));
    }
    c.bench_function("report of 1,000 active devices", |bencher| {
        bencher.iter(|| black_box(collector.report()));
    });
}

criterion_group!(benches, per_event, a_report_of_a_thousand_devices);
criterion_main!(benches);

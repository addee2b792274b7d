//! What the observing thread of `top` costs with 1,000 busy zvols at 20,000 I/Os a second: a
//! second of it as the thread spends it, and each part apart.
//!
//! The share of a core that the thread takes, each window chosen, is printed first; what the
//! ring's thread and the screen take comes on top.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tracer_user::{
    analysis::Options,
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, DeviceSample, Host, Input, Mode, Sample, Start},
    report::model::SourceKind,
    tui::{
        observe::{Observer, judge_again_after},
        snapshot::{Wanted, Window},
    },
};

const SECOND: u64 = 1_000_000_000;
const DEVICES: u32 = 1_000;
const EVENTS: u64 = 20_000;
/// Looks into the ring a second.
const DRAINS: u64 = 100;
/// Seconds watched before anything is measured: a window of a minute is full then.
const BEFORE: u64 = 70;

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

/// A number that looks random, the same on every run.
fn scramble(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

fn event(second: u64, i: u64) -> Event {
    let draw = scramble(second * EVENTS + i);
    let end_ns = second * SECOND + i * (SECOND / EVENTS) + SECOND / EVENTS;
    let (op, bytes) = match draw % 20 {
        0..6 => (Op::Read, 16_384),
        6..15 => (Op::Write, 8_192),
        15..19 => (Op::Write, 4_096),
        _ => (Op::Flush, 0),
    };
    Event {
        device: DeviceId(u32::try_from(i % u64::from(DEVICES)).unwrap_or(0)),
        op,
        flags: Flags::default(),
        start_ns: end_ns.saturating_sub(50_000 + (draw >> 8) % 900_000),
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

/// What the draining thread hands over in a second.
fn second_of(second: u64) -> Vec<Input> {
    let events: Vec<Event> = (0..EVENTS).map(|i| event(second, i)).collect();
    let batch = usize::try_from(EVENTS / DRAINS).unwrap_or(1);
    let batches = events.chunks(batch).map(<[Event]>::to_vec);
    let devices = (0..DEVICES).map(|id| DeviceSample {
        device: DeviceId(id),
        counters: tracer_common::DiskCounters::default(),
        outstanding: 2,
        oldest_ns: 300_000,
    });
    let sample = Input::Sample(Sample {
        at_ns: (second + 1) * SECOND,
        devices: devices.collect(),
        ..Sample::default()
    });
    batches.map(Input::Events).chain([sample]).collect()
}

fn watch(observer: &mut Observer, inputs: &[Input]) {
    for input in inputs {
        observer.feed(input);
    }
}

fn wanted(window: Window) -> Wanted {
    Wanted {
        window,
        ..Wanted::default()
    }
}

/// An observer that has watched for a while, and the second that comes next.
fn busy() -> (Observer, u64) {
    let mut observer = Observer::new(Options::default(), SourceKind::Live, "zd*".into());
    observer.feed(&start());
    for id in 0..DEVICES {
        observer.feed(&Input::Appeared(device(id)));
    }
    for second in 0..BEFORE {
        watch(&mut observer, &second_of(second));
    }
    observer.judge();
    (observer, BEFORE)
}

/// Seconds watched for a share.
const WATCHED: u32 = 20;

/// Share of a core: the inputs of a second and two snapshots, and judgements as often as the
/// thread makes them.
fn print_the_share(observer: &mut Observer, mut next: impl FnMut() -> Vec<Input>) {
    let since = Instant::now();
    observer.judge();
    let judgement = since.elapsed();
    let judging = judgement.as_secs_f64() / judge_again_after(judgement).as_secs_f64();
    for (name, window) in WINDOWS {
        let mut spent = Duration::ZERO;
        for _ in 0..WATCHED {
            let inputs = next();
            let since = Instant::now();
            watch(observer, &inputs);
            for _ in 0..2 {
                black_box(observer.snapshot(&wanted(window)));
            }
            spent += since.elapsed();
        }
        let share = spent.as_secs_f64() / f64::from(WATCHED) + judging;
        println!(
            "observing thread, window {name}: {:.1} % of a core",
            share * 100.0
        );
    }
}

const WINDOWS: [(&str, Window); 4] = [
    ("1 s", Window::Second),
    ("10 s", Window::TenSeconds),
    ("60 s", Window::Minute),
    ("since the start", Window::SinceStart),
];

fn the_observing_thread(c: &mut Criterion) {
    let mut group = c.benchmark_group("top, 1,000 zvols, 20,000 I/Os a second");
    group.sample_size(10);
    let (mut observer, mut second) = busy();
    let mut next = || {
        second += 1;
        second_of(second - 1)
    };
    print_the_share(&mut observer, &mut next);
    group.bench_function("a second's inputs", |bencher| {
        bencher.iter_batched(
            &mut next,
            |inputs| {
                watch(&mut observer, &inputs);
                inputs
            },
            BatchSize::PerIteration,
        );
    });
    for (name, window) in WINDOWS {
        group.bench_function(format!("first snapshot of a second, {name}"), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    watch(&mut observer, &next());
                    let since = Instant::now();
                    black_box(observer.snapshot(&wanted(window)));
                    spent += since.elapsed();
                }
                spent
            });
        });
    }
    group.bench_function("a judgement", |bencher| bencher.iter(|| observer.judge()));
    group.finish();
}

criterion_group!(benches, the_observing_thread);
criterion_main!(benches);

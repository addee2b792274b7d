//! What a recording costs: to write, to read, and to read and analyse whole, on one core, with
//! the bytes an event takes in the file.
//!
//! The I/O is that of four guests of unequal load in bursts: 4K, 8K and larger, a third of it
//! sequential, a third of it reads, the rest uniformly random over 32 GiB each, completed on any
//! of 16 CPUs. The size is stated for one such guest too.

#![allow(
    clippy::cast_possible_truncation,
    reason = "small numbers of a synthetic load"
)]

use std::{fs, hint::black_box, path::Path, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracer_common::{flag, op};
use tracer_user::{
    analysis::{Collector, Options as Analysis},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, End, Host, Input, Mode, Start},
    recording::{Options, Recorder},
    source::{blktrace, open::open},
};

const EVENTS: u64 = 1_000_000;
const GUESTS: u32 = 4;
/// Events handed over at once.
const LIST: usize = 512;

/// A generator that gives the same numbers on every run (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // The low bits of such a generator repeat soon.
        (self.0 >> 33) ^ (self.0 << 31 >> 33)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// About exponential with this mean.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a synthetic duration"
    )]
    fn exponential(&mut self, mean: f64) -> u64 {
        let uniform = (self.below(1 << 30) + 1) as f64 / (1_u64 << 30) as f64;
        (-uniform.ln() * mean) as u64
    }
}

fn events(guests: u32) -> Vec<Event> {
    let mut random = Random(1);
    let mut now_ns = 5_000_000_000_000;
    let mut next_bytes = [0_u64; GUESTS as usize];
    let (mut guest, mut is_read, mut sequential) = (0, false, false);
    let mut events = Vec::new();
    for _ in 0..EVENTS {
        now_ns += match random.below(10) {
            0..6 => random.exponential(4_000.0),
            _ => random.exponential(115_000.0),
        };
        if random.below(10) >= 6 {
            // Guest n + 1 has half the load of guest n.
            guest = (random.next().trailing_ones() % guests) as usize;
            is_read = random.below(3) == 0;
            sequential = random.below(3) == 0;
        }
        let bytes =
            [4096, 4096, 4096, 8192, 8192, 16_384, 65_536, 131_072][random.below(8) as usize];
        if !sequential {
            next_bytes[guest] = random.below(32 << 18) * 4096;
        }
        let flags = if is_read {
            0
        } else {
            op::WRITE | flag::SYNC | flag::IDLE
        };
        events.push(Event {
            device: DeviceId(guest as u32),
            op: Op::from_opf(flags, bytes),
            flags: Flags::from_opf(flags),
            start_ns: now_ns,
            issue_ns: None,
            end_ns: now_ns + 20_000 + random.exponential(180_000.0),
            offset_bytes: next_bytes[guest],
            bytes,
            errno: 0,
            cpu: random.below(16) as u16,
            pid: 2000 + 137 * guest as u32,
            tid: 2001 + 137 * guest as u32,
            comm: Comm::new("kvm"),
        });
        next_bytes[guest] += u64::from(bytes);
    }
    events.sort_by_key(|event| event.end_ns);
    events
}

fn inputs(guests: u32) -> Vec<Input> {
    let events = events(guests);
    let mut inputs = vec![Input::Start(Start {
        host: Host::default(),
        args: Vec::new(),
        started_unix_ns: 0,
        started_ns: 5_000_000_000_000,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".to_owned(),
        block_size_bytes: None,
    })];
    inputs.extend((0..guests).map(|id| {
        Input::Appeared(Device {
            id: DeviceId(id),
            name: format!("zd{}", id * 16),
            major: 230,
            minor: id * 16,
            mode: Mode::Bio,
            dataset: Some(format!("tank/vm-10{id}-disk-0")),
            volblocksize_bytes: Some(16_384),
            size_bytes: 32 << 30,
            partitions: Vec::new(),
            stacked_on: Vec::new(),
            appeared_ns: None,
        })
    }));
    let at_ns = events.last().map_or(0, |event| event.end_ns);
    inputs.extend(events.chunks(LIST).map(|list| Input::Events(list.to_vec())));
    inputs.push(Input::End(End {
        at_ns,
        incomplete_reasons: Vec::new(),
        overhead: None,
    }));
    inputs
}

fn record(path: &Path, inputs: &[Input]) {
    let options = Options {
        queue_events: usize::MAX,
        ..Options::default()
    };
    let recorder = Recorder::spawn(path, &options).expect("a file");
    for input in inputs {
        recorder.offer(input.clone());
    }
    let summary = recorder.finish();
    assert!(summary.error.is_none() && summary.dropped_events == 0);
}

fn replay(path: &Path, mut each: impl FnMut(&Input)) {
    let files = [path.to_owned()];
    let mut source = open(&files, blktrace::Options::default()).expect("a recording");
    while let Some(input) = source.next().expect("a whole recording") {
        each(&input);
    }
}

fn recording(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("rec.arrow");
    for guests in [1, GUESTS] {
        record(&path, &inputs(guests));
        let bytes = fs::metadata(&path).expect("a file").len();
        let hundredths = bytes * 100 / EVENTS;
        println!(
            "recording, {guests} guests: {}.{:02} bytes an event",
            hundredths / 100,
            hundredths % 100
        );
    }
    let inputs = inputs(GUESTS);

    let mut group = c.benchmark_group("recording");
    group
        .throughput(Throughput::Elements(EVENTS))
        .sample_size(10);
    group.measurement_time(Duration::from_secs(10));
    let again = dir.path().join("again.arrow");
    group.bench_function("write", |b| {
        b.iter(|| {
            record(&again, &inputs);
        });
    });
    group.bench_function("read", |b| {
        b.iter(|| {
            replay(&path, |input| {
                black_box(input);
            });
        });
    });
    group.bench_function("read and analyse", |b| {
        b.iter(|| {
            let source = tracer_user::report::model::SourceKind::Recording;
            let mut collector = Collector::new(Analysis::default(), source);
            replay(&path, |input| collector.feed(input));
            black_box(collector.report())
        });
    });
    group.finish();
}

criterion_group!(benches, recording);
criterion_main!(benches);

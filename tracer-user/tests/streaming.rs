//! Memory of a replay: it does not grow with the recording. A process of its own, since it looks
//! at the peak of the whole process.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{fs, path::Path};

use tracer_user::{
    analysis::{self, Collector},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, End, Host, Input, Mode, Start},
    recording::{Options, Recorder},
    source::{blktrace, open::open},
};

/// Events of one input.
const LIST: usize = 500;
const SHORT: u64 = 60_000;
const LONG: u64 = 10 * SHORT;

/// Random writes of 8K, 20 µs apart.
fn event(n: u64) -> Event {
    let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    Event {
        device: DeviceId(0),
        op: Op::Write,
        flags: Flags::from_opf(tracer_common::op::WRITE),
        start_ns: n * 20_000,
        issue_ns: None,
        end_ns: n * 20_000 + 100_000 + place,
        offset_bytes: place * 8192,
        bytes: 8192,
        errno: 0,
        cpu: 0,
        pid: 42,
        tid: 42,
        comm: Comm::new("kvm"),
    }
}

fn record(path: &Path, count: u64) {
    let options = Options {
        queue_events: usize::MAX,
        ..Options::default()
    };
    let recorder = Recorder::spawn(path, &options).unwrap();
    recorder.offer(Input::Start(Start {
        host: Host::default(),
        args: Vec::new(),
        started_unix_ns: 0,
        started_ns: 0,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".to_owned(),
        block_size_bytes: None,
    }));
    recorder.offer(Input::Appeared(Device {
        id: DeviceId(0),
        name: "zd0".to_owned(),
        major: 230,
        minor: 0,
        mode: Mode::Bio,
        dataset: None,
        volblocksize_bytes: Some(16_384),
        size_bytes: 1 << 40,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }));
    for first in (0..count).step_by(LIST) {
        let list = (first..count).take(LIST).map(event);
        recorder.offer(Input::Events(list.collect()));
    }
    recorder.offer(Input::End(End {
        at_ns: count * 20_000,
        incomplete_reasons: Vec::new(),
        overhead: None,
    }));
    let summary = recorder.finish();
    assert!(summary.error.is_none() && summary.written.events == count);
}

/// I/Os in the report of a recording.
fn replay(path: &Path) -> u64 {
    let mut source = open(&[path.to_owned()], blktrace::Options::default()).unwrap();
    let mut collector = Collector::new(analysis::Options::default(), source.kind());
    while let Some(input) = source.next().unwrap() {
        collector.feed(&input);
    }
    collector.report().devices[0].ops.write.sizes[0].count
}

/// Most memory that the process had while it did `work`, KiB.
fn peak_kib<T>(work: impl FnOnce() -> T) -> (u64, T) {
    // Resets the peak (proc_pid_clear_refs(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let done = work();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB").parse();
    (kib.unwrap(), done)
}

#[test]
fn a_long_recording_takes_no_more_memory_than_a_short_one() {
    let folder = tempfile::tempdir().unwrap();
    let [short, long] = ["short", "long"].map(|name| folder.path().join(name));
    record(&short, SHORT);
    record(&long, LONG);
    // Once before, so that what the allocator keeps is there already.
    replay(&short);
    let (of_short, count) = peak_kib(|| replay(&short));
    assert_eq!(count, SHORT);
    let (of_long, count) = peak_kib(|| replay(&long));
    assert_eq!(count, LONG);
    // Kept in memory, the events more would be 45 MiB; the tables of the analysis fill up to their
    // bounds.
    assert!(
        of_long < of_short + (24 << 10),
        "{of_short} KiB, {of_long} KiB"
    );
}

//! Inputs for the tests of the analysis.

use tracer_common::{DiskCounters, flag, op};

use crate::{
    analysis::{Collector, Options},
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, DeviceSample, End, Host, Input, Mode, Sample, Start},
    report::model::{Report, SourceKind},
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Start of the tests' captures on their clock.
pub(crate) const STARTED_NS: u64 = 1_000 * SECOND;

pub(crate) fn start(requested_s: u64) -> Input {
    Input::Start(Start {
        host: Host {
            hostname: "pve1".into(),
            kernel: "6.8.12-9-pve".into(),
            zfs_version: Some("2.2.7-pve2".into()),
            zfs_txg_timeout_s: Some(5),
            zfs_dirty_sync_bytes: None,
            defects_patched: true,
        },
        args: vec!["capture".into()],
        started_unix_ns: 1_700_000_000 * 1_000_000_000,
        started_ns: STARTED_NS,
        requested_ns: Some(requested_s * SECOND),
        clock: "CLOCK_MONOTONIC".into(),
        block_size_bytes: None,
    })
}

pub(crate) fn end(after_s: u64) -> Input {
    Input::End(End {
        at_ns: STARTED_NS + after_s * SECOND,
        incomplete_reasons: Vec::new(),
        overhead: None,
    })
}

/// A zvol in bio mode, `zd0` for 0, `zd16` for 1...
pub(crate) fn zvol(id: u32, volblocksize_bytes: u64) -> Device {
    Device {
        id: DeviceId(id),
        name: format!("zd{}", id * 16),
        major: 230,
        minor: id * 16,
        mode: Mode::Bio,
        dataset: Some(format!("tank/vm-{}-disk-0", 100 + id)),
        volblocksize_bytes: Some(volblocksize_bytes),
        size_bytes: 32 << 30,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }
}

/// A direct write that takes 100 us and completes `at` ns after the start of the capture.
pub(crate) fn write(at: u64, offset_bytes: u64, bytes: u32) -> Event {
    Event {
        device: DeviceId(0),
        op: Op::Write,
        flags: Flags::from_opf(op::WRITE | flag::SYNC | flag::IDLE),
        start_ns: STARTED_NS + at - 100_000.min(at),
        issue_ns: None,
        end_ns: STARTED_NS + at,
        offset_bytes,
        bytes,
        errno: 0,
        cpu: 0,
        pid: 4242,
        tid: 4242,
        comm: Comm::new("qemu-kvm"),
    }
}

pub(crate) fn read(at: u64, offset_bytes: u64, bytes: u32) -> Event {
    Event {
        op: Op::Read,
        flags: Flags::from_opf(op::READ),
        ..write(at, offset_bytes, bytes)
    }
}

/// A sample in which the kernel counted exactly these events.
pub(crate) fn counted(id: u32, events: &[Event]) -> DeviceSample {
    let mut counters = DiskCounters::default();
    for event in events {
        let class = event.op.class() as usize;
        counters.count[class] += 1;
        counters.bytes[class] += u64::from(event.bytes);
        counters.submitted += 1;
    }
    DeviceSample {
        device: DeviceId(id),
        counters,
        outstanding: 0,
        oldest_ns: 0,
    }
}

pub(crate) fn sample(at_s: u64, devices: Vec<DeviceSample>) -> Input {
    Input::Sample(Sample {
        at_ns: STARTED_NS + at_s * SECOND,
        devices,
        ..Sample::default()
    })
}

/// A collector that was fed these inputs.
pub(crate) fn collector(source: SourceKind, inputs: &[Input]) -> Collector {
    let mut collector = Collector::new(Options::default(), source);
    for input in inputs {
        collector.feed(input);
    }
    collector
}

/// The report of a complete live capture of 60 s: one zvol, these events, all counted.
pub(crate) fn report_of(device: Device, events: Vec<Event>) -> Report {
    let id = device.id.0;
    let last = counted(id, &events);
    let inputs = [
        start(60),
        Input::Appeared(device),
        Input::Events(events),
        sample(60, vec![last]),
        end(60),
    ];
    collector(SourceKind::Live, &inputs).report()
}

/// A seeded generator (xorshift64*): the same numbers on every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }
}

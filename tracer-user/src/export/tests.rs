//! Round trips, and the tools that must accept what is written.

mod blktrace;
mod fio;
mod parquet;

use std::{path::Path, process::Command};

use super::*;
use crate::{
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, End, Host, Input, Mode, Start},
    report::model::SourceKind,
    source::Source,
};
use tracer_common::flag;

/// A source of given inputs.
pub(super) struct Given(std::vec::IntoIter<Input>);

impl Source for Given {
    fn kind(&self) -> SourceKind {
        SourceKind::Recording
    }

    fn next(&mut self) -> anyhow::Result<Option<Input>> {
        Ok(self.0.next())
    }
}

pub(super) fn device(id: u32, mode: Mode) -> Device {
    Device {
        id: DeviceId(id),
        name: format!("zd{}", id * 16),
        major: 230,
        minor: id * 16,
        mode,
        dataset: Some(format!("tank/vm-{id}-disk-0")),
        volblocksize_bytes: Some(16_384),
        size_bytes: 1 << 30,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }
}

pub(super) const STARTED_NS: u64 = 5_000_000_000;

pub(super) fn capture(devices: Vec<Device>, events: Vec<Event>) -> Given {
    let start = Start {
        host: Host {
            hostname: "pve1".into(),
            kernel: "6.8.12-9-pve".into(),
            ..Host::default()
        },
        args: Vec::new(),
        started_unix_ns: 1_700_000_000_000_000_000,
        started_ns: STARTED_NS,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".into(),
        block_size_bytes: None,
    };
    let end = End {
        at_ns: STARTED_NS,
        incomplete_reasons: Vec::new(),
        overhead: None,
    };
    let mut inputs = vec![Input::Start(start)];
    inputs.extend(devices.into_iter().map(Input::Appeared));
    inputs.extend([Input::Events(events), Input::End(end)]);
    Given(inputs.into_iter())
}

/// An event of device 0 that begins `after_us` after the capture did.
pub(super) fn event(op: Op, flags: u32, after_us: u64, offset_bytes: u64, bytes: u32) -> Event {
    let start_ns = STARTED_NS + after_us * 1000;
    Event {
        device: DeviceId(0),
        op,
        flags: Flags::from_opf(flags),
        start_ns,
        issue_ns: None,
        end_ns: start_ns + 40_000,
        offset_bytes,
        bytes,
        errno: 0,
        cpu: 0,
        pid: 77,
        tid: 77,
        comm: Comm::new("qemu-kvm"),
    }
}

/// A mix of everything fio can replay: reads, writes, flushes, writes with a preflush.
pub(super) fn mixed(ios: u64) -> Vec<Event> {
    let kinds = |n: u64, at: u64| match n % 8 {
        0 | 1 => event(Op::Read, 0, at, n % 500 * 4096, 4096),
        2 => event(Op::Flush, flag::PREFLUSH | flag::SYNC, at, 0, 0),
        3 => event(
            Op::Write,
            flag::PREFLUSH | flag::SYNC,
            at,
            n % 300 * 8192,
            8192,
        ),
        4 => event(
            Op::Write,
            flag::FUA | flag::SYNC,
            at,
            n % 300 * 8192,
            16_384,
        ),
        _ => event(Op::Write, flag::SYNC, at, n % 900 * 8192, 8192),
    };
    (0..ios).map(|n| kinds(n, n * 10)).collect()
}

/// Runs a tool; `None`, said aloud, when it is not installed, unless the run must be complete.
pub(super) fn run(tool: &str, args: &[&str], folder: &Path) -> Option<std::process::Output> {
    match Command::new(tool).args(args).current_dir(folder).output() {
        Ok(output) => Some(output),
        Err(error) if std::env::var_os("ZVOLTRACE_REQUIRE_LIVE").is_some_and(|on| on == "1") => {
            panic!("{tool} is needed by this test: {error}")
        }
        Err(error) => {
            eprintln!("skipped: {tool} cannot run here: {error}");
            None
        }
    }
}

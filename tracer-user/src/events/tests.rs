//! Lines and filters.

use tracer_common::flag;

use super::{
    Filter, Format, Printer,
    filter::{self, FlagCondition},
};
use crate::{
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{Device, Host, Input, Mode, Start},
};

fn event(op: Op, flags: u32, bytes: u32) -> Event {
    Event {
        device: DeviceId(0),
        op,
        flags: Flags::from_opf(flags),
        start_ns: 1_000_000_000,
        issue_ns: None,
        end_ns: 1_000_412_301,
        offset_bytes: 12_345_678 * 512,
        bytes,
        errno: 0,
        cpu: 1,
        pid: 1234,
        tid: 1235,
        comm: Comm::new("qemu-kvm"),
    }
}

fn inputs(events: Vec<Event>) -> Vec<Input> {
    let start = Start {
        host: Host::default(),
        args: Vec::new(),
        started_unix_ns: 0,
        started_ns: 1_000_000_000,
        requested_ns: None,
        clock: "CLOCK_MONOTONIC".to_owned(),
        block_size_bytes: None,
    };
    let device = Device {
        id: DeviceId(0),
        name: "zd16".to_owned(),
        major: 230,
        minor: 16,
        mode: Mode::Bio,
        dataset: Some("rpool/data/vm-100-disk-0".to_owned()),
        volblocksize_bytes: Some(16_384),
        size_bytes: 1 << 35,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    };
    vec![
        Input::Start(start),
        Input::Appeared(device),
        Input::Events(events),
    ]
}

fn lines(format: Format, filter: Filter, events: Vec<Event>) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, format, filter);
    for input in inputs(events) {
        printer.feed(&input).unwrap();
    }
    String::from_utf8(out).unwrap()
}

fn some_events() -> Vec<Event> {
    let mut failed = event(Op::Write, flag::SYNC | flag::IDLE | flag::FUA, 8192);
    failed.errno = 5;
    let mut backwards = event(Op::Discard, 0, 1 << 31);
    backwards.end_ns = 999_999_999;
    let mut queued = event(Op::Write, flag::PREFLUSH | flag::FUA | flag::META, 512);
    queued.issue_ns = Some(1_000_100_000);
    queued.comm = Comm::new("a\nb");
    vec![
        event(Op::Write, flag::SYNC, 8192),
        event(Op::Read, flag::RAHEAD, 4096),
        event(Op::Flush, flag::PREFLUSH | flag::SYNC, 0),
        event(Op::Flush, 0, 0),
        failed,
        backwards,
        queued,
    ]
}

#[test]
fn text_is_a_completion_of_blkparse_with_latency_and_command() {
    insta::assert_snapshot!(lines(Format::Text, Filter::default(), some_events()));
}

#[test]
fn json_lines_have_their_documented_keys() {
    insta::assert_snapshot!(lines(Format::JsonLines, Filter::default(), some_events()));
}

#[test]
fn each_condition_keeps_what_meets_it() {
    let count = |filter: Filter| lines(Format::Text, filter, some_events()).lines().count();
    let all = Filter::default;
    let with_flags = |text| Filter {
        flags: filter::flags(text).unwrap(),
        ..all()
    };
    assert_eq!(count(all()), 7);
    assert_eq!(
        count(Filter {
            ops: vec![Op::Flush, Op::Read],
            ..all()
        }),
        3
    );
    assert_eq!(count(with_flags("fua")), 2);
    assert_eq!(count(with_flags("fua,!preflush")), 1);
    assert_eq!(
        count(Filter {
            min_bytes: Some(8192),
            ..all()
        }),
        3
    );
    assert_eq!(
        count(Filter {
            min_latency_ns: Some(412_301),
            ..all()
        }),
        6
    );
    assert_eq!(
        count(Filter {
            min_latency_ns: Some(412_302),
            ..all()
        }),
        0
    );
    assert_eq!(
        count(Filter {
            pids: vec![7, 1234],
            ..all()
        }),
        7
    );
    assert_eq!(
        count(Filter {
            pids: vec![1235],
            ..all()
        }),
        0
    );
    let named = |text| Filter {
        comms: vec![filter::comm(text).unwrap()],
        ..all()
    };
    assert_eq!(count(named("qemu*")), 6);
    assert_eq!(count(named("qemu")), 0);
    let at = 12_345_678 * 512;
    let within = |from, to| Filter {
        offsets: Some(from..to),
        ..all()
    };
    assert_eq!(count(within(at, at + 1)), 7);
    assert_eq!(count(within(0, at)), 0);
    assert_eq!(count(within(at + 8191, at + 8192)), 3);
}

#[test]
fn values_are_read_or_say_what_is_right() {
    assert_eq!(filter::op("trim"), Ok(Op::Discard));
    assert!(filter::op("writes").unwrap_err().contains("write-zeroes"));
    let condition = FlagCondition {
        set: flag::FUA | flag::SYNC,
        clear: flag::META,
    };
    assert_eq!(filter::flags("fua,sync,!meta"), Ok(condition));
    assert!(
        filter::flags("FUA")
            .unwrap_err()
            .contains("no flag `FUA`: there are sync, meta")
    );
    assert!(filter::flags("fua,!fua").unwrap_err().contains("cannot be"));
    assert_eq!(filter::offset_range("4K-1M"), Ok(4096..1 << 20));
    assert_eq!(filter::offset_range("10G-"), Ok(10 << 30..u64::MAX));
    assert!(
        filter::offset_range("1M-1M")
            .unwrap_err()
            .contains("empty range")
    );
    assert!(filter::offset_range("all").unwrap_err().contains("FROM-TO"));
    assert!(filter::comm("a[").is_err());
}

#[test]
fn a_reader_that_goes_away_is_a_broken_pipe() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut printer = Printer::new(Closed, Format::Text, Filter::default());
    let inputs = inputs(some_events());
    let result = inputs.iter().try_for_each(|input| printer.feed(input));
    assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn every_key_of_a_line_is_documented() {
    let document = include_str!("../../../docs/events.md");
    let printed = lines(
        Format::JsonLines,
        Filter::default(),
        vec![event(Op::Read, 0, 512)],
    );
    let line: serde_json::Map<_, _> = serde_json::from_str(&printed).unwrap();
    assert!(!line.is_empty());
    for key in line.keys() {
        assert!(document.contains(&format!("`{key}`")), "{key}");
    }
}

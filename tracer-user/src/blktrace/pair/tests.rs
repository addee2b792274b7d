//! Traces are written as blkparse lines: what a kernel records for a situation, one line each.

use std::fmt::Write;

use super::*;
use crate::{
    blktrace::Records,
    event::{Flags, Op},
};
use tracer_common::flag;

struct Paired {
    arrivals: Vec<Arrival>,
    events: Vec<Event>,
    counts: Counts,
}

impl Paired {
    fn only(&self) -> &Event {
        assert_eq!(self.events.len(), 1, "{:#?}", self.events);
        &self.events[0]
    }

    fn unpaired(&self) -> (u64, u64) {
        let of = |counts: &DeviceCounts| {
            (
                counts.counters.without_start,
                counts.counters.overwritten + counts.outstanding,
            )
        };
        let each = self.counts.devices.iter().map(of);
        each.fold((0, 0), |(starts, ends), (start, end)| {
            (starts + start, ends + end)
        })
    }
}

/// Expands `MICROSECONDS PID ACTION RWBS REST` to a line of blkparse for zd0.
fn pair(lines: &str) -> Paired {
    let mut text = String::new();
    for (n, line) in lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .enumerate()
    {
        let (micros, rest) = line.split_once(' ').unwrap();
        let micros: u64 = micros.parse().unwrap();
        let (seconds, nanos) = (micros / 1_000_000, micros % 1_000_000 * 1000);
        writeln!(text, "230,0    1 {n:8} {seconds:5}.{nanos:09} {rest}").unwrap();
    }
    pair_text(&text)
}

fn pair_text(text: &str) -> Paired {
    let records = Records::from_reader(std::io::Cursor::new(text.to_owned()), "text").unwrap();
    let mut pairing = Pairing::new();
    let mut read = records.inspect(|record| pairing.feed(record));
    while read.next().is_some() {}
    drop(read);
    pairing.finish();
    let (arrivals, events) = pairing.drain();
    Paired {
        arrivals,
        events,
        counts: pairing.counts(),
    }
}

fn latency_us(event: &Event) -> u64 {
    event.latency_ns().unwrap() / 1000
}

#[test]
fn a_bio_mode_trace_gives_one_io_a_bio_with_size_flags_and_submitter() {
    let paired = pair(
        "10 77 Q WS 16 + 16 [qemu-kvm]
         12 77 Q FWFS 64 + 8 [qemu-kvm]
         15 78 Q R 0 + 256 [qemu-kvm]
         30 900 C WS 16 + 16 [0]
         40 900 C FWFS 64 + 8 [0]
         45 900 C R 0 + 256 [65531]",
    );
    assert_eq!(paired.arrivals[0].mode, Mode::Bio);
    let [write, durable, read] = &paired.events[..] else {
        panic!("{:?}", paired.events)
    };
    assert_eq!(
        (write.op, write.offset_bytes, write.bytes),
        (Op::Write, 8192, 8192)
    );
    assert_eq!((latency_us(write), write.pid, write.cpu), (20, 77, 1));
    assert_eq!(write.comm.to_text(), "qemu-kvm");
    assert_eq!(write.issue_ns, None);
    assert!(!write.is_durable_write());
    assert!(durable.is_durable_write() && durable.flags.has(flag::FUA | flag::PREFLUSH));
    assert_eq!((read.op, read.bytes, read.errno), (Op::Read, 131_072, 5));
    assert_eq!(paired.unpaired(), (0, 0));
    assert_eq!(paired.counts.devices[0].counters.submitted, 3);
}

#[test]
fn a_driver_that_advances_its_bios_completes_them_at_their_end() {
    let paired = pair(
        "10 77 Q WS 16 + 16 [fio]
         30 900 C WS 32 [0]",
    );
    let event = paired.only();
    assert_eq!(
        (event.offset_bytes, event.bytes, latency_us(event)),
        (8192, 8192, 20)
    );
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn an_empty_preflush_is_one_flush_in_either_mode() {
    let bio = pair(
        "10 77 Q FWS [fio]
         30 900 C FWS 0 [0]",
    );
    // blk-mq: the block layer issues a flush of its own, then completes the original without
    // data and without its PREFLUSH.
    let request = pair(
        "10 77 Q FWS [fio]
         11 77 G FWS [fio]
         12 900 D FN [kworker/0:1H]
         29 0 C FN 0 [0]
         30 0 C WS 0 [0]",
    );
    for (paired, mode) in [(&bio, Mode::Bio), (&request, Mode::BlkMq)] {
        let event = paired.only();
        assert_eq!(
            (event.op, event.bytes, latency_us(event)),
            (Op::Flush, 0, 20)
        );
        assert!(event.flags.has(flag::PREFLUSH));
        assert_eq!((event.pid, paired.arrivals[0].mode), (77, mode));
        assert_eq!(paired.unpaired(), (0, 0));
    }
}

#[test]
fn a_write_with_a_preflush_is_one_durable_write_on_blk_mq() {
    let paired = pair(
        "10 77 Q FWS 64 + 8 [fio]
         11 77 G FWS 64 + 8 [fio]
         12 900 D FN [kworker/0:1H]
         20 0 C FN 0 [0]
         21 900 D WS 64 + 8 [kworker/0:1H]
         30 0 C WS 64 + 8 [0]
         31 0 C WS 64 [0]",
    );
    let event = paired.only();
    assert!(event.is_durable_write());
    assert_eq!((event.bytes, event.pid, latency_us(event)), (4096, 77, 20));
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn a_trace_of_issue_and_completion_alone_has_requests_and_flushes() {
    let paired = pair(
        "10 77 D WS 64 + 8 [fio]
         12 900 D FN [kworker/0:1H]
         20 0 C WS 64 + 8 [0]
         29 0 C FN 0 [0]
         30 0 C WS 0 [0]",
    );
    let [write, flush] = &paired.events[..] else {
        panic!("{:?}", paired.events)
    };
    assert_eq!(
        (write.bytes, latency_us(write), write.issue_ns),
        (4096, 10, Some(10_000))
    );
    assert_eq!((flush.op, latency_us(flush)), (Op::Flush, 18));
    assert_eq!(paired.arrivals[0].mode, Mode::BlkMq);
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn partial_completions_and_a_requeue_are_one_io_with_its_first_issue() {
    let paired = pair(
        "10 77 Q W 0 + 256 [fio]
         11 77 G W 0 + 256 [fio]
         12 77 I W 0 + 256 [fio]
         20 9 D W 0 + 256 [kworker/0:1H]
         30 0 C W 0 + 64 [0]
         31 0 R W 64 + 192 [0]
         40 9 D W 64 + 192 [kworker/0:1H]
         50 0 C W 64 + 64 [0]
         60 0 C W 128 + 128 [0]",
    );
    let event = paired.only();
    assert_eq!((event.offset_bytes, event.bytes), (0, 131_072));
    assert_eq!(
        (event.start_ns, event.issue_ns, event.end_ns),
        (10_000, Some(20_000), 60_000)
    );
    assert_eq!(event.pid, 77);
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn a_split_bio_is_as_many_ios_as_requests_and_was_submitted_once() {
    let paired = pair(
        "10 77 Q W 0 + 512 [fio]
         10 77 X W 0 / 256 [fio]
         11 77 G W 0 + 256 [fio]
         12 77 D W 0 + 256 [fio]
         13 77 G W 256 + 256 [fio]
         14 77 D W 256 + 256 [fio]
         30 0 C W 256 + 256 [0]
         40 0 C W 0 + 256 [0]",
    );
    let sizes: Vec<_> = paired
        .events
        .iter()
        .map(|e| (e.offset_bytes, e.bytes))
        .collect();
    assert_eq!(sizes, [(131_072, 131_072), (0, 131_072)]);
    assert!(paired.events.iter().all(|event| event.start_ns == 10_000));
    assert_eq!(paired.counts.devices[0].counters.submitted, 1);
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn merged_bios_are_one_request_whatever_actions_were_traced() {
    let whole = "10 77 Q W 8 + 8 [fio]
         11 77 G W 8 + 8 [fio]
         12 77 Q W 16 + 8 [fio]
         13 77 M W 16 + 8 [fio]
         14 77 Q W 0 + 8 [fio]
         15 77 F W 0 + 8 [fio]
         16 77 I W 0 + 24 [fio]
         20 77 D W 0 + 24 [fio]
         30 0 C W 0 + 24 [0]";
    for (left_out, start_us) in [
        ("", 10),
        ("I", 10),
        ("D", 10),
        ("DI", 10),
        ("GMFI", 10),
        ("Q", 11),
        ("QGMFI", 20),
    ] {
        let kept = |line: &&str| {
            let action = line.split_whitespace().nth(2).unwrap();
            !left_out.contains(action)
        };
        let lines: Vec<_> = whole.lines().filter(kept).collect();
        let paired = pair(&lines.join("\n"));
        let event = paired.only();
        assert_eq!(
            (event.offset_bytes, event.bytes),
            (0, 12_288),
            "without {left_out}"
        );
        assert_eq!(event.end_ns, 30_000, "without {left_out}");
        assert_eq!(event.start_ns, start_us * 1000, "without {left_out}");
        assert_eq!(paired.unpaired(), (0, 0), "without {left_out}");
    }
}

#[test]
fn without_request_records_completions_cover_the_bios_that_were_queued() {
    let paired = pair(
        "10 77 Q W 0 + 8 [fio]
         11 77 Q W 8 + 8 [fio]
         12 77 Q R 1000 + 512 [fio]
         30 0 C W 0 + 16 [0]
         31 0 C R 1256 + 256 [0]
         32 0 C R 1000 + 256 [0]",
    );
    let sizes: Vec<_> = paired
        .events
        .iter()
        .map(|e| (e.op, e.bytes, e.end_ns))
        .collect();
    let expected = [
        (Op::Write, 4096, 30_000),
        (Op::Write, 4096, 30_000),
        (Op::Read, 262_144, 32_000),
    ];
    assert_eq!(sizes, expected);
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn a_completion_of_another_kind_ninety_seconds_later_is_no_latency() {
    for start in ["Q", "D"] {
        let lines = format!("10 77 {start} W 64 + 8 [fio]\n90000000 0 C R 64 + 8 [0]");
        let paired = pair(&lines);
        assert_eq!(paired.events, []);
        assert_eq!(paired.unpaired(), (1, 1));
        assert_eq!(paired.counts.devices[0].oldest_ns, 89_999_990_000);
    }
}

#[test]
fn ios_in_flight_at_either_end_are_counted_and_never_invented() {
    let paired = pair(
        "10 0 C W 64 + 8 [0]
         20 77 Q W 128 + 8 [fio]
         30 0 C W 128 + 8 [0]
         40 77 Q W 64 + 8 [fio]",
    );
    assert_eq!(paired.only().offset_bytes, 65_536);
    assert_eq!(paired.unpaired(), (1, 1));
}

#[test]
fn two_ios_in_flight_at_one_place_complete_in_order() {
    let paired = pair(
        "10 77 Q W 64 + 8 [a]
         20 78 Q W 64 + 8 [b]
         50 0 C W 64 + 8 [0]
         55 0 C W 64 + 8 [0]",
    );
    let latencies: Vec<_> = paired
        .events
        .iter()
        .map(|e| (e.pid, latency_us(e)))
        .collect();
    assert_eq!(latencies, [(77, 40), (78, 35)]);
}

#[test]
fn a_lost_completion_does_not_spoil_the_latencies_at_its_place() {
    let mut lines = String::from("0 77 Q W 64 + 8 [fio]\n");
    for n in 1..=100 {
        let (start, end) = (n * 1000, n * 1000 + 50);
        writeln!(lines, "{start} 77 Q W 64 + 8 [fio]\n{end} 0 C W 64 + 8 [0]").unwrap();
    }
    let paired = pair(&lines);
    assert_eq!(paired.events.len(), 100);
    assert!(paired.events.iter().all(|event| latency_us(event) == 50));
    assert_eq!(paired.unpaired(), (0, 1));
}

#[test]
fn a_completion_stamped_before_its_start_is_an_inversion_not_a_pair_of_strays() {
    let paired = pair_text(
        "230,0 0 1 0.000095000 0 C W 64 + 8 [0]
         230,0 1 1 0.000100000 77 Q W 64 + 8 [fio]
         230,0 1 2 0.000200000 77 Q W 128 + 8 [fio]
         230,0 1 3 0.000210000 0 C W 128 + 8 [0]",
    );
    assert_eq!(paired.events.len(), 2);
    assert_eq!(paired.events[1].latency_ns(), None);
    assert_eq!(paired.unpaired(), (0, 0));
    // In the order of the file it is the same.
    let paired = pair("100 77 Q W 64 + 8 [fio]\n95 0 C W 64 + 8 [0]");
    assert_eq!(paired.only().latency_ns(), None);
}

#[test]
fn passthrough_requests_pair_without_a_sector() {
    let paired = pair(
        "10 77 D R 36 (12 00 00 00 24 00 ..) [smartctl]
         12 77 Q R 0 + 8 [fio]
         13 77 D R 0 + 8 [fio]
         20 0 C R [0]
         30 0 C R 0 + 8 [0]",
    );
    let [passthrough, read] = &paired.events[..] else {
        panic!("{:?}", paired.events)
    };
    assert_eq!((passthrough.op, passthrough.bytes), (Op::Unknown(34), 36));
    assert_eq!(latency_us(passthrough), 10);
    assert_eq!((read.op, latency_us(read)), (Op::Read, 18));
    assert_eq!(paired.unpaired(), (0, 0));
}

#[test]
fn discards_keep_sizes_up_to_four_gibibytes() {
    let paired = pair(
        "10 77 Q D 0 + 8388600 [blkdiscard]
         30 0 C D 0 + 8388600 [0]",
    );
    assert_eq!(
        (paired.only().op, paired.only().bytes),
        (Op::Discard, 4_294_963_200)
    );
}

#[test]
fn remaps_add_nothing_and_a_partition_is_its_disk() {
    let paired = pair_text(
        "230,17   0  1  0.000001000 77 A W 2048 + 8 <- (230,17) 0\n\
         230,17   0  1  0.000001000 77 Q W 2048 + 8 [fio]\n\
         230,16   0  1  0.000005000 0 C W 2048 + 8 [0]\n\
         252,0    0  1  0.000007000 77 Q R 0 + 8 [fio]\n",
    );
    assert_eq!(paired.only().offset_bytes, 1_048_576);
    let names: Vec<_> = paired
        .arrivals
        .iter()
        .map(|a| disk_name(a.major, a.minor))
        .collect();
    assert_eq!(names, ["zd16", "252,0"]);
    assert_eq!(paired.arrivals[1].id, DeviceId(1));
}

#[test]
fn what_is_in_flight_stays_bounded() {
    let mut pairing = Pairing::new();
    let mut record = Record {
        time_ns: 0,
        sector: 0,
        bytes: 4096,
        action: Action::Queue,
        categories: Record::categories_of(Op::Write, Flags::default()),
        pid: 1,
        device: (230, 0),
        cpu: 0,
        errno: 0,
        payload: Payload::None,
    };
    let queued = 3 * MAX_IN_FLIGHT;
    for n in 0..queued {
        record.sector = n * 8;
        record.time_ns = n;
        pairing.feed(&record);
        assert!(pairing.in_flight <= MAX_IN_FLIGHT);
    }
    pairing.finish();
    let counts = pairing.counts().devices[0];
    assert_eq!(counts.outstanding + counts.counters.overwritten, queued);
}

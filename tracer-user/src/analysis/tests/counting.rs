//! The collector from inputs to report: the cases of engineers, each kind.

use tracer_common::{flag, op};

use crate::analysis::testing::{
    MS, SECOND, STARTED_NS, collector, counted, end, read, report_of, sample, start, write, zvol,
};
use crate::{
    event::{DeviceId, Event, Flags, Op},
    input::{Device, DeviceSample, End, Input, Lost, Mode, Sample},
    report::model::{Code, Latency, Severity, SourceKind},
};

fn writes(n: u64, bytes: u32) -> Vec<Event> {
    (0..n)
        .map(|i| {
            write(
                (i + 1) * MS,
                (i * 7_919 % 100_000) * u64::from(bytes),
                bytes,
            )
        })
        .collect()
}

#[test]
fn an_op_class_without_io_has_count_zero_and_null_latencies() {
    let report = report_of(zvol(0, 16_384), writes(10, 16_384));
    let ops = &report.devices[0].ops;
    assert_eq!(ops.write.count, 10);
    for unused in [&ops.read, &ops.discard, &ops.other] {
        assert_eq!((unused.count, unused.bytes), (0, 0));
        assert_eq!(unused.latency_ns, Latency::default());
        assert_eq!(unused.queue_ns, None, "bio mode has no queue time");
        assert!(unused.sizes.is_empty() && unused.latency_histogram.is_empty());
    }
}

#[test]
fn counts_come_from_the_kernel_and_what_the_events_lack_is_said() {
    let events = writes(1_000, 8_192);
    let mut exact = counted(0, &events);
    exact.counters.count[1] += 500;
    exact.counters.bytes[1] += 500 * 8_192;
    exact.counters.ring_lost = 500;
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 131_072)),
        Input::Events(events),
        sample(60, vec![exact]),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    let device = &report.devices[0];
    assert_eq!(
        (device.ops.write.count, device.ops.write.bytes),
        (1_500, 1_500 * 8_192)
    );
    assert_eq!(device.lost, 500);
    assert_eq!(
        device.ops.write.sizes[0].count, 1_000,
        "sizes are of the events"
    );
    let events = report.capture.events;
    assert_eq!(
        (events.completed, events.delivered, events.lost),
        (1_500, 1_000, 500)
    );
    assert!(!report.capture.complete);
    assert!(report.capture.incomplete_reasons[0].starts_with("500 events found no room"));
    assert_eq!(device.verdict.code, Code::WriteSmallerThanBlock);
    let evidence = device.verdict.evidence.join("\n");
    assert!(
        evidence.contains("rests on a part: 500 events"),
        "{evidence}"
    );
}

#[test]
fn without_a_sample_the_events_are_counted() {
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 8_192)),
        Input::Events(writes(12, 8_192)),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.devices[0].ops.write.count, 12);
    assert_eq!(report.capture.events.completed, 12);
    assert_eq!(
        report.capture.incomplete_reasons,
        ["the capture is still running"]
    );
}

#[test]
fn a_capture_ended_early_is_short_and_one_without_its_end_is_cut_off() {
    let mut inputs = vec![start(60), Input::Appeared(zvol(0, 8_192)), end(5)];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.capture.duration_ns, 5 * SECOND);
    assert_eq!(
        report.capture.incomplete_reasons,
        ["short: 5.0 s of 60.0 s"]
    );
    inputs.pop();
    let report = collector(SourceKind::Recording, &inputs).report();
    assert!(report.capture.incomplete_reasons[0].contains("no end"));
    let report = collector(SourceKind::Recording, &[]).report();
    assert!(report.capture.incomplete_reasons[0].contains("beginning is missing"));
}

#[test]
fn the_sources_own_reasons_are_kept() {
    let inputs = [
        start(60),
        Input::End(End {
            at_ns: STARTED_NS + 60 * SECOND,
            incomplete_reasons: vec!["3 disks were not traced: zd0, zd16, zd32".into()],
            overhead: None,
        }),
    ];
    let capture = collector(SourceKind::Live, &inputs).report().capture;
    assert_eq!(
        capture.incomplete_reasons,
        ["3 disks were not traced: zd0, zd16, zd32"]
    );
}

#[test]
fn a_full_capture_without_loss_is_complete() {
    let report = report_of(zvol(0, 16_384), writes(400, 16_384));
    assert!(report.capture.complete);
    assert_eq!(report.capture.started, "2023-11-14T22:13:20Z");
    assert_eq!(report.devices[0].vm, Some(100));
    assert_eq!(report.devices[0].verdict.code, Code::Fits);
    assert_eq!(report.devices[0].findings[0].code, Code::Fits);
}

#[test]
fn case_9_a_single_write_concludes_nothing() {
    for n in [1, 299] {
        let report = report_of(zvol(0, 131_072), writes(n, 4_096));
        let verdict = &report.devices[0].verdict;
        assert_eq!(verdict.code, Code::TooFewWrites);
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.dominant_write_bytes, None);
        assert_eq!(verdict.recommended_block_bytes, None);
    }
}

#[test]
fn case_10_only_flushes_and_fua_make_a_write_durable() {
    let with = |flags: u32| Event {
        flags: Flags::from_opf(op::WRITE | flags),
        ..write(MS, 0, 4_096)
    };
    let events = vec![
        with(0),                                       // W
        with(flag::SYNC),                              // WS
        with(flag::SYNC | flag::PREFLUSH),             // FWS
        with(flag::SYNC | flag::FUA),                  // WFS
        with(flag::SYNC | flag::PREFLUSH | flag::FUA), // FWFS
    ];
    let sync = report_of(zvol(0, 8_192), events).devices[0].sync;
    assert_eq!(sync.hinted, 4);
    assert_eq!((sync.fua, sync.preflush_with_data), (2, 2));
    assert_eq!(sync.durable_writes, 3);
}

#[test]
fn flushes_are_apart_from_writes_and_have_their_latency() {
    let flush = Event {
        op: Op::Flush,
        flags: Flags::from_opf(op::WRITE | flag::PREFLUSH),
        bytes: 0,
        ..write(5 * MS, 0, 0)
    };
    let report = report_of(zvol(0, 8_192), vec![write(MS, 0, 8_192), flush]);
    let device = &report.devices[0];
    assert_eq!((device.ops.write.count, device.flush.count), (1, 1));
    assert_eq!(device.flush.latency_ns.max, Some(100_000));
    assert_eq!(report.capture.events.completed, 2);
    assert_eq!(device.sync.preflush_with_data, 0);
}

#[test]
fn case_16_starts_and_completions_without_their_other_half_are_counted_and_never_paired() {
    let mut counts = counted(0, &[]);
    counts.counters.without_start = 1;
    counts.counters.overwritten = 1;
    counts.outstanding = 2;
    counts.oldest_ns = 90 * SECOND;
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 8_192)),
        sample(60, vec![counts]),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    let events = report.capture.events;
    assert_eq!((events.without_start, events.without_completion), (1, 3));
    assert_eq!(report.devices[0].ops.write.latency_ns, Latency::default());
    assert!(
        report.capture.complete,
        "I/O in flight at the borders is no loss"
    );
}

#[test]
fn case_17_the_same_io_counts_the_same_in_both_modes() {
    let events = writes(500, 8_192);
    let issued = events
        .iter()
        .map(|e| Event {
            issue_ns: Some(e.start_ns + 20_000),
            ..*e
        })
        .collect();
    let bio = report_of(zvol(0, 8_192), events);
    let blk_mq = report_of(
        Device {
            mode: Mode::BlkMq,
            ..zvol(0, 8_192)
        },
        issued,
    );
    let (bio, blk_mq) = (&bio.devices[0].ops.write, &blk_mq.devices[0].ops.write);
    assert_eq!(bio.count, blk_mq.count);
    assert_eq!(bio.sizes, blk_mq.sizes);
    assert_eq!(bio.latency_ns, blk_mq.latency_ns);
    assert_eq!(blk_mq.queue_ns.unwrap().p50, Some(20_000));
    assert_eq!(blk_mq.service_ns.unwrap().max, Some(80_000));
}

#[test]
fn case_18_a_completion_before_its_start_is_counted_apart_and_leaves_the_maximum() {
    let mut events = writes(10, 8_192);
    events.push(Event {
        start_ns: STARTED_NS + 50 * SECOND,
        end_ns: STARTED_NS + SECOND,
        ..write(SECOND, 0, 8_192)
    });
    let report = report_of(zvol(0, 8_192), events);
    assert_eq!(report.capture.events.time_inversions, 1);
    let writes = &report.devices[0].ops.write;
    assert_eq!(writes.count, 11);
    assert_eq!(writes.latency_ns.max, Some(100_000));
    let in_histogram: u64 = writes.latency_histogram.iter().map(|b| b.count).sum();
    assert_eq!(in_histogram, 10);
}

#[test]
fn case_25_totals_count_an_io_once_though_a_device_is_stacked_on_another() {
    let below = zvol(0, 8_192);
    let above = Device {
        id: DeviceId(1),
        name: "dm-3".into(),
        major: 253,
        minor: 3,
        dataset: None,
        stacked_on: vec!["zd0".into()],
        ..zvol(0, 8_192)
    };
    let events = writes(100, 8_192);
    let again: Vec<Event> = events
        .iter()
        .map(|e| Event {
            device: DeviceId(1),
            ..*e
        })
        .collect();
    let counts = vec![counted(0, &events), counted(1, &again)];
    let inputs = [
        start(60),
        Input::Appeared(above),
        Input::Appeared(below),
        Input::Events(events),
        Input::Events(again),
        sample(60, counts),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.devices.len(), 2);
    assert!(report.devices.iter().all(|d| d.ops.write.count == 100));
    assert_eq!(report.totals.write.count, 100);
    assert_eq!(report.totals.write.bytes, 100 * 8_192);
    assert_eq!(report.totals.write.sizes[0].count, 100);
}

#[test]
fn case_14_a_number_used_again_is_a_second_row_and_a_rename_shows_the_new_name() {
    let second = Device {
        id: DeviceId(1),
        dataset: Some("tank/vm-200-disk-0".into()),
        appeared_ns: Some(STARTED_NS + 20 * SECOND),
        ..zvol(0, 8_192)
    };
    let renamed = Device {
        dataset: Some("tank/vm-201-disk-0".into()),
        appeared_ns: None,
        ..second.clone()
    };
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 8_192)),
        Input::Vanished {
            device: DeviceId(0),
            at_ns: STARTED_NS + 10 * SECOND,
        },
        Input::Appeared(second),
        Input::Changed(renamed),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.devices.len(), 2);
    assert_eq!(report.devices[0].vanished_ns, Some(10 * SECOND));
    assert_eq!(report.devices[1].appeared_ns, Some(20 * SECOND));
    assert_eq!(
        report.devices[1].dataset.as_deref(),
        Some("tank/vm-201-disk-0")
    );
    assert_eq!(report.devices[1].vm, Some(201));
}

#[test]
fn case_26_outstanding_io_and_its_age_are_shown_without_a_cap() {
    let stuck = DeviceSample {
        outstanding: 7,
        oldest_ns: 600 * SECOND,
        ..counted(0, &[])
    };
    let slow = Event {
        start_ns: STARTED_NS,
        ..write(600 * SECOND, 0, 8_192)
    };
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 8_192)),
        sample(600, vec![stuck]),
        Input::Events(vec![slow]),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    let device = &report.devices[0];
    assert_eq!(
        (device.outstanding.count, device.outstanding.oldest_ns),
        (7, 600 * SECOND)
    );
    assert_eq!(device.ops.write.latency_ns.max, Some(600 * SECOND));
}

#[test]
fn a_device_without_io_is_idle_and_one_with_stuck_io_says_so() {
    let report = report_of(zvol(0, 8_192), Vec::new());
    assert_eq!(report.devices[0].verdict.code, Code::Idle);
    assert_eq!(report.devices[0].verdict.severity, Severity::Ok);
    let stuck = DeviceSample {
        outstanding: 4,
        ..counted(0, &[])
    };
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 8_192)),
        sample(60, vec![stuck]),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert!(
        report.devices[0]
            .verdict
            .summary
            .contains("4 are outstanding")
    );
}

#[test]
fn the_block_size_of_the_command_line_judges_disks_that_have_none() {
    let loop0 = Device {
        name: "loop0".into(),
        dataset: None,
        volblocksize_bytes: None,
        ..zvol(0, 8_192)
    };
    let report = report_of(loop0.clone(), writes(400, 8_192));
    assert_eq!(report.devices[0].verdict.code, Code::BlockSizeUnknown);
    let Input::Start(mut with_size) = start(60) else {
        unreachable!()
    };
    with_size.block_size_bytes = Some(131_072);
    let inputs = [
        Input::Start(with_size),
        Input::Appeared(loop0),
        Input::Events(writes(400, 8_192)),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.devices[0].volblocksize_bytes, Some(131_072));
    assert_eq!(report.devices[0].verdict.code, Code::WriteSmallerThanBlock);
}

#[test]
fn reads_alone_are_read_mostly() {
    let reads = (0..1_000)
        .map(|i| read((i + 1) * MS, i * 8_192, 8_192))
        .collect();
    let report = report_of(zvol(0, 8_192), reads);
    assert_eq!(report.devices[0].verdict.code, Code::ReadMostly);
}

#[test]
fn what_belongs_to_no_device_or_was_lost_without_one_is_said() {
    let inputs = [
        start(60),
        Input::Events(writes(3, 8_192)),
        Input::Sample(Sample {
            at_ns: STARTED_NS,
            devices: vec![counted(9, &[])],
            lost: Lost {
                recursion: 1,
                undecodable: 2,
                queue: 4,
            },
        }),
        end(60),
    ];
    let capture = collector(SourceKind::Live, &inputs).report().capture;
    assert_eq!(capture.events.lost, 7);
    assert_eq!(capture.incomplete_reasons.len(), 4);
    assert!(capture.incomplete_reasons[3].starts_with("3 events belong to a device"));
}

//! Verdicts on workloads that engineers know.

use proptest::prelude::*;
use tracer_common::{flag, op};

use crate::{
    analysis::{
        Collector, Options,
        space::PoolLayout,
        testing::{
            MS, Random, SECOND, STARTED_NS, collector, counted, end, read, report_of, sample,
            start, write, zvol,
        },
    },
    event::{Event, Flags, Op},
    input::{Device, DeviceSample, Input, Mode, Objset, Partition, PoolSample},
    report::model::{Code, Confidence, DeviceReport, Report, Severity, SourceKind, Verdict},
};

/// Writes at random places of an area, 200 a second.
fn random_writes(n: u64, bytes: u32, area_bytes: u64) -> Vec<Event> {
    let mut random = Random(11);
    let places = area_bytes / u64::from(bytes);
    (0..n)
        .map(|i| {
            write(
                (i + 1) * 5 * MS,
                random.below(places) * u64::from(bytes),
                bytes,
            )
        })
        .collect()
}

fn sequential_writes(n: u64, bytes: u32) -> Vec<Event> {
    (0..n)
        .map(|i| write((i + 1) * 5 * MS, i * u64::from(bytes), bytes))
        .collect()
}

fn device_of(volblocksize: u64, events: Vec<Event>) -> DeviceReport {
    report_of(zvol(0, volblocksize), events).devices.remove(0)
}

fn verdict_of(volblocksize: u64, events: Vec<Event>) -> Verdict {
    device_of(volblocksize, events).verdict
}

fn codes(device: &DeviceReport) -> Vec<Code> {
    device.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn random_8k_on_128k_is_critical_and_the_way_out_is_told() {
    let verdict = verdict_of(131_072, random_writes(10_000, 8_192, 1 << 30));
    assert_eq!(verdict.code, Code::WriteSmallerThanBlock);
    assert_eq!(verdict.severity, Severity::Critical);
    assert_eq!(verdict.confidence, Confidence::High);
    assert_eq!(verdict.dominant_write_bytes, Some(8_192));
    assert_eq!(verdict.dominant_share_count, Some(1.0));
    assert_eq!(verdict.recommended_block_bytes, Some(8_192), "{verdict:#?}");
    let advice = verdict.advice.join("\n");
    for step in [
        "cannot be changed in place",
        "volblocksize=8K",
        "fio",
        "compare",
        "cut over",
    ] {
        assert!(advice.contains(step), "{advice}");
    }
}

#[test]
fn the_demo_mix_is_dominated_by_its_8k_writes() {
    let mut random = Random(2);
    let events = (0..10_000_u64)
        .map(|i| {
            let at = (i + 1) * 5 * MS;
            match random.below(100) {
                0..80 => write(at, random.below(1 << 17) * 8_192, 8_192),
                80..95 => write(at, random.below(1 << 18) * 4_096, 4_096),
                _ => read(at, random.below(1 << 18) * 4_096, 4_096),
            }
        })
        .collect();
    let verdict = verdict_of(131_072, events);
    assert_eq!(verdict.code, Code::WriteSmallerThanBlock);
    assert_eq!(verdict.dominant_write_bytes, Some(8_192));
    assert_eq!(verdict.recommended_block_bytes, Some(8_192));
}

#[test]
fn sequential_4k_into_128k_is_no_alarm() {
    let verdict = verdict_of(131_072, sequential_writes(10_000, 4_096));
    assert_eq!(verdict.code, Code::WriteSmallerThanBlock);
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(verdict.recommended_block_bytes, None);
    assert!(verdict.summary.contains("coalesce"), "{}", verdict.summary);
    assert!(
        verdict
            .advice
            .iter()
            .any(|advice| advice.contains("keep volblocksize 128K"))
    );
}

#[test]
fn case_3_a_4k_guest_fits_4k_blocks_and_costs_twice_on_8k() {
    let fits = verdict_of(4_096, random_writes(5_000, 4_096, 8 << 30));
    assert_eq!(fits.code, Code::Fits);
    assert_eq!(fits.recommended_block_bytes, None, "{fits:#?}");
    let text = format!("{fits:?}");
    assert!(!text.contains("padding"), "{text}");
    let on_8k = device_of(8_192, random_writes(5_000, 4_096, 8 << 30));
    assert_eq!(on_8k.verdict.code, Code::WriteSmallerThanBlock);
    assert_eq!(on_8k.verdict.severity, Severity::Warning);
    let worst = on_8k.amplification.unwrap().worst_case.unwrap();
    assert!((worst - 2.0).abs() < 1e-9);
    let evidence = on_8k.verdict.evidence.join("\n");
    assert!(evidence.contains("is read before"), "{evidence}");
}

#[test]
fn case_4_buffered_4k_writes_are_the_page_cache_and_not_the_guest() {
    let buffered: Vec<Event> = sequential_writes(5_000, 4_096)
        .into_iter()
        .map(|event| Event {
            flags: Flags::from_opf(op::WRITE),
            ..event
        })
        .collect();
    for volblocksize in [16_384, 131_072, 1 << 20] {
        let verdict = verdict_of(volblocksize, buffered.clone());
        assert_eq!(verdict.code, Code::PageCacheSplit);
        assert_eq!(verdict.recommended_block_bytes, None);
        assert!(verdict.advice.join(" ").contains("direct I/O"));
    }
    // Direct I/O of the same shape is the guest's own.
    let direct = device_of(16_384, sequential_writes(5_000, 4_096));
    assert!(!codes(&direct).contains(&Code::PageCacheSplit));
    // blktrace does not record the flag.
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 16_384)),
        Input::Events(buffered),
        end(60),
    ];
    let report = collector(SourceKind::Blktrace, &inputs).report();
    assert!(!codes(&report.devices[0]).contains(&Code::PageCacheSplit));
}

#[test]
fn case_7_sync_writes_of_one_block_fit_whatever_the_log_costs_below() {
    let events = random_writes(5_000, 16_384, 1 << 30)
        .into_iter()
        .map(|event| Event {
            flags: Flags::from_opf(op::WRITE | flag::SYNC | flag::FUA),
            ..event
        })
        .collect();
    let device = device_of(16_384, events);
    assert_eq!(device.verdict.code, Code::Fits, "{:#?}", device.verdict);
    assert_eq!(device.sync.durable_writes, 5_000);
    assert_eq!(device.verdict.recommended_block_bytes, None);
}

/// Flushes that take `flush_ns`, one for ten writes of 200 us.
fn with_flushes(flush_ns: u64, flushes: u64) -> Vec<Event> {
    let mut events = random_writes(flushes * 10, 16_384, 1 << 30);
    events.extend((0..flushes).map(|i| {
        let at = (i + 1) * 50 * MS;
        Event {
            op: Op::Flush,
            flags: Flags::from_opf(op::WRITE | flag::PREFLUSH),
            bytes: 0,
            start_ns: STARTED_NS + at,
            ..write(at + flush_ns, 0, 0)
        }
    }));
    events
}

#[test]
fn slow_flushes_make_the_tail_and_a_faster_log_is_the_advice() {
    let device = device_of(16_384, with_flushes(30 * MS, 200));
    assert_eq!(device.verdict.code, Code::FlushBound);
    assert_eq!(device.verdict.severity, Severity::Warning);
    assert!(device.verdict.advice.join(" ").contains("SLOG"));
    assert!(
        codes(&device).contains(&Code::Fits),
        "the block size still fits"
    );
    let quick = device_of(16_384, with_flushes(MS, 200));
    assert!(!codes(&quick).contains(&Code::FlushBound));
    let few = device_of(16_384, with_flushes(30 * MS, 50));
    assert!(!codes(&few).contains(&Code::FlushBound));
}

#[test]
fn case_10_the_sync_hint_alone_never_leads_to_a_log_device() {
    // Slow, and all of them with the hint.
    let events: Vec<Event> = random_writes(2_000, 16_384, 1 << 30)
        .into_iter()
        .map(|event| Event {
            start_ns: event.end_ns - 4 * MS,
            ..event
        })
        .collect();
    let device = device_of(16_384, events);
    assert_eq!(device.sync.hinted, 2_000);
    assert!(!codes(&device).contains(&Code::FlushBound));
    assert!(!format!("{device:?}").contains("SLOG"));
}

fn moved(at_s: u64, writes: u64) -> Input {
    Input::Pools(vec![PoolSample {
        name: "tank".into(),
        at_ns: STARTED_NS + at_s * SECOND,
        state: Some("ONLINE".into()),
        txgs: Vec::new(),
        objsets: vec![Objset {
            dataset: "tank/vm-100-disk-0".into(),
            writes,
            ..Objset::default()
        }],
        shape: None,
    }])
}

#[test]
fn case_13_a_zvol_that_only_its_kstat_shows_is_not_idle() {
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 16_384)),
        moved(0, 1_000),
        moved(60, 9_000),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(
        report.devices[0].verdict.code,
        Code::StatisticsNotMaintained
    );
    assert!(report.devices[0].verdict.summary.contains("not idle"));
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 16_384)),
        moved(0, 1_000),
        moved(60, 1_000),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    assert_eq!(report.devices[0].verdict.code, Code::Idle);
}

/// A capture on a host with this ZFS version.
fn on_zfs(version: &str, device: Device, events: Vec<Event>) -> Report {
    let Input::Start(mut opening) = start(60) else {
        unreachable!()
    };
    opening.host.zfs_version = Some(version.to_owned());
    opening.host.defects_patched = false;
    let inputs = [
        Input::Start(opening),
        Input::Appeared(device),
        Input::Events(events),
        end(60),
    ];
    collector(SourceKind::Live, &inputs).report()
}

#[test]
fn case_11_a_known_defect_is_named_when_the_trace_touches_it_and_flushes_are_no_reads() {
    let blk_mq = Device {
        mode: Mode::BlkMq,
        ..zvol(0, 16_384)
    };
    let mut events = with_flushes(MS, 30);
    events.push(Event {
        op: Op::Discard,
        ..write(SECOND, 0, 1 << 20)
    });
    let report = on_zfs("2.2.6-1", blk_mq.clone(), events.clone());
    let device = &report.devices[0];
    assert_eq!(device.verdict.code, Code::KnownDefect);
    assert_eq!(device.verdict.severity, Severity::Critical);
    assert!(device.verdict.evidence[0].contains("read path"));
    assert_eq!(device.ops.read.count, 0);
    assert_eq!((device.flush.count, device.ops.discard.count), (30, 1));
    assert_eq!(report.host.known_defects.len(), 1);
    // Fixed, without flushes, or in the other mode: nothing is said of the device.
    let fixed = on_zfs("2.2.9-1", blk_mq.clone(), events.clone());
    assert!(!codes(&fixed.devices[0]).contains(&Code::KnownDefect));
    let without = on_zfs("2.2.6-1", blk_mq, random_writes(300, 16_384, 1 << 30));
    assert!(!codes(&without.devices[0]).contains(&Code::KnownDefect));
    let bio = on_zfs("2.2.6-1", zvol(0, 16_384), events.clone());
    assert!(!codes(&bio.devices[0]).contains(&Code::KnownDefect));
    let bio = on_zfs("2.3.1-1", zvol(0, 16_384), events);
    assert_eq!(bio.devices[0].verdict.code, Code::KnownDefect);
}

#[test]
fn a_zfs_without_block_statistics_is_named_beside_the_verdict() {
    let report = on_zfs(
        "2.0.3-9",
        zvol(0, 16_384),
        random_writes(5_000, 16_384, 1 << 30),
    );
    let device = &report.devices[0];
    assert_eq!(codes(device), [Code::Fits, Code::StatisticsNotMaintained]);
}

/// Writes behind a partition that starts at sector 63.
fn at_sector_63(bytes: u32) -> Vec<Event> {
    random_writes(5_000, bytes, 1 << 30)
        .into_iter()
        .map(|event| Event {
            offset_bytes: event.offset_bytes + 63 * 512,
            ..event
        })
        .collect()
}

#[test]
fn a_partition_at_sector_63_is_named_as_the_cause() {
    let device = Device {
        partitions: vec![
            Partition {
                name: "zd0p1".into(),
                start_sector: 63,
                sectors: 1 << 22,
            },
            Partition {
                name: "zd0p2".into(),
                start_sector: 1 << 23,
                sectors: 1 << 20,
            },
        ],
        ..zvol(0, 8_192)
    };
    let report = report_of(device, at_sector_63(8_192));
    let device = &report.devices[0];
    let verdict = &device.verdict;
    assert_eq!(verdict.code, Code::Misaligned, "{verdict:#?}");
    assert_eq!(verdict.severity, Severity::Warning);
    assert!(verdict.summary.contains("sector 63"), "{}", verdict.summary);
    assert!(verdict.evidence.join("\n").contains("zd0p1"));
    assert_eq!(
        verdict.recommended_block_bytes, None,
        "first align, then judge"
    );
    let alignment = device.alignment.unwrap();
    assert_eq!(alignment.constant_remainder_bytes, Some(7_680));
    assert_eq!(alignment.aligned_share, Some(0.0));
    assert_eq!(alignment.partial_block_writes, 5_000);
}

#[test]
fn misalignment_without_a_known_partition_says_where_to_look() {
    let verdict = verdict_of(16_384, at_sector_63(16_384));
    assert_eq!(verdict.code, Code::Misaligned);
    assert!(verdict.evidence.join("\n").contains("inside the guest"));
}

#[test]
fn small_writes_inside_a_block_and_scattered_offsets_are_not_misaligned() {
    let inside = device_of(131_072, random_writes(5_000, 8_192, 1 << 30));
    assert!(!codes(&inside).contains(&Code::Misaligned));
    let mut random = Random(9);
    let scattered = (0..5_000_u64)
        .map(|i| write((i + 1) * 5 * MS, random.below(1 << 21) * 512, 8_192))
        .collect();
    let device = device_of(8_192, scattered);
    assert!(!codes(&device).contains(&Code::Misaligned));
    assert_eq!(device.alignment.unwrap().constant_remainder_bytes, None);
}

#[test]
fn large_sequential_writes_on_small_blocks_may_move_and_random_reads_veto_it() {
    let events = sequential_writes(5_000, 1 << 20);
    let verdict = verdict_of(8_192, events.clone());
    assert_eq!(verdict.code, Code::WriteLargerThanBlock);
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(
        verdict.recommended_block_bytes,
        Some(131_072),
        "{verdict:#?}"
    );
    let mut random = Random(4);
    let mut with_reads = events;
    with_reads.extend(
        (0..100_000_u64).map(|i| read((i + 1) * MS / 2, random.below(1 << 19) * 8_192, 8_192)),
    );
    let device = device_of(8_192, with_reads);
    assert_eq!(
        device.verdict.recommended_block_bytes, None,
        "{:#?}",
        device.verdict
    );
}

#[test]
fn raidz_padding_moves_a_block_size_that_a_mirror_keeps() {
    let events = random_writes(5_000, 16_384, 1 << 30);
    let with_layout = |layout: &str| -> Verdict {
        let options = Options {
            layout: Some(PoolLayout {
                layout: layout.parse().unwrap(),
                ashift: 12,
            }),
            ..Options::default()
        };
        let mut collector = Collector::new(options, SourceKind::Live);
        for input in [
            start(60),
            Input::Appeared(zvol(0, 8_192)),
            Input::Events(events.clone()),
            end(60),
        ] {
            collector.feed(&input);
        }
        collector.report().devices.remove(0).verdict
    };
    assert_eq!(with_layout("mirror").recommended_block_bytes, None);
    assert_eq!(
        with_layout("raidz2:6").recommended_block_bytes,
        Some(16_384)
    );
}

#[test]
fn mixed_sizes_are_judged_by_what_they_cost_together() {
    let mut random = Random(8);
    let sizes = [4_096_u32, 8_192, 12_288, 16_384];
    let events = (0..5_000_u64)
        .map(|i| {
            let bytes = sizes[usize::try_from(random.below(4)).unwrap()];
            write((i + 1) * 5 * MS, random.below(1 << 18) * 4_096, bytes)
        })
        .collect();
    let verdict = verdict_of(131_072, events);
    assert_eq!(verdict.code, Code::MixedSizes);
    assert_eq!(verdict.severity, Severity::Warning);
    assert!(verdict.recommended_block_bytes.is_some());
}

#[test]
fn an_incomplete_capture_keeps_its_verdict_and_says_so() {
    let events = random_writes(5_000, 8_192, 1 << 30);
    let mut exact = counted(0, &events);
    exact.counters.ring_lost = 1;
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 131_072)),
        Input::Events(events),
        sample(60, vec![exact]),
        end(60),
    ];
    let report = collector(SourceKind::Live, &inputs).report();
    let verdict = &report.devices[0].verdict;
    assert_eq!(verdict.code, Code::WriteSmallerThanBlock);
    assert!(verdict.confidence <= Confidence::Medium);
    assert!(
        verdict
            .evidence
            .last()
            .unwrap()
            .starts_with("rests on a part")
    );
}

#[test]
fn explain_lists_every_rule_with_its_numbers() {
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 131_072)),
        Input::Events(random_writes(5_000, 8_192, 1 << 30)),
        end(60),
    ];
    let collector = collector(SourceKind::Live, &inputs);
    let explained = collector.explain();
    assert_eq!(explained.len(), 1);
    assert_eq!(explained[0].device, "zd0");
    let fired: Vec<Code> = explained[0]
        .rules
        .iter()
        .filter(|rule| rule.fired.is_some())
        .map(|rule| rule.code)
        .collect();
    let mut findings = codes(&collector.report().devices[0]);
    findings.sort_by_key(|code| fired.iter().position(|f| f == code));
    assert_eq!(fired, findings);
    for rule in &explained[0].rules {
        assert!(!rule.condition.is_empty());
        assert!(
            rule.fired.is_some() || !rule.numbers.concat().is_empty(),
            "{rule:?}"
        );
    }
}

/// Any shape of I/O.
fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let event = (
        0..60_000_u64,
        0..1_u64 << 22,
        0..512_u32,
        0..6_u8,
        any::<u32>(),
        0..40_u64,
    );
    prop::collection::vec(event, 0..700).prop_map(|events| {
        events
            .into_iter()
            .map(|(at_ms, sector, sectors, kind, flags, took_ms)| {
                let op = match kind {
                    0 => Op::Read,
                    1 => Op::Flush,
                    2 => Op::Discard,
                    _ => Op::Write,
                };
                Event {
                    op,
                    flags: Flags::from_opf(flags),
                    start_ns: STARTED_NS + at_ms * MS,
                    ..write((at_ms + took_ms) * MS, sector * 512, sectors * 512)
                }
            })
            .collect()
    })
}

fn any_report(events: Vec<Event>, shift: u32, outstanding: u64) -> Report {
    let last = DeviceSample {
        outstanding,
        ..counted(0, &events)
    };
    let inputs = [
        start(60),
        Input::Appeared(zvol(0, 1 << shift)),
        Input::Events(events),
        sample(60, vec![last]),
        end(60),
    ];
    collector(SourceKind::Live, &inputs).report()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn whatever_arrives_the_verdict_holds_together(
        events in any_events(),
        shift in 9..25_u32,
        outstanding in 0..3_u64,
    ) {
        let report = any_report(events, shift, outstanding);
        let device = &report.devices[0];
        prop_assert_eq!(device.findings.first().map(|f| f.code), Some(device.verdict.code));
        prop_assert!(device.findings.is_sorted_by(|a, b| a.severity >= b.severity));
        prop_assert!(!device.verdict.summary.is_empty());
        let text = format!("{report:?}");
        prop_assert!(!text.contains("sync=disabled"));
        if device.ops.write.count < 300 {
            prop_assert_eq!(device.verdict.recommended_block_bytes, None);
            prop_assert_eq!(device.verdict.dominant_write_bytes, None);
        }
        if let Some(block) = device.verdict.recommended_block_bytes {
            prop_assert!(block.is_power_of_two() && block != 1 << shift);
            prop_assert!((4 << 10..=128 << 10).contains(&block));
            let steps = device.verdict.advice.join(" ");
            prop_assert!(steps.contains("cannot be changed in place") || device.verdict.code == Code::FlushBound, "{}", steps);
        }
        for candidate in device.candidates.iter().flatten() {
            let (Some(worst), Some(coalesced)) = (candidate.worst_case, candidate.coalesced) else {
                continue;
            };
            prop_assert!(coalesced <= worst + 1e-9, "{candidate:?}");
        }
    }
}

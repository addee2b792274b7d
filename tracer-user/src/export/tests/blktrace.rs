//! blktrace files: what blkparse, blkrawverify, btt and fio make of them, and the way back.

use super::*;
use crate::source::blktrace::{BlktraceSource, Options};
use proptest::prelude::*;

fn written(mode: Mode, events: Vec<Event>) -> (tempfile::TempDir, Summary) {
    let folder = tempfile::tempdir().unwrap();
    let mut source = capture(vec![device(0, mode), device(1, mode)], events);
    let summary = export(&mut source, Target::Blktrace, &folder.path().join("out")).unwrap();
    assert_eq!(summary.files, [folder.path().join("out.blktrace.0")]);
    (folder, summary)
}

fn read_back(folder: &Path) -> (Vec<Device>, Vec<Event>) {
    let mut source = BlktraceSource::open(&[folder.join("out")], Options::default()).unwrap();
    let (mut devices, mut events) = (Vec::new(), Vec::new());
    while let Some(input) = source.next().unwrap() {
        match input {
            Input::Start(start) => {
                assert_eq!(start.started_unix_ns, 1_700_000_000_000_000_000);
                assert_eq!(start.started_ns, STARTED_NS);
            }
            Input::Appeared(device) => devices.push(device),
            Input::Events(some) => events.extend(some),
            Input::Sample(sample) => {
                for device in sample.devices {
                    assert_eq!((device.counters.without_start, device.outstanding), (0, 0));
                }
            }
            Input::End(end) => assert_eq!(end.incomplete_reasons, [""; 0]),
            _ => {}
        }
    }
    (devices, events)
}

fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn blkparse_prints_every_io() {
    for mode in [Mode::Bio, Mode::BlkMq] {
        let (folder, summary) = written(mode, mixed(800));
        assert_eq!((summary.ios, summary.notes.as_slice()), (800, &[][..]));
        let Some(output) = run("blkparse", &["-i", "out"], folder.path()) else {
            return;
        };
        assert!(output.status.success());
        let text = text(&output);
        let count = |action: &str| {
            let is = |line: &&str| line.split_whitespace().nth(5) == Some(action);
            text.lines().filter(is).count()
        };
        // A write with a preflush is queued as a flush and a write.
        assert_eq!((count("Q"), count("C")), (900, 800));
        let line = text
            .lines()
            .find(|line| line.contains(" C ") && line.contains("FWS"))
            .unwrap();
        assert!(line.starts_with("230,0"), "{line}");
        assert!(text.contains("[qemu-kvm]"));
        // blkparse's own text is the other way in.
        std::fs::write(folder.path().join("out.txt"), &text).unwrap();
        let names = [folder.path().join("out.txt")];
        let mut source = BlktraceSource::open(&names, Options::default()).unwrap();
        let mut ios = 0;
        while let Some(input) = source.next().unwrap() {
            if let Input::Events(events) = input {
                ios += events.len();
            }
        }
        assert_eq!(ios, 800);
    }
}

#[test]
fn blkrawverify_finds_nothing_wrong() {
    for mode in [Mode::Bio, Mode::BlkMq] {
        let (folder, _) = written(mode, mixed(800));
        let Some(output) = run("blkrawverify", &["out"], folder.path()) else {
            return;
        };
        let report = std::fs::read_to_string(folder.path().join("out.verify.out")).unwrap();
        assert!(output.status.success(), "{report}");
        assert!(report.contains("0 invalid (100.0%)"), "{report}");
        assert!(!text(&output).contains("bad"), "{}", text(&output));
    }
}

#[test]
fn btt_sees_the_same_ios() {
    let mut events = mixed(800);
    for event in &mut events {
        event.issue_ns = Some(event.start_ns + 10_000);
    }
    let (folder, _) = written(Mode::BlkMq, events);
    let Some(output) = run("btt", &["-i", "out.blktrace.0"], folder.path()) else {
        return;
    };
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace()
            .skip(1)
            .map(|word| word.parse::<f64>().unwrap())
            .collect::<Vec<_>>()
    };
    assert!((row("D2C")[1] - 0.000_030).abs() < 1e-8, "{text}");
}

#[test]
fn fio_replays_every_io() {
    let (folder, _) = written(Mode::Bio, mixed(800));
    let target = folder.path().join("target");
    std::fs::File::create(&target)
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let args = [
        "--name=replay",
        "--read_iolog=out.blktrace.0",
        "--replay_redirect=target",
        "--replay_no_stall=1",
        "--ioengine=psync",
        "--output-format=json",
        "--output=fio.json",
    ];
    let Some(output) = run("fio", &args, folder.path()) else {
        return;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = std::fs::read_to_string(folder.path().join("fio.json")).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&report[report.find('{').unwrap()..]).unwrap();
    let ios = |kind: &str| json["jobs"][0][kind]["total_ios"].as_u64().unwrap();
    // 200 flushes: 100 alone, 100 in front of their write.
    assert_eq!((ios("read"), ios("write"), ios("sync")), (200, 500, 200));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_round_trip_keeps_every_io(
        blk_mq: bool,
        ios in proptest::collection::vec(
            (0..6_u8, 0..64_u32, 0..4_000_u64, 0..500_u64, 0..40_u64, 1..40_u32, 0..2_u8, 0..8_u32),
            1..200,
        ),
    ) {
        let mode = if blk_mq { Mode::BlkMq } else { Mode::Bio };
        let flags = [flag::SYNC, flag::META, flag::FUA, flag::PREFLUSH, flag::RAHEAD];
        let mut events = Vec::new();
        let mut at = 0;
        for (kind, bits, gap, latency, sector, sectors, device, tid) in ios {
            let (op, bytes) = match kind {
                0 => (Op::Read, sectors * 512),
                1 => (Op::Flush, 0),
                2 => (Op::Discard, sectors * 512),
                _ => (Op::Write, sectors * 512),
            };
            let mut opf = (0..5).filter(|n| bits >> n & 1 == 1).map(|n| flags[n]).fold(0, |all, f| all | f);
            match op {
                Op::Flush => opf |= flag::PREFLUSH,
                Op::Write => {}
                _ => opf &= !(flag::PREFLUSH | flag::FUA),
            }
            // Distinct places and instants: what shares both cannot be told apart.
            at += gap + 1;
            let n = events.len() as u64;
            let offset = if op == Op::Flush { 0 } else { (n * 1000 + sector) * 512 };
            let mut event = event(op, opf, at, offset, bytes);
            event.device = DeviceId(device.into());
            event.end_ns = event.start_ns + latency * 1000;
            event.issue_ns = (blk_mq && op != Op::Flush).then_some(event.start_ns + latency * 500);
            event.errno = if bits == 63 { 5 } else { 0 };
            (event.tid, event.pid) = (tid, tid);
            event.comm = Comm::new(["fio", "qemu-kvm"][tid as usize % 2]);
            events.push(event);
        }
        let (folder, summary) = written(mode, events.clone());
        prop_assert_eq!(summary.ios, events.len() as u64);
        let (devices, mut back) = read_back(folder.path());
        // A flush has no request record: a trace of nothing else does not tell the mode.
        let has_requests = |device: &Device| {
            let id = DeviceId(device.minor / 16);
            events.iter().any(|event| event.device == id && event.op != Op::Flush)
        };
        prop_assert!(devices.iter().all(|device| device.mode == mode || !has_requests(device)));
        for event in &mut back {
            // Identities follow the order of arrival, which is that of completion.
            event.device = DeviceId(devices[event.device.0 as usize].minor / 16);
        }
        // Records of one instant are set apart by a nanosecond each.
        let us = |event: &Event| Event {
            start_ns: event.start_ns / 1000,
            issue_ns: event.issue_ns.map(|issue| issue / 1000),
            end_ns: event.end_ns / 1000,
            ..*event
        };
        let key = |event: &Event| (event.device, event.start_ns, event.offset_bytes);
        let mut events: Vec<_> = events.iter().map(us).collect();
        let mut back: Vec<_> = back.iter().map(us).collect();
        events.sort_by_key(key);
        back.sort_by_key(key);
        // Flushes of one device all lie at sector 0 and complete in order, whatever overlaps:
        // latencies of those that overlap may change places.
        let no_flush = |events: &[Event]| {
            events.iter().filter(|event| event.op != Op::Flush).copied().collect::<Vec<_>>()
        };
        prop_assert_eq!(back.len(), events.len());
        prop_assert_eq!(no_flush(&back), no_flush(&events));
    }
}

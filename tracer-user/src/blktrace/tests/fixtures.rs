//! Captures that blktrace took of real zvols, in both modes, beside what blkparse printed.
//!
//! The workload is known: 59 writes of 8K, 10 of 16K with FUA, 10 discards of 128K, 20 flushes,
//! 10 reads of 32K, and some reads of 4K until the disk is ready.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    event::{Event, Op},
    input::{Input, Mode},
    source::{
        Source,
        blktrace::{BlktraceSource, Options},
    },
};
use tracer_common::flag;

/// Every folder of a capture: `<suite>/blktrace-bio`, `<suite>/blktrace-blk-mq`.
fn captures() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect()
    };
    let suites = folders(&fixtures);
    let captures = suites.iter().flat_map(|suite| folders(suite));
    captures
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("blktrace-"))
        })
        .collect()
}

fn read(path: PathBuf) -> (Mode, Vec<Event>) {
    let mut source = BlktraceSource::open(&[path], Options::default()).unwrap();
    let (mut modes, mut all) = (Vec::new(), Vec::new());
    while let Some(input) = source.next().unwrap() {
        match input {
            Input::Appeared(device) => modes.push(device.mode),
            Input::Events(events) => all.extend(events),
            Input::Sample(sample) => {
                let [device] = &sample.devices[..] else {
                    panic!("{sample:?}")
                };
                // One capture begins while a probing read is in flight.
                assert!(device.counters.without_start <= 1, "{device:?}");
                assert_eq!(device.outstanding, 0);
            }
            Input::End(end) => assert_eq!(end.incomplete_reasons, [""; 0]),
            _ => {}
        }
    }
    assert_eq!(modes.len(), 1);
    (modes[0], all)
}

#[test]
fn real_captures_of_zvols_hold_the_known_workload() {
    let captures = captures();
    if captures.is_empty() {
        let required = std::env::var_os("ZVOLTRACE_REQUIRE_LIVE").is_some_and(|on| on == "1");
        assert!(!required, "there are no captures under tests/fixtures");
        eprintln!("skipped: there are no captures under tests/fixtures");
    }
    for capture in captures {
        let (mode, events) = read(capture.clone());
        let name = capture.display();
        assert_eq!(
            mode == Mode::BlkMq,
            capture.ends_with("blktrace-blk-mq"),
            "{name}"
        );
        let mut sizes = BTreeMap::<_, u64>::new();
        for event in &events {
            let probing = event.op == Op::Read && event.bytes == 4096;
            if event.comm.to_text() == "collect_fixture" && !probing {
                *sizes
                    .entry((event.op.class() as u32, event.bytes))
                    .or_default() += 1;
            }
            assert_eq!(event.errno, 0, "{name}: {event:?}");
            assert!(event.latency_ns().is_some(), "{name}: {event:?}");
        }
        // blktrace on kernel 7.2 leaves out every record with FUA; blkparse shows none either.
        let fua = if capture
            .parent()
            .is_some_and(|suite| suite.ends_with("forky"))
        {
            0
        } else {
            10
        };
        let mut expected = BTreeMap::from([
            ((0, 32_768), 10),
            ((1, 8192), 59),
            ((1, 16_384), fua),
            ((2, 131_072), 10),
            ((3, 0), 20),
        ]);
        expected.retain(|_, count| *count > 0);
        assert_eq!(sizes, expected, "{name}");
        let is_fua = |event: &&Event| event.flags.has(flag::FUA);
        assert_eq!(events.iter().filter(is_fua).count() as u64, fua, "{name}");

        // What blkparse printed of it says the same, with times from its own start.
        let (of_text, printed) = read(capture.join("blkparse.txt"));
        assert_eq!(of_text, mode, "{name}");
        let plain = |events: &[Event]| {
            let of = |e: &Event| {
                (
                    e.op.class() as u32,
                    e.offset_bytes,
                    e.bytes,
                    e.flags,
                    e.latency_ns(),
                )
            };
            events.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(plain(&events), plain(&printed), "{name}");
    }
}

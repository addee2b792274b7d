//! Groups that another block size would have, against the rule of ZFS applied write by write.

use std::collections::HashSet;

use crate::{
    analysis::{
        Collector, Options,
        testing::{MS, Random, SECOND, STARTED_NS, end, start, write, zvol},
    },
    event::Event,
    input::{Device, Input, PoolSample, Txg},
    report::model::{DeviceReport, SourceKind},
};

const SECONDS: u64 = 20;
const TIMEOUT_NS: u64 = 5 * SECOND;
const LIMIT_BYTES: u64 = 48 << 20;
const SIZES: [u64; 7] = [
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    1 << 20,
];

/// Groups as ZFS makes them on one block size.
struct Groups {
    births_ns: Vec<u64>,
    /// Bytes of distinct blocks per byte written.
    coalesced: f64,
    /// Level-1 blocks, summed over the groups.
    indirect: u64,
}

/// Ends a group after its time, or once its dirty data, indirect blocks included, pass the limit.
fn groups(events: &[Event], block_bytes: u64, limit_bytes: u64) -> Groups {
    let mut found = Groups {
        births_ns: vec![STARTED_NS],
        coalesced: 0.0,
        indirect: 0,
    };
    let (mut blocks, mut parents) = (HashSet::new(), HashSet::new());
    let mut written = 0;
    let mut distinct = 0;
    for event in events {
        let dirty = blocks.len() as u64 * block_bytes + parents.len() as u64 * (128 << 10);
        let birth_ns = *found.births_ns.last().unwrap();
        if event.end_ns - birth_ns >= TIMEOUT_NS || dirty > limit_bytes {
            distinct += blocks.len() as u64;
            found.indirect += parents.len() as u64;
            blocks.clear();
            parents.clear();
            found.births_ns.push(event.end_ns);
        }
        let last = event.offset_bytes + u64::from(event.bytes) - 1;
        for block in event.offset_bytes / block_bytes..=last / block_bytes {
            blocks.insert(block);
            parents.insert(block / 1_024);
        }
        written += u64::from(event.bytes);
    }
    distinct += blocks.len() as u64;
    found.indirect += parents.len() as u64;
    found.coalesced = (distinct * block_bytes) as f64 / written as f64;
    found
}

/// The report of a capture on this block size, whose groups the kstat tells once a second.
fn traced(
    events: &[Event],
    block_bytes: u64,
    births_ns: &[u64],
    limit: Option<u64>,
) -> DeviceReport {
    let mut collector = Collector::new(Options::default(), SourceKind::Live);
    let Input::Start(mut begin) = start(SECONDS) else {
        unreachable!()
    };
    begin.host.zfs_dirty_sync_bytes = limit;
    collector.feed(&Input::Start(begin));
    collector.feed(&Input::Appeared(Device {
        size_bytes: 8 << 30,
        ..zvol(0, block_bytes)
    }));
    let mut events = events.iter().copied().peekable();
    for second in 1..=SECONDS {
        let at_ns = STARTED_NS + second * SECOND;
        let mut batch = Vec::new();
        while let Some(event) = events.next_if(|event| event.end_ns <= at_ns + 20 * MS) {
            batch.push(event);
        }
        collector.feed(&Input::Events(batch));
        collector.feed(&Input::Pools(vec![PoolSample {
            name: "tank".into(),
            at_ns,
            txgs: births_ns
                .iter()
                .zip(1..)
                .filter(|(birth_ns, _)| **birth_ns <= at_ns)
                .map(|(birth_ns, txg)| Txg {
                    txg,
                    birth_ns: *birth_ns,
                    state: 'O',
                    ..Txg::default()
                })
                .collect(),
            ..PoolSample::default()
        }]));
    }
    collector.feed(&end(SECONDS));
    collector.report().devices.remove(0)
}

/// Writes at an even rate; the last tenth of a second is idle, so that none is outside.
fn workload(per_second: u64, place: impl Fn(u64, &mut Random) -> (u64, u32)) -> Vec<Event> {
    let mut random = Random(11);
    (0..per_second * SECONDS * 99 / 100)
        .map(|i| {
            let (offset, bytes) = place(i, &mut random);
            write((i + 1) * SECOND / per_second, offset, bytes)
        })
        .collect()
}

fn random_4k() -> Vec<Event> {
    workload(2_000, |_, random| {
        (random.below((2 << 30) / 4_096) * 4_096, 4_096)
    })
}

/// Most writes go to a small part, as databases do, beside a log.
fn skewed_with_a_log() -> Vec<Event> {
    workload(2_000, |i, random| match i % 10 {
        0..6 => (random.below((64 << 20) / 8_192) * 8_192, 8_192),
        6..9 => (random.below((4 << 30) / 8_192) * 8_192, 8_192),
        _ => ((5 << 30) + i / 10 * 16_384, 16_384),
    })
}

fn sequential_64k() -> Vec<Event> {
    workload(500, |i, _| (i * 65_536, 65_536))
}

#[test]
fn what_one_block_size_tells_of_another_is_what_zfs_would_do_there() {
    for (name, events) in [
        ("random 4K", random_4k()),
        ("skewed with a log", skewed_with_a_log()),
        ("sequential 64K", sequential_64k()),
    ] {
        let written: u64 = events.iter().map(|event| u64::from(event.bytes)).sum();
        for present in [8 << 10, 64 << 10, 128 << 10] {
            let seen = groups(&events, present, LIMIT_BYTES);
            let report = traced(&events, present, &seen.births_ns, Some(LIMIT_BYTES));
            for size in SIZES {
                let expected = groups(&events, size, LIMIT_BYTES);
                let candidates = report.candidates.as_deref().unwrap();
                let found = candidates.iter().find(|c| c.block_bytes == size).unwrap();
                let off = |found: f64, expected: f64| (found / expected - 1.0).abs();
                let (exact, about) = if present == size {
                    (1e-9, 0.2)
                } else {
                    (0.06, 0.2)
                };
                let coalesced = found.coalesced.unwrap();
                assert!(
                    off(coalesced, expected.coalesced) < exact,
                    "{name} from {present} to {size}: {coalesced} for {}",
                    expected.coalesced
                );
                // Blocks of level 1 of 1,024 pointers, stored twice; those above are few.
                let metadata = found.metadata.unwrap();
                let indirect = (expected.indirect * 2 * 48 * 1_024) as f64 / written as f64;
                assert!(
                    size > 8 << 10 || off(metadata, indirect) < about,
                    "{name} from {present} to {size}: indirect {metadata} for {indirect}"
                );
            }
        }
    }
}

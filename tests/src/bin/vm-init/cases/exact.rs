//! Known I/O gives exact counts, sizes, offsets and flags: in the report, in a recording, in the
//! objset kstat and in a blktrace taken at the same time.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::plan::{Class, Io, Plan, Step};
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::recorded;

use super::{Quiet, held_open, report};
use crate::blktrace::{self, Blktrace, Record};
use crate::harness::{Differences, Outcome, Test};
use crate::kstat;
use crate::zfs::{Mode, Zvol, blk_mq_missing};

pub(super) const TESTS: &[Test] = &[
    Test::new("kstat_and_blktrace_agree_with_the_plan_in_bio_mode", || {
        reference(Mode::Bio)
    }),
    Test::new(
        "kstat_and_blktrace_agree_with_the_plan_in_blk_mq_mode",
        || reference(Mode::BlkMq),
    ),
    Test::new("counts_are_exact_in_bio_mode", || counts(&[Mode::Bio])),
    Test::new("counts_are_exact_in_blk_mq_mode", || counts(&[Mode::BlkMq])),
    Test::new("counts_are_exact_in_both_modes_at_once", || {
        counts(&[Mode::Bio, Mode::BlkMq])
    }),
    Test::new(
        "a_burst_from_the_page_cache_loses_nothing_in_bio_mode",
        || burst(Mode::Bio),
    ),
    Test::new(
        "a_burst_from_the_page_cache_loses_nothing_in_blk_mq_mode",
        || burst(Mode::BlkMq),
    ),
];

const BYTES: u64 = 64 << 20;
const RECORDING: &str = "/tmp/exact.arrows";

/// Every kind of I/O, none of it at the start of the disk, where blktrace's probes are.
fn plan(seed: u64) -> Plan {
    let mut plan = Plan::random_writes(seed, 200, 8192, BYTES / 2);
    plan.steps
        .retain(|step| !matches!(step, Step::Write { offset: 0, .. }));
    for index in 0..40_u64 {
        let offset = BYTES / 2 + index * (256 << 10);
        plan.steps.push(Step::Write { offset, len: 4096 });
        plan.steps.push(Step::Read {
            offset,
            len: 16 << 10,
        });
        if index % 4 == 0 {
            plan.steps.push(Step::Flush);
            plan.steps.push(Step::WriteDurable {
                offset: offset + (64 << 10),
                len: 8192,
            });
            plan.steps.push(Step::Discard {
                offset: offset + (128 << 10),
                len: 64 << 10,
            });
            plan.steps.push(Step::Write {
                offset: offset + (64 << 10),
                len: 128 << 10,
            });
        }
    }
    plan
}

/// The references themselves, without our tool: what the tests below compare with is right.
fn reference(mode: Mode) -> Result<Outcome> {
    if let (Mode::BlkMq, Some(why)) = (mode, blk_mq_missing()) {
        return Ok(Outcome::Skipped(why));
    }
    let zvol = Zvol::create("reference", BYTES, "64K", mode)?;
    let _quiet = Quiet::begin()?;
    let trace = Blktrace::start(&zvol.disk, Path::new("/tmp/blktrace-reference"))?;
    let before = kstat::objset(&zvol.dataset)?;
    let plan = plan(1);
    plan.run(&zvol.path())?;
    let after = kstat::objset(&zvol.dataset)?;
    let records = trace.stop()?;
    let mut differences = Differences::default();
    references(
        &mut differences,
        &zvol,
        mode,
        &plan,
        &records,
        before,
        after,
    )?;
    differences.none()?;
    Ok(Outcome::Ok)
}

fn counts(modes: &[Mode]) -> Result<Outcome> {
    if let (true, Some(why)) = (modes.contains(&Mode::BlkMq), blk_mq_missing()) {
        return Ok(Outcome::Skipped(why));
    }
    let zvols: Vec<_> = modes
        .iter()
        .map(|mode| Zvol::create(&format!("exact-{}", mode.name()), BYTES, "64K", *mode))
        .collect::<Result<_>>()?;
    let quiet = Quiet::begin()?;
    let _held: Vec<_> = zvols.iter().map(held_open).collect::<Result<_>>()?;
    let mut traces = Vec::new();
    for zvol in &zvols {
        let folder = Path::new("/tmp").join(format!("blktrace-{}", zvol.disk));
        traces.push(Blktrace::start(&zvol.disk, &folder)?);
    }
    let before: Vec<_> = zvols
        .iter()
        .map(|zvol| kstat::objset(&zvol.dataset))
        .collect::<Result<_>>()?;
    let recording = Path::new(RECORDING);
    let mut arguments = vec!["--duration", "600", "--record", RECORDING];
    for zvol in &zvols {
        arguments.extend(["--device", &zvol.disk]);
    }
    let capture = Capture::start(&arguments);
    // On both at once, so that the hooks of both modes interleave.
    let done: Vec<Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = zvols
            .iter()
            .map(|zvol| scope.spawn(|| plan(2).run(&zvol.path()).context("the plan failed")))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic in a plan"))
            .collect()
    });
    done.into_iter().collect::<Result<()>>()?;
    let report = capture.interrupt();
    let mut differences = Differences::default();
    for ((zvol, mode), (trace, before)) in
        zvols.iter().zip(modes).zip(traces.into_iter().zip(before))
    {
        let after = kstat::objset(&zvol.dataset)?;
        let records = trace.stop()?;
        references(
            &mut differences,
            zvol,
            *mode,
            &plan(2),
            &records,
            before,
            after,
        )?;
        let device = capture::device(&report, &zvol.disk);
        let queue = Queue::read(&zvol.disk)?;
        compare(&mut differences, device, *mode, &plan(2), &queue);
        differences.same(
            &format!("{}: the recording", zvol.disk),
            recorded::ios(recording, &zvol.disk)?,
            plan(2).ios(&queue),
        );
    }
    lossless(&mut differences, &report);
    drop(quiet);
    differences.none()?;
    Ok(Outcome::Ok)
}

/// The fastest stream of I/Os that an emulated machine has: a page each, all at once. In blk-mq
/// mode the block layer merges some of them, so that only bios and bytes are known there.
fn burst(mode: Mode) -> Result<Outcome> {
    const PAGES: u64 = (48 << 20) / 4096;
    if let (Mode::BlkMq, Some(why)) = (mode, blk_mq_missing()) {
        return Ok(Outcome::Skipped(why));
    }
    let zvol = Zvol::create("burst", BYTES, "16K", mode)?;
    let report = report(&zvol, |path| {
        let mut file = OpenOptions::new().write(true).open(path)?;
        let mebibyte = vec![5; 1 << 20];
        for _ in 0..PAGES / 256 {
            file.write_all(&mebibyte)?;
        }
        Ok(file.sync_data()?)
    })?;
    let device = capture::device(&report, &zvol.disk);
    let write = &device["ops"]["write"];
    let mut differences = Differences::default();
    let flushes = device["flush"]["count"].as_u64().unwrap_or_default();
    differences.equal(
        "submitted but flushes",
        device["submitted"].as_u64().map(|bios| bios - flushes),
        Some(PAGES),
    );
    differences.equal("bytes", write["bytes"].as_u64(), Some(PAGES * 4096));
    if mode == Mode::Bio {
        differences.equal("writes", write["count"].as_u64(), Some(PAGES));
    }
    lossless(&mut differences, &report);
    differences.none()?;
    Ok(Outcome::Ok)
}

/// What the plan is at the zvol, by two witnesses that are not ours.
fn references(
    differences: &mut Differences,
    zvol: &Zvol,
    mode: Mode,
    plan: &Plan,
    records: &[Record],
    before: kstat::Objset,
    after: kstat::Objset,
) -> Result<()> {
    let queue = Queue::read(&zvol.disk)?;
    differences.equal("blk-mq by sysfs", queue.blk_mq, mode == Mode::BlkMq);
    let expected = plan.expected(&queue);
    let visible = blktrace::visible(plan, records);
    let bios = Queue {
        blk_mq: false,
        ..queue
    };
    let name = &zvol.disk;
    for (action, queue) in [("Q", &bios), ("C", &queue)] {
        differences.same(
            &format!("{name}: blktrace {action}"),
            blktrace::ios(records, action),
            with_data(visible.ios(queue)),
        );
    }
    differences.equal(
        &format!("{name}: objset kstat writes"),
        (
            after.writes - before.writes,
            after.nwritten - before.nwritten,
        ),
        (expected.write.count, expected.write.bytes),
    );
    differences.equal(
        &format!("{name}: objset kstat reads"),
        (after.reads - before.reads, after.nread - before.nread),
        (expected.read.count, expected.read.bytes),
    );
    Ok(())
}

/// A flush has no record of its own that a blktrace of every kernel shows.
fn with_data(ios: Vec<Io>) -> Vec<Io> {
    ios.into_iter().filter(|io| io.bytes > 0).collect()
}

/// The report's counts against the plan's.
fn compare(differences: &mut Differences, device: &Value, mode: Mode, plan: &Plan, queue: &Queue) {
    let expected = plan.expected(queue);
    let name = device["device"].as_str().unwrap_or("?").to_owned();
    differences.equal(
        &format!("{name}: mode"),
        device["mode"].as_str(),
        Some(mode.name()),
    );
    for (class, op) in [
        ("read", &expected.read),
        ("write", &expected.write),
        ("discard", &expected.discard),
    ] {
        differences.equal(
            &format!("{name}: {class}"),
            &class_of(&device["ops"][class]),
            op,
        );
        differences.equal(
            &format!("{name}: {class} errors"),
            device["ops"][class]["errors"].as_u64(),
            Some(0),
        );
    }
    differences.equal(
        &format!("{name}: other"),
        device["ops"]["other"]["count"].as_u64(),
        Some(0),
    );
    differences.equal(
        &format!("{name}: FUA"),
        device["sync"]["fua"].as_u64(),
        Some(expected.fua),
    );
    differences.equal(
        &format!("{name}: durable writes"),
        device["sync"]["durable_writes"].as_u64(),
        Some(expected.fua),
    );
    differences.equal(
        &format!("{name}: flushes"),
        device["flush"]["count"].as_u64(),
        Some(expected.flushes),
    );
    differences.equal(
        &format!("{name}: submitted"),
        device["submitted"].as_u64(),
        Some(expected.submitted),
    );
    differences.equal(
        &format!("{name}: outstanding"),
        device["outstanding"]["count"].as_u64(),
        Some(0),
    );
}

fn class_of(op: &Value) -> Class {
    let sizes: BTreeMap<u64, u64> = op["sizes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|size| Some((size["bytes"].as_u64()?, size["count"].as_u64()?)))
        .collect();
    Class {
        count: op["count"].as_u64().unwrap_or(u64::MAX),
        bytes: op["bytes"].as_u64().unwrap_or(u64::MAX),
        sizes,
    }
}

/// Nothing lost, nothing left over.
fn lossless(differences: &mut Differences, report: &Value) {
    let events = &report["capture"]["events"];
    for name in [
        "lost",
        "without_start",
        "without_completion",
        "time_inversions",
        "not_tracked",
    ] {
        differences.equal(&format!("events {name}"), events[name].as_u64(), Some(0));
    }
    differences.equal(
        "events delivered",
        events["delivered"].as_u64(),
        events["completed"].as_u64(),
    );
}

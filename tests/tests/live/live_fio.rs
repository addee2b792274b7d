//! A capture exported to fio and replayed by it: the second disk gets what the first one got.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, device};
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::{Plan, Step};
use zvoltrace_tests::rights::{Need, live};

const DISK_BYTES: u64 = 64 << 20;

/// Sizes from 4K to 512K, reads among the writes, a flush now and then.
fn plan() -> Plan {
    let mut plan = Plan::random_writes(1, 300, 8192, DISK_BYTES);
    plan.steps
        .extend(Plan::random_writes(2, 200, 4096, DISK_BYTES).steps);
    plan.steps
        .extend(Plan::random_writes(3, 40, 131_072, DISK_BYTES).steps);
    plan.steps
        .extend(Plan::random_writes(4, 3, 512 << 10, DISK_BYTES).steps);
    let reads = Plan::random_writes(5, 60, 16_384, DISK_BYTES).steps;
    plan.steps.extend(reads.into_iter().map(|step| match step {
        Step::Write { offset, len } => Step::Read { offset, len },
        other => other,
    }));
    for at in (0..plan.steps.len()).step_by(50).rev() {
        plan.steps.insert(at, Step::Flush);
    }
    plan
}

/// What must be the same on both disks: counts, bytes and exact sizes of each kind.
fn traffic(report: &Value, disk: &str) -> Value {
    let device = device(report, disk);
    let ops = ["read", "write", "discard", "other"].map(|op| {
        let stats = &device["ops"][op];
        serde_json::json!([
            op,
            stats["count"],
            stats["bytes"],
            stats["errors"],
            stats["sizes"]
        ])
    });
    serde_json::json!({ "ops": ops, "flushes": device["flush"]["count"] })
}

#[test]
fn fio_puts_on_another_disk_what_was_captured() {
    if !live(&[Need::Loop]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let captured = LoopDevice::new(DISK_BYTES).unwrap();
    let recording = path("rec.arrow");
    let capture = Capture::start(&["--record", &recording, captured.name()]);
    plan().run(&captured.path()).unwrap();
    let first = capture.interrupt();

    let export = ["export", &recording, "--to", "fio", "-o", &path("log")];
    let exported = binary::command(&export).output().unwrap();
    assert!(exported.status.success(), "{exported:?}");

    let other = LoopDevice::new(DISK_BYTES).unwrap();
    let capture = Capture::start(&[other.name()]);
    let replayed = Command::new("fio")
        .arg("log.replay.fio")
        .env("TARGET", other.path())
        .current_dir(folder.path())
        .output()
        .expect("fio (package fio) is there");
    assert!(replayed.status.success(), "{replayed:?}");
    let second = capture.interrupt();

    let expected = traffic(&first, captured.name());
    assert_eq!(traffic(&second, other.name()), expected);
    assert_eq!(expected["flushes"], 13, "{expected:#}");
}

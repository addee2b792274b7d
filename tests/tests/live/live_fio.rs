//! A capture exported to fio and replayed by it: the second disk gets what the first one got.

use std::process::Command;

use tempfile::TempDir;
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, device};
use zvoltrace_tests::expect::traffic;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::rights::{Need, live};

const DISK_BYTES: u64 = 64 << 20;

/// Sizes from 4K to 512K, reads among the writes, a flush now and then.
fn plan() -> Plan {
    let writes = [(300, 8192), (200, 4096), (40, 131_072), (3, 512 << 10)];
    Plan::like_a_guest(&writes, 60, DISK_BYTES)
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

    let expected = traffic(device(&first, captured.name()));
    assert_eq!(traffic(device(&second, other.name())), expected);
    assert_eq!(expected["flushes"], 13, "{expected:#}");
}

//! Disks that come and go during a capture.

use std::thread;
use std::time::Duration;

use zvoltrace_tests::capture::Capture;
use zvoltrace_tests::expect::device;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::zram_device::ZramDevice;

const DISK_BYTES: u64 = 32 << 20;

/// A new disk is traced within a second; a loaded machine gets another one.
const TRACED_WITHIN: Duration = Duration::from_secs(2);

#[test]
fn a_disk_of_another_mode_that_arrives_is_traced_from_then_on() {
    if !live(&[Need::Loop, Need::Zram]) {
        return;
    }
    let there = LoopDevice::new(DISK_BYTES).unwrap();
    let capture = Capture::start(&["--block-size", "8K", there.name(), "zram*"]);
    let arrived = ZramDevice::new(DISK_BYTES).unwrap();
    thread::sleep(TRACED_WITHIN);
    let on_there = Plan::random_writes(1, 77, 8192, DISK_BYTES);
    let on_arrived = Plan::random_writes(2, 99, 4096, DISK_BYTES);
    on_there.run(&there.path()).unwrap();
    on_arrived.run(&arrived.path()).unwrap();
    let report = capture.interrupt();

    on_there
        .expected(&Queue::read(there.name()).unwrap())
        .assert_is_reported(&report, there.name());
    on_arrived
        .expected(&Queue::read(&arrived.name()).unwrap())
        .assert_is_reported(&report, &arrived.name());
    assert!(device(&report, there.name())["appeared_ns"].is_null());
    assert!(device(&report, &arrived.name())["appeared_ns"].is_u64());
}

#[test]
fn a_capture_can_wait_for_its_first_disk_and_outlive_it() {
    if !live(&[Need::Zram]) {
        return;
    }
    // The number that the kernel gives next is that of the device made and removed here.
    let name = ZramDevice::new(DISK_BYTES).unwrap().name();
    let capture = Capture::start(&["--wait", "--block-size", "8K", &name]);
    let disk = ZramDevice::new(DISK_BYTES).unwrap();
    assert_eq!(disk.name(), name);
    thread::sleep(TRACED_WITHIN);
    let plan = Plan::random_writes(1, 55, 8192, DISK_BYTES);
    plan.run(&disk.path()).unwrap();
    let expected = plan.expected(&Queue::read(&name).unwrap());
    drop(disk);
    thread::sleep(TRACED_WITHIN);
    let report = capture.interrupt();
    expected.assert_is_reported(&report, &name);
    let device = device(&report, &name);
    assert!(device["appeared_ns"].is_u64(), "{device:#}");
    assert!(device["vanished_ns"].is_u64(), "{device:#}");
}

#[test]
fn a_name_that_is_used_again_is_another_disk() {
    if !live(&[Need::Zram]) {
        return;
    }
    let first = ZramDevice::new(DISK_BYTES).unwrap();
    let name = first.name();
    let capture = Capture::start(&["--block-size", "8K", &name]);
    Plan::random_writes(1, 40, 8192, DISK_BYTES)
        .run(&first.path())
        .unwrap();
    drop(first);
    thread::sleep(TRACED_WITHIN);
    let second = ZramDevice::new(DISK_BYTES).unwrap();
    assert_eq!(second.name(), name);
    thread::sleep(TRACED_WITHIN);
    Plan::random_writes(2, 60, 4096, DISK_BYTES)
        .run(&second.path())
        .unwrap();
    let report = capture.interrupt();
    let mut counts: Vec<_> = report["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| {
            assert_eq!(device["device"], name.as_str());
            device["ops"]["write"]["count"].as_u64().unwrap()
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [40, 60]);
}

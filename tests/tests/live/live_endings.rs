//! Every way a capture ends, and what it leaves behind: nothing.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use zvoltrace_tests::capture::{Capture, Signal};
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};

const DISK_BYTES: u64 = 32 << 20;

/// Numbers of the eBPF programs that a process holds open.
fn programs_of(pid: u32) -> BTreeSet<u32> {
    let mut programs = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        programs.extend(
            text.lines()
                .filter_map(|line| line.strip_prefix("prog_id:")?.trim().parse::<u32>().ok()),
        );
    }
    programs
}

/// Whether the kernel still has a program.
fn exists(program: u32) -> bool {
    Command::new("bpftool")
        .args(["prog", "show", "id", &program.to_string()])
        .output()
        .expect("bpftool (package bpftool) is there")
        .status
        .success()
}

/// Programs are freed after a grace period.
fn assert_all_go(programs: &BTreeSet<u32>) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Some(left) = programs.iter().find(|program| exists(**program)) {
        assert!(Instant::now() < deadline, "program {left} stays");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn each_signal_ends_a_capture_early_with_a_whole_report_marked_short() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let queue = Queue::read(disk.name()).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let plan = Plan::random_writes(1, 20, 4096, DISK_BYTES);
        let capture = Capture::start(&["--duration", "1h", disk.name()]);
        let programs = programs_of(capture.pid());
        assert!(!programs.is_empty());
        plan.run(&disk.path()).unwrap();
        capture.signal(signal);
        let report = capture.wait().report();
        plan.expected(&queue)
            .assert_is_reported(&report, disk.name());
        assert_eq!(report["capture"]["complete"], false, "{signal:?}");
        assert_ne!(
            report["capture"]["incomplete_reasons"],
            serde_json::json!([])
        );
        assert_all_go(&programs);
    }
}

#[test]
fn a_capture_that_runs_its_time_is_complete() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let plan = Plan::random_writes(1, 20, 4096, DISK_BYTES);
    let capture = Capture::start(&["--duration", "2", disk.name()]);
    plan.run(&disk.path()).unwrap();
    let report = capture.wait().report();
    plan.expected(&Queue::read(disk.name()).unwrap())
        .assert_is_reported(&report, disk.name());
    assert_eq!(report["capture"]["complete"], true);
    assert_eq!(report["capture"]["requested_ns"], 2_000_000_000_u64);
}

#[test]
fn nothing_stays_attached_after_a_kill() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let capture = Capture::start(&[disk.name()]);
    let programs = programs_of(capture.pid());
    assert!(!programs.is_empty());
    assert!(programs.iter().all(|program| exists(*program)));
    capture.signal(Signal::KILL);
    assert!(!capture.wait().status.success());
    assert_all_go(&programs);
}

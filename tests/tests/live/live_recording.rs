//! `capture --record` on real disks: the recording replays to the report printed live, whatever
//! ends it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, READY, Signal, device};
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::{Plan, Step};
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::tmpfs::Tmpfs;
use zvoltrace_tests::zram_device::ZramDevice;

const DISK_BYTES: u64 = 32 << 20;
const WRITES: usize = 300;

fn run_report(files: &[PathBuf]) -> Output {
    let mut report = binary::command(&["report", "--format", "json"]);
    report.args(files).output().unwrap()
}

/// The report of recorded files.
fn report(files: &[PathBuf]) -> Value {
    let output = run_report(files);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The report of a file that may be torn at its end: what comes before is reported then too.
fn report_of_torn(file: &Path) -> Option<Value> {
    serde_json::from_slice(&run_report(&[file.to_owned()]).stdout).ok()
}

/// A report without what a recording cannot share with the capture it was made by.
fn comparable(mut report: Value) -> Value {
    let capture = report["capture"].as_object_mut().unwrap();
    assert!(capture.remove("source").is_some() && capture.remove("overhead").is_some());
    report
}

fn assert_private(file: &Path) {
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600, "{}", file.display());
}

/// The parts of `folder` in their order.
fn parts(folder: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut parts: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    parts
}

fn writes(report: &Value, disk: &str) -> u64 {
    device(report, disk)["ops"]["write"]["count"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_recording_replays_to_the_report_printed_live() {
    if !live(&[Need::Loop, Need::Zram]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rec.arrow");
    let blk_mq = LoopDevice::new(DISK_BYTES).unwrap();
    let bio = ZramDevice::new(DISK_BYTES).unwrap();
    let mut plan = Plan::random_writes(3, 500, 8192, DISK_BYTES);
    plan.steps.extend([
        Step::Flush,
        Step::Read {
            offset: 0,
            len: 65_536,
        },
        Step::WriteDurable {
            offset: 8192,
            len: 4096,
        },
        Step::Discard {
            offset: 0,
            len: 1 << 20,
        },
    ]);
    let capture = Capture::start(&[
        "--block-size",
        "16K",
        "--record",
        file.to_str().unwrap(),
        blk_mq.name(),
        &bio.name(),
    ]);
    plan.run(&blk_mq.path()).unwrap();
    plan.run(&bio.path()).unwrap();
    // Over a second, so that there are samples on the way.
    thread::sleep(Duration::from_millis(1500));
    plan.run(&blk_mq.path()).unwrap();
    let printed = capture.interrupt();
    assert!(writes(&printed, blk_mq.name()) >= 1000, "{printed:#}");
    assert_private(&file);
    assert_eq!(comparable(report(&[file])), comparable(printed));
}

#[test]
fn a_kill_leaves_every_io_that_was_a_second_old() {
    if !live(&[Need::Loop]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rec.arrow");
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let args = ["--record", file.to_str().unwrap(), disk.name()];
    let capture = Capture::start(&args);
    let plan = Plan::random_writes(3, WRITES, 8192, DISK_BYTES);
    plan.run(&disk.path()).unwrap();
    // Nothing more is done to it, and it is read while it is being written: only age can have
    // brought the rows there. How long that takes on a busy machine is not judged.
    let patience = Instant::now() + Duration::from_secs(30);
    while report_of_torn(&file).and_then(|report| device_of(&report, disk.name()))
        != Some(WRITES as u64)
    {
        assert!(Instant::now() < patience, "not written by age");
        thread::sleep(Duration::from_millis(200));
    }
    plan.run(&disk.path()).unwrap();
    capture.signal(Signal::KILL);
    assert!(!capture.wait().status.success());
    assert_private(&file);
    let report = report(&[file]);
    let kept = writes(&report, disk.name());
    assert!(
        (WRITES as u64..=2 * WRITES as u64).contains(&kept),
        "{kept}"
    );
    assert_eq!(report["capture"]["complete"], false);
    assert_ne!(
        report["capture"]["incomplete_reasons"],
        serde_json::json!([])
    );
}

/// Delivered writes of a disk, when the report has it already.
fn device_of(report: &Value, disk: &str) -> Option<u64> {
    let devices = report["devices"].as_array()?;
    let row = devices.iter().find(|row| row["device"] == disk)?;
    row["ops"]["write"]["count"].as_u64()
}

#[test]
fn parts_are_small_and_private_and_join_to_the_report_printed_live() {
    if !live(&[Need::Zram]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let disk = ZramDevice::new(MANY_BYTES).unwrap();
    let printed = record_many(&folder, &disk, &[]);
    let parts = parts(&folder);
    assert!(parts.len() >= 3, "{parts:?}");
    for part in &parts {
        assert!(fs::metadata(part).unwrap().len() <= 1 << 20, "{parts:?}");
        assert_private(part);
    }
    assert_eq!(comparable(report(&parts)), comparable(printed));
    // A part alone counts from its own beginning; together they are the whole.
    let each = parts.iter().map(|part| {
        let alone = report(std::slice::from_ref(part));
        assert_eq!(alone["capture"]["complete"], false, "{}", part.display());
        writes(&alone, &disk.name())
    });
    assert_eq!(each.sum::<u64>(), MANY as u64);
}

#[test]
fn only_the_newest_parts_are_kept_when_asked() {
    if !live(&[Need::Zram]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let disk = ZramDevice::new(MANY_BYTES).unwrap();
    record_many(&folder, &disk, &["--max-files", "2"]);
    let parts = parts(&folder);
    let [older, newer] = &parts[..] else {
        panic!("not two parts: {parts:?}")
    };
    assert!(older < newer && !parts[0].ends_with("rec.0001.arrow"));
    let report = report(&parts);
    assert!(writes(&report, &disk.name()) < MANY as u64);
    let reasons = report["capture"]["incomplete_reasons"].to_string();
    assert!(
        reasons.contains("earlier parts were not given"),
        "{reasons}"
    );
}

/// So many I/Os that a recording of them has several parts of the smallest size.
const MANY: usize = 350_000;
const MANY_BYTES: u64 = 2 << 30;

/// Records `MANY` writes to parts in `folder`; the report printed live.
fn record_many(folder: &TempDir, disk: &ZramDevice, more: &[&str]) -> Value {
    let file = folder.path().join("rec.arrow");
    let name = disk.name();
    let mut args = vec!["--record", file.to_str().unwrap(), "--max-size", "1M"];
    args.extend(more);
    args.extend(["--ring-size", "128M", &name]);
    let capture = Capture::start(&args);
    let plan = Plan::random_writes(5, MANY, 4096, MANY_BYTES);
    plan.run(&disk.path()).unwrap();
    let printed = capture.interrupt();
    plan.expected(&Queue::read(&name).unwrap())
        .assert_totals(&printed, &name);
    assert_eq!(printed["capture"]["events"]["lost"], 0, "{printed:#}");
    printed
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_capture() {
    if !live(&[Need::Zram]) {
        return;
    }
    let small = Tmpfs::new(512 << 10).unwrap();
    let file = small.path().join("rec.arrow");
    let disk = ZramDevice::new(MANY_BYTES).unwrap();
    let name = disk.name();
    let mut capture = Capture::spawn(&[
        "capture",
        "--format",
        "json",
        "--ring-size",
        "128M",
        "--record",
        file.to_str().unwrap(),
        &name,
    ]);
    capture.wait_for(READY);
    let plan = Plan::random_writes(5, MANY, 4096, MANY_BYTES);
    plan.run(&disk.path()).unwrap();
    capture.signal(Signal::INT);
    let ended = capture.wait();

    // The report is whole and printed; the recording's end is what failed.
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    plan.expected(&Queue::read(&name).unwrap())
        .assert_totals(&printed, &name);
    let kept_bytes = fs::metadata(&file).unwrap().len();
    for words in [
        "rec.arrow".to_owned(),
        "No space left".to_owned(),
        format!("the first {kept_bytes} bytes are kept and readable"),
    ] {
        assert!(ended.stderr.contains(&words), "{words}:\n{}", ended.stderr);
    }
    let kept = report(&[file]);
    let count = writes(&kept, &name);
    assert!(count > 0 && count < MANY as u64, "{count}");
    assert_eq!(kept["capture"]["complete"], false);
}

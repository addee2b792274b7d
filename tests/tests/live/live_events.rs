//! `events` on a live disk: each I/O is one line, filters hold, a reader may leave.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, READY, Signal};
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::rights::{Need, live};

const DISK_BYTES: u64 = 32 << 20;
const WRITES: usize = 300;

#[test]
fn every_io_of_a_live_disk_is_one_line() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let mut events = Capture::spawn(&["events", "--op", "write", "--min-size", "8K", disk.name()]);
    events.wait_for(READY);
    let plan = Plan::random_writes(3, WRITES, 8192, DISK_BYTES);
    plan.run(&disk.path()).unwrap();
    let small = Plan::random_writes(4, 10, 4096, DISK_BYTES);
    small.run(&disk.path()).unwrap();
    events.signal(Signal::INT);
    let ended = events.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), WRITES, "{}", ended.stderr);
    assert!(
        ended.stdout.lines().all(|line| line.contains(" + 16 ")),
        "{}",
        ended.stdout
    );
    // Ctrl-C is how it ends: nothing is missing.
    let notes: Vec<_> = ended.stderr.lines().collect();
    assert!(
        matches!(notes[..], [only] if only.starts_with(READY)),
        "{notes:?}"
    );
}

#[test]
fn a_reader_that_leaves_ends_a_live_stream_quietly() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let mut child = binary::command(&["events", "--format", "jsonl", disk.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(notes.next().unwrap().unwrap().starts_with(READY));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let plan = Plan::random_writes(5, WRITES, 8192, DISK_BYTES);
    plan.run(&disk.path()).unwrap();
    let line: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(line.is_object());
    drop(lines);
    // It learns that nobody reads when it prints again.
    plan.run(&disk.path()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(notes.map_while(Result::ok).collect::<Vec<_>>(), [""; 0]);
}

//! Known I/O gives exactly the known counts, in both modes.

use std::path::Path;
use std::thread;

use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, READY};
use zvoltrace_tests::expect::device;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::{LONGEST, Plan, Step};
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::zram_device::ZramDevice;

const DISK_BYTES: u64 = 64 << 20;

/// Every kind of I/O, in numbers that can be told apart.
fn every_kind() -> Plan {
    let mut plan = Plan::random_writes(1, 400, 8192, DISK_BYTES);
    plan.steps
        .extend(Plan::random_writes(2, 61, 4096, DISK_BYTES).steps);
    let at = |n: u64| n * (256 << 10);
    plan.steps.extend((0..3).map(|n| Step::Write {
        offset: at(n * 3),
        len: LONGEST,
    }));
    plan.steps.extend((0..17).map(|n| Step::WriteDurable {
        offset: at(n),
        len: 16384,
    }));
    plan.steps.extend((0..29).map(|n| Step::Read {
        offset: at(n),
        len: 12288,
    }));
    plan.steps.extend([Step::Flush; 7]);
    plan.steps.extend((0..5).map(|n| Step::Discard {
        offset: at(n),
        len: 128 << 10,
    }));
    plan
}

/// Runs the plan in a capture of the disk and compares.
fn exact(disk: &str, node: &Path, mode: &str) {
    exact_with(disk, node, mode, None);
}

/// The same with these copies of each hook, as `ZVOLTRACE_HOOK_COPIES` names them.
fn exact_with(disk: &str, node: &Path, mode: &str, copies: Option<&str>) {
    let queue = Queue::read(disk).unwrap();
    assert_eq!(queue.blk_mq, mode == "blk-mq");
    let plan = every_kind();
    let arguments = ["capture", "--format", "json", "--block-size", "128K", disk];
    let mut command = binary::command(&arguments);
    command.envs(copies.map(|copies| ("ZVOLTRACE_HOOK_COPIES", copies)));
    let mut capture = Capture::spawn_command(&mut command);
    capture.wait_for(READY);
    plan.run(node).unwrap();
    let report = capture.interrupt();
    plan.expected(&queue).assert_is_reported(&report, disk);

    let device = device(&report, disk);
    assert_eq!(device["mode"], mode);
    assert_eq!(device["volblocksize_bytes"], 128 << 10);
    assert_eq!(device["outstanding"]["count"], 0);
    assert_eq!(device["verdict"]["code"], "write_smaller_than_block");
    let events = &report["capture"]["events"];
    assert_eq!(events["without_start"], 0, "{events:#}");
    assert_eq!(events["without_completion"], 0, "{events:#}");
}

#[test]
fn every_kind_of_io_is_counted_exactly_on_a_blk_mq_disk() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    exact(disk.name(), &disk.path(), "blk-mq");
}

#[test]
fn every_kind_of_io_is_counted_exactly_on_a_bio_mode_disk() {
    if !live(&[Need::Zram]) {
        return;
    }
    let disk = ZramDevice::new(DISK_BYTES).unwrap();
    exact(&disk.name(), &disk.path(), "bio");
}

/// As where the kernel skips the first program of a hook every time, and as where it never does.
#[test]
fn the_copies_of_hooks_count_exactly_what_the_first_was_skipped_for_and_nothing_else() {
    if !live(&[Need::Loop, Need::Zram]) {
        return;
    }
    for copies in ["2", "1,2"] {
        let disk = LoopDevice::new(DISK_BYTES).unwrap();
        exact_with(disk.name(), &disk.path(), "blk-mq", Some(copies));
        let disk = ZramDevice::new(DISK_BYTES).unwrap();
        exact_with(&disk.name(), &disk.path(), "bio", Some(copies));
    }
}

#[test]
fn a_bio_that_blk_mq_cuts_is_several_requests_and_one_submission() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    Queue::limit(disk.name(), 64 << 10).unwrap();
    let plan = Plan {
        steps: (0..20)
            .map(|n| Step::Write {
                offset: n << 20,
                len: LONGEST,
            })
            .collect(),
    };
    let capture = Capture::start(&["--block-size", "16K", disk.name()]);
    plan.run(&disk.path()).unwrap();
    let report = capture.interrupt();
    let expected = plan.expected(&Queue::read(disk.name()).unwrap());
    assert_eq!((expected.write.count, expected.submitted), (160, 20));
    expected.assert_is_reported(&report, disk.name());
}

#[test]
fn io_on_a_partition_folds_into_its_disk() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::with_partition(DISK_BYTES, 2048, 65536).unwrap();
    let partition = disk.partition();
    let on_partition = Plan::random_writes(3, 310, 8192, 16 << 20);
    let on_disk = Plan::random_writes(4, 20, 4096, 512 << 10);
    let capture = Capture::start(&["--block-size", "8K", disk.name()]);
    on_partition
        .run(&Path::new("/dev").join(&partition))
        .unwrap();
    on_disk.run(&disk.path()).unwrap();
    let report = capture.interrupt();

    let mut both = on_partition;
    both.steps.extend(on_disk.steps);
    both.expected(&Queue::read(disk.name()).unwrap())
        .assert_is_reported(&report, disk.name());
    assert_eq!(report["devices"].as_array().unwrap().len(), 1);
}

#[test]
fn writers_of_one_sector_at_the_same_time_are_each_counted() {
    const EACH: usize = 2000;
    if !live(&[Need::Zram]) {
        return;
    }
    let disk = ZramDevice::new(DISK_BYTES).unwrap();
    let plan = Plan {
        steps: vec![
            Step::Write {
                offset: 4096,
                len: 4096
            };
            EACH
        ],
    };
    let capture = Capture::start(&[&disk.name()]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| plan.run(&disk.path()).unwrap());
        }
    });
    let report = capture.interrupt();
    let all = Plan {
        steps: [plan.steps.as_slice(); 4].concat(),
    };
    all.expected(&Queue::read(&disk.name()).unwrap())
        .assert_is_reported(&report, &disk.name());
}

#[test]
fn two_disks_of_different_modes_and_two_captures_do_not_meet() {
    if !live(&[Need::Loop, Need::Zram]) {
        return;
    }
    let blk_mq = LoopDevice::new(DISK_BYTES).unwrap();
    let bio = ZramDevice::new(DISK_BYTES).unwrap();
    let bio_name = bio.name();
    let on_blk_mq = Plan::random_writes(5, 123, 8192, DISK_BYTES);
    let on_bio = Plan::random_writes(6, 231, 16384, DISK_BYTES);
    let both = Capture::start(&["--block-size", "8K", blk_mq.name(), &bio_name]);
    let one = Capture::start(&["--block-size", "8K", &bio_name]);
    on_blk_mq.run(&blk_mq.path()).unwrap();
    on_bio.run(&bio.path()).unwrap();
    let both = both.interrupt();
    let one = one.interrupt();

    on_blk_mq
        .expected(&Queue::read(blk_mq.name()).unwrap())
        .assert_is_reported(&both, blk_mq.name());
    let expected = on_bio.expected(&Queue::read(&bio_name).unwrap());
    expected.assert_is_reported(&both, &bio_name);
    expected.assert_is_reported(&one, &bio_name);
    assert_eq!(one["devices"].as_array().unwrap().len(), 1);
    let total = &both["totals"]["write"];
    assert_eq!(total["count"], 123 + 231, "{total:#}");
}

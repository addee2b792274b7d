//! I/O that is in flight when a capture starts or ends: counted, and nothing is made up for it.

use std::thread;

use zvoltrace_tests::capture::Capture;
use zvoltrace_tests::expect::device;
use zvoltrace_tests::plan::{Plan, Step};
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::stallable_disk::StallableDisk;

const DISK_BYTES: u64 = 32 << 20;

fn one_write() -> Plan {
    Plan {
        steps: vec![Step::Write {
            offset: 0,
            len: 4096,
        }],
    }
}

#[test]
fn a_completion_whose_start_was_before_the_capture_is_no_io() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = StallableDisk::new(DISK_BYTES).unwrap();
    disk.stall().unwrap();
    let (report, plan) = thread::scope(|scope| {
        let early = scope.spawn(|| one_write().run(&disk.path()));
        disk.wait_for_in_flight(1).unwrap();
        let capture = Capture::start(&["--block-size", "8K", disk.name()]);
        disk.resume().unwrap();
        early.join().unwrap().unwrap();
        let plan = Plan::random_writes(1, 330, 8192, DISK_BYTES);
        plan.run(&disk.path()).unwrap();
        (capture.interrupt(), plan)
    });
    assert_eq!(report["capture"]["events"]["without_start"], 1);
    plan.expected(&Queue::read(disk.name()).unwrap())
        .assert_is_reported(&report, disk.name());
}

#[test]
fn io_outstanding_at_the_end_is_named_with_its_age_and_not_counted() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = StallableDisk::new(DISK_BYTES).unwrap();
    let plan = Plan::random_writes(1, 330, 8192, DISK_BYTES);
    let report = thread::scope(|scope| {
        let capture = Capture::start(&["--block-size", "8K", disk.name()]);
        plan.run(&disk.path()).unwrap();
        disk.stall().unwrap();
        let late = scope.spawn(|| one_write().run(&disk.path()));
        disk.wait_for_in_flight(1).unwrap();
        let report = capture.interrupt();
        disk.resume().unwrap();
        late.join().unwrap().unwrap();
        report
    });
    assert_eq!(report["capture"]["events"]["without_completion"], 1);
    let reported = device(&report, disk.name());
    assert_eq!(reported["outstanding"]["count"], 1);
    assert_ne!(reported["outstanding"]["oldest_ns"], 0);
    let mut expected = plan.expected(&Queue::read(disk.name()).unwrap());
    // It was submitted; that is all that is known of it.
    expected.submitted += 1;
    expected.assert_is_reported(&report, disk.name());
}

#[test]
fn two_writes_of_one_sector_in_flight_together_are_two() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = StallableDisk::new(DISK_BYTES).unwrap();
    let capture = Capture::start(&[disk.name()]);
    disk.stall().unwrap();
    thread::scope(|scope| {
        let writes = [0, 1].map(|_| scope.spawn(|| one_write().run(&disk.path())));
        disk.wait_for_in_flight(2).unwrap();
        disk.resume().unwrap();
        for write in writes {
            write.join().unwrap().unwrap();
        }
    });
    let report = capture.interrupt();
    let plan = Plan {
        steps: [one_write().steps, one_write().steps].concat(),
    };
    plan.expected(&Queue::read(disk.name()).unwrap())
        .assert_is_reported(&report, disk.name());
}

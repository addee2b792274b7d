//! When the ring is full: what is lost is said to the unit, and totals stay right.

use zvoltrace_tests::capture::{Capture, Signal};
use zvoltrace_tests::expect::device;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::queue::Queue;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::zram_device::ZramDevice;

const DISK_BYTES: u64 = 64 << 20;

#[test]
fn a_ring_too_small_loses_events_and_says_how_many_while_totals_stay_right() {
    const WRITES: u64 = 5000;
    if !live(&[Need::Zram]) {
        return;
    }
    let disk = ZramDevice::new(DISK_BYTES).unwrap();
    let name = disk.name();
    let capture = Capture::start(&["--block-size", "8K", "--ring-size", "4K", &name]);
    // While it stands still nothing is taken out of the ring.
    capture.signal(Signal::STOP);
    let plan = Plan::random_writes(1, usize::try_from(WRITES).unwrap(), 8192, DISK_BYTES);
    plan.run(&disk.path()).unwrap();
    capture.signal(Signal::CONT);
    let report = capture.interrupt();

    plan.expected(&Queue::read(&name).unwrap())
        .assert_totals(&report, &name);
    let events = &report["capture"]["events"];
    let [completed, delivered, lost] =
        ["completed", "delivered", "lost"].map(|key| events[key].as_u64().unwrap());
    assert_eq!(completed, WRITES);
    assert_eq!(delivered + lost, WRITES);
    // 4,096 bytes hold some fifty records.
    assert!((4900..WRITES).contains(&lost), "{events:#}");
    let device = device(&report, &name);
    assert_eq!(device["lost"], lost);
    let in_sizes: u64 = device["ops"]["write"]["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|size| size["count"].as_u64().unwrap())
        .sum();
    assert_eq!(in_sizes, delivered);
    assert_eq!(report["capture"]["complete"], false);
    assert_ne!(
        report["capture"]["incomplete_reasons"],
        serde_json::json!([])
    );
}

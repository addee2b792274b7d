//! Comparisons of reports made by hand.

use proptest::{collection::vec, prelude::*};

use super::{compare, render_text};
use crate::report::{model::Report, samples};

fn slower() -> Report {
    let mut report = samples::busy();
    let device = &mut report.devices[0];
    device.device = "zd32".to_owned();
    device.volblocksize_bytes = Some(16_384);
    device.verdict.code = crate::report::model::Code::Fits;
    for bucket in &mut device.ops.write.latency_histogram {
        bucket.from_ns *= 4;
        bucket.to_ns *= 4;
    }
    let latency = &mut device.ops.write.latency_ns;
    for value in [&mut latency.p50, &mut latency.p90, &mut latency.p99] {
        *value = value.map(|ns| ns * 4);
    }
    report
}

#[test]
fn a_report_does_not_differ_from_itself() {
    let report = samples::busy();
    let comparison = compare(("a.json", &report), ("b.json", &report));
    assert_eq!(comparison.devices.len(), 1);
    let pair = &comparison.devices[0];
    assert!(!pair.verdict.changed);
    for metric in &pair.metrics {
        assert_ne!(metric.beyond_noise, Some(true), "{}", metric.key);
        assert!(metric.difference.is_none_or(|difference| difference == 0.0));
    }
}

#[test]
fn a_slower_capture_reads_as_reviewed() {
    let comparison = compare(
        ("before.json", &samples::busy()),
        ("after.arrow", &slower()),
    );
    insta::assert_snapshot!(render_text(&comparison, true));
}

proptest! {
    #[test]
    fn every_line_fits_the_page(
        counts in vec(0..1_u64 << 53, 2), sizes in vec(0..=u64::MAX, 2), times in vec(0..=u64::MAX, 2)
    ) {
        let mut reports = [samples::busy(), samples::busy()];
        for (n, report) in reports.iter_mut().enumerate() {
            let device = &mut report.devices[0];
            let write = &mut device.ops.write;
            (write.count, write.bytes, write.errors) = (counts[n], sizes[n], counts[n] / 3);
            let latency = &mut write.latency_ns;
            latency.p50 = Some(times[n]);
            latency.max = Some(times[n] >> (n * 40));
            device.flush.count = counts[1 - n];
            device.access.as_mut().unwrap().working_set_bytes = sizes[1 - n];
        }
        let text = render_text(&compare(("a", &reports[0]), ("b", &reports[1])), true);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= 80, "{}", line);
        }
    }
}

#[test]
fn json_has_its_own_schema_and_comes_back() {
    let comparison = compare(("a", &samples::busy()), ("b", &slower()));
    let json = comparison.to_json().unwrap();
    assert!(json.contains("\"schema\": \"zvoltrace.compare/1\""));
    assert_eq!(
        serde_json::from_str::<super::Comparison>(&json).unwrap(),
        comparison
    );
}

#[test]
fn devices_are_paired_by_dataset_and_the_others_named() {
    let mut a = samples::busy();
    let mut b = samples::busy();
    let mut other = a.devices[0].clone();
    other.device = "zd64".to_owned();
    other.dataset = Some("tank/vm-101-disk-0".to_owned());
    a.devices.push(other.clone());
    // The same volumes after a reboot, in another order and under other names.
    other.device = "zd16".to_owned();
    b.devices[0].device = "zd48".to_owned();
    b.devices.insert(0, other.clone());
    other.dataset = Some("tank/vm-102-disk-0".to_owned());
    other.device = "zd96".to_owned();
    b.devices.push(other);
    let comparison = compare(("a", &a), ("b", &b));
    let pairs = comparison
        .devices
        .iter()
        .map(|pair| (&*pair.device_a, &*pair.device_b));
    assert_eq!(
        pairs.collect::<Vec<_>>(),
        [("zd16", "zd48"), ("zd64", "zd16")]
    );
    assert_eq!(comparison.only_in_b, ["zd96 (tank/vm-102-disk-0)"]);
    assert!(comparison.only_in_a.is_empty());
}

#[test]
fn each_side_may_be_a_json_report_and_others_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let report = samples::busy();
    let path = file("a.json", &serde_json::to_string(&report).unwrap());
    let loaded = super::load(&path, crate::source::blktrace::Options::default()).unwrap();
    assert_eq!(loaded.report, report);
    let error_of = |name: &str, text: &str| {
        let path = file(name, text);
        let loaded = super::load(&path, crate::source::blktrace::Options::default());
        format!("{:#}", loaded.unwrap_err())
    };
    assert!(
        error_of("b", "{\"schema\": \"zvoltrace.report/2\"}")
            .contains("compares zvoltrace.report/1")
    );
    assert!(error_of("c", "{\"schema\": \"zvoltrace.report/1\"}").contains("damaged report"));
    assert!(error_of("d", "{}").contains("names no schema"));
    assert!(error_of("e", "{").contains("is no JSON report"));
}

//! Comparing a report with what was executed: to the unit, nothing left over.

use serde_json::Value;

use crate::plan::{Class, Expected};

impl Expected {
    /// Everything that `report` says of `disk` is this, and nothing was lost on the way.
    ///
    /// # Panics
    /// At the first number that differs.
    pub fn assert_is_reported(&self, report: &Value, disk: &str) {
        let events = &report["capture"]["events"];
        for key in ["lost", "not_tracked", "time_inversions"] {
            assert_eq!(events[key], 0, "capture.events.{key}\n{events:#}");
        }
        assert_eq!(events["delivered"], events["completed"], "{events:#}");
        self.assert_totals(report, disk);
        let device = device(report, disk);
        for (op, class) in self.classes() {
            let stats = &device["ops"][op];
            assert_eq!(sizes(stats), class.sizes(), "ops.{op}.sizes of {disk}");
            assert_eq!(stats["sizes_rest"]["count"], 0, "ops.{op} of {disk}");
            assert_latencies(device, op, class);
        }
        let sync = &device["sync"];
        assert_eq!(sync["fua"], self.fua, "{sync:#}");
        assert_eq!(sync["durable_writes"], self.fua, "{sync:#}");
        // Direct writes carry the hint, all of them.
        assert_eq!(sync["hinted"], self.write.count, "{sync:#}");
        assert_eq!(sync["preflush_with_data"], 0, "{sync:#}");
    }

    /// What stays exact when events are lost.
    ///
    /// # Panics
    /// At the first number that differs.
    pub fn assert_totals(&self, report: &Value, disk: &str) {
        let device = device(report, disk);
        for (op, class) in self.classes() {
            let stats = &device["ops"][op];
            assert_eq!(stats["count"], class.count, "ops.{op}.count of {disk}");
            assert_eq!(stats["bytes"], class.bytes, "ops.{op}.bytes of {disk}");
            assert_eq!(stats["errors"], 0, "ops.{op}.errors of {disk}");
        }
        assert_eq!(device["ops"]["other"]["count"], 0, "ops.other of {disk}");
        assert_eq!(
            device["flush"]["count"], self.flushes,
            "flush.count of {disk}"
        );
        assert_eq!(device["submitted"], self.submitted, "submitted of {disk}");
    }

    fn classes(&self) -> [(&'static str, &Class); 3] {
        [
            ("read", &self.read),
            ("write", &self.write),
            ("discard", &self.discard),
        ]
    }
}

impl Class {
    /// Sizes as `(bytes, count)`, by bytes.
    fn sizes(&self) -> Vec<(u64, u64)> {
        self.sizes.iter().map(|(b, c)| (*b, *c)).collect()
    }
}

/// Sizes of a report as `(bytes, count)`, by bytes.
fn sizes(stats: &Value) -> Vec<(u64, u64)> {
    let mut sizes: Vec<_> = stats["sizes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|size| Some((size["bytes"].as_u64()?, size["count"].as_u64()?)))
        .collect();
    sizes.sort_unstable();
    sizes
}

/// A class with I/O has a whole latency summary and as many I/Os in its histogram; one without
/// has none. On blk-mq, queue and service time stand beside it.
fn assert_latencies(device: &Value, op: &str, class: &Class) {
    let stats = &device["ops"][op];
    let mut summaries = vec!["latency_ns"];
    if device["mode"] == "blk-mq" {
        summaries.extend(["queue_ns", "service_ns"]);
    }
    for summary in summaries {
        let values = ["min", "p50", "p90", "p99", "p999", "max", "mean"]
            .map(|key| stats[summary][key].as_u64());
        if class.count == 0 {
            assert_eq!(values, [None; 7], "ops.{op}.{summary}");
        } else {
            assert!(values.iter().all(Option::is_some), "ops.{op}.{summary}");
            let [min, p50, p90, p99, p999, max, _] = values;
            assert!(
                [min, p50, p90, p99, p999, max].is_sorted(),
                "ops.{op}.{summary}: {values:?}"
            );
        }
    }
    let in_histogram: u64 = stats["latency_histogram"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|bucket| bucket["count"].as_u64())
        .sum();
    assert_eq!(in_histogram, class.count, "ops.{op}.latency_histogram");
}

/// What a replay on another disk must repeat of a report's device: counts, bytes and exact sizes
/// of each kind, and flushes.
#[must_use]
pub fn traffic(device: &Value) -> Value {
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

/// The part of a report that is about one disk.
///
/// # Panics
/// When there is not exactly one.
#[must_use]
pub fn device<'a>(report: &'a Value, disk: &str) -> &'a Value {
    let mut named = report["devices"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|device| device["device"] == disk);
    match (named.next(), named.next()) {
        (Some(device), None) => device,
        _ => panic!("not exactly one device {disk} in the report:\n{report:#}"),
    }
}

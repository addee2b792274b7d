//! What of two devices is compared.

use super::{
    Metric, Unit,
    noise::{quantiles_differ, shares_differ},
};
use crate::report::model::{DeviceReport, Latency, OpStats};

/// Key, share (none where it is no quantile), and where it stands.
type Percentile = (&'static str, Option<f64>, fn(&Latency) -> Option<u64>);

/// A device and the seconds of its capture.
type Of<'a> = (&'a DeviceReport, f64);

/// Every metric that at least one of the two has.
pub(super) fn compare(a: Of<'_>, b: Of<'_>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let ops = |device: &DeviceReport| {
        let ops = device.ops.clone();
        [ops.read, ops.write, ops.discard, ops.other]
    };
    let names = ["read", "write", "discard", "other"];
    for ((name, of_a), of_b) in names.into_iter().zip(ops(a.0)).zip(ops(b.0)) {
        if of_a.count > 0 || of_b.count > 0 {
            operation(name, (&of_a, a.1), (&of_b, b.1), &mut metrics);
        }
        if name == "write" {
            writes(a.0, b.0, &mut metrics);
        }
    }
    flushes(a, b, &mut metrics);
    alignment(a.0, b.0, &mut metrics);
    structure(a.0, b.0, &mut metrics);
    metrics.retain(|metric| metric.a.is_some() || metric.b.is_some());
    metrics
}

pub(super) fn seconds(ns: u64) -> f64 {
    number(ns) / 1e9
}

#[allow(clippy::cast_precision_loss, reason = "shown with three digits")]
fn number(n: u64) -> f64 {
    n as f64
}

fn per(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

fn metric(key: String, unit: Unit, a: Option<f64>, b: Option<f64>) -> Metric {
    let both = a.zip(b);
    Metric {
        key,
        unit,
        a,
        b,
        difference: both.map(|(a, b)| b - a),
        ratio: both.and_then(|(a, b)| per(b, a)),
        beyond_noise: None,
    }
}

fn operation(name: &str, a: (&OpStats, f64), b: (&OpStats, f64), to: &mut Vec<Metric>) {
    let mut add = |key: &str, unit, of: &dyn Fn(&OpStats, f64) -> Option<f64>| {
        to.push(metric(
            format!("{name}.{key}"),
            unit,
            of(a.0, a.1),
            of(b.0, b.1),
        ));
    };
    add("rate", Unit::PerSecond, &|op, s| per(number(op.count), s));
    add("throughput", Unit::BytesPerSecond, &|op, s| {
        per(number(op.bytes), s)
    });
    add("mean_size", Unit::Bytes, &|op, _| {
        per(number(op.bytes), number(op.count))
    });
    add("dominant_size", Unit::Bytes, &|op, _| {
        op.sizes.first().map(|size| number(size.bytes))
    });
    let percentiles: [Percentile; 6] = [
        ("p50", Some(0.5), |latency| latency.p50),
        ("p90", Some(0.9), |latency| latency.p90),
        ("p99", Some(0.99), |latency| latency.p99),
        ("p999", Some(0.999), |latency| latency.p999),
        ("max", None, |latency| latency.max),
        ("mean", None, |latency| latency.mean),
    ];
    for (key, share, of) in percentiles {
        let key = format!("{name}.latency_ns.{key}");
        let value = |op: &OpStats| of(&op.latency_ns).map(number);
        let mut metric = metric(key, Unit::Ns, value(a.0), value(b.0));
        let histograms = (&a.0.latency_histogram, &b.0.latency_histogram);
        metric.beyond_noise =
            share.and_then(|share| quantiles_differ(histograms.0, histograms.1, share));
        to.push(metric);
    }
    let errors = |op: &OpStats| per(number(op.errors), number(op.count));
    to.push(share(
        format!("{name}.errors"),
        (errors(a.0), a.0.count),
        (errors(b.0), b.0.count),
    ));
}

/// A share of so many.
fn share(key: String, a: (Option<f64>, u64), b: (Option<f64>, u64)) -> Metric {
    let mut metric = metric(key, Unit::Share, a.0, b.0);
    metric.beyond_noise =
        a.0.zip(b.0)
            .and_then(|(of_a, of_b)| shares_differ((of_a, a.1), (of_b, b.1)));
    metric
}

fn writes(a: &DeviceReport, b: &DeviceReport, to: &mut Vec<Metric>) {
    of_writes("write.dominant_share", a, b, to, |device| {
        device.verdict.dominant_share_count
    });
    of_writes("write.durable_share", a, b, to, |device| {
        per(
            number(device.sync.durable_writes),
            number(device.ops.write.count),
        )
    });
}

fn alignment(a: &DeviceReport, b: &DeviceReport, to: &mut Vec<Metric>) {
    of_writes("alignment.aligned_share", a, b, to, |device| {
        device.alignment.and_then(|a| a.aligned_share)
    });
    of_writes("alignment.partial_block_share", a, b, to, |device| {
        let alignment = device.alignment?;
        per(
            number(alignment.partial_block_writes),
            number(device.ops.write.count),
        )
    });
    of_writes("access.write_sequential_share", a, b, to, |device| {
        device
            .access
            .and_then(|access| access.write_sequential_share)
    });
}

/// A share of the writes.
fn of_writes(
    key: &str,
    a: &DeviceReport,
    b: &DeviceReport,
    to: &mut Vec<Metric>,
    of: impl Fn(&DeviceReport) -> Option<f64>,
) {
    let count = |device: &DeviceReport| device.ops.write.count;
    to.push(share(key.to_owned(), (of(a), count(a)), (of(b), count(b))));
}

fn flushes(a: Of<'_>, b: Of<'_>, to: &mut Vec<Metric>) {
    if a.0.flush.count == 0 && b.0.flush.count == 0 {
        return;
    }
    let rate = |of: Of<'_>| per(number(of.0.flush.count), of.1);
    to.push(metric(
        "flush.rate".to_owned(),
        Unit::PerSecond,
        rate(a),
        rate(b),
    ));
    let p99 = |of: Of<'_>| of.0.flush.latency_ns.p99.map(number);
    to.push(metric(
        "flush.latency_ns.p99".to_owned(),
        Unit::Ns,
        p99(a),
        p99(b),
    ));
}

fn structure(a: &DeviceReport, b: &DeviceReport, to: &mut Vec<Metric>) {
    let mut add = |key: &str, unit, of: &dyn Fn(&DeviceReport) -> Option<f64>| {
        to.push(metric(key.to_owned(), unit, of(a), of(b)));
    };
    add("access.working_set_bytes", Unit::Bytes, &|d| {
        Some(number(d.access?.working_set_bytes))
    });
    add("amplification.worst_case", Unit::Factor, &|d| {
        d.amplification?.worst_case
    });
    add("amplification.coalesced", Unit::Factor, &|d| {
        d.amplification?.coalesced
    });
    add("amplification.metadata", Unit::Factor, &|d| {
        d.amplification?.metadata
    });
    add("concurrency.mean", Unit::Count, &|d| {
        Some(d.concurrency?.mean)
    });
}

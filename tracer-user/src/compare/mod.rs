//! `compare`: two reports side by side, and which differences are more than noise.
//!
//! Owns the pairing of devices, the list of what is compared and the comparison's own JSON
//! ([`SCHEMA`]). It reads finished reports only, so a comparison of two JSON files is that of
//! the recordings they came from.

mod load;
mod metrics;
pub mod noise;
mod text;

use serde::{Deserialize, Serialize};

pub use load::{Loaded, load, parse};
pub use text::render as render_text;

use crate::report::model::{Code, DeviceReport, Report, Severity};

/// Value of [`Comparison::schema`].
pub const SCHEMA: &str = "zvoltrace.compare/1";

/// How differences are judged, in words; part of every output.
pub const METHOD: &str = "beyond noise, at 99 % confidence: a latency percentile, when the \
    distribution-free confidence intervals of the two (from the histograms) do not overlap; a \
    share, by a two-proportion test. Both take I/Os as independent, so a difference in bursts \
    may still be chance. Rates, means, extremes and amplification are not judged: one report \
    does not hold how they vary.";

/// Two captures, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tool that compared.
    pub tool_version: String,
    /// The first capture.
    pub a: Side,
    /// The second capture.
    pub b: Side,
    /// How differences are judged.
    pub method: String,
    /// Devices that are in both.
    pub devices: Vec<DevicePair>,
    /// Devices of the first capture only.
    pub only_in_a: Vec<String>,
    /// Devices of the second capture only.
    pub only_in_b: Vec<String>,
}

/// One of the two captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What was named on the command line.
    pub name: String,
    /// Host of the capture.
    pub hostname: String,
    /// ZFS of the host; null without.
    pub zfs_version: Option<String>,
    /// Start, RFC 3339.
    pub started: String,
    /// Duration.
    pub duration_ns: u64,
    /// Whether the capture ran its whole time and lost nothing.
    pub complete: bool,
}

/// A device in both captures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DevicePair {
    /// Kernel name in the first capture.
    pub device_a: String,
    /// Kernel name in the second capture.
    pub device_b: String,
    /// Dataset, that of the second capture when they differ; null without.
    pub dataset: Option<String>,
    /// Block size in the first capture; null when not known.
    pub volblocksize_a_bytes: Option<u64>,
    /// Block size in the second capture; null when not known.
    pub volblocksize_b_bytes: Option<u64>,
    /// Verdicts.
    pub verdict: VerdictPair,
    /// What was measured in at least one of them.
    pub metrics: Vec<Metric>,
}

/// Two verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictPair {
    /// Of the first capture.
    pub a: VerdictBrief,
    /// Of the second capture.
    pub b: VerdictBrief,
    /// Whether code or severity differ.
    pub changed: bool,
}

/// A verdict without its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictBrief {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// One sentence.
    pub summary: String,
}

/// Unit of a [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// Events a second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Share of 1.
    Share,
    /// A factor.
    Factor,
    /// A number of things.
    Count,
}

/// One number of both captures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name after the report's own keys, as `write.latency_ns.p99`.
    pub key: String,
    /// Unit of `a`, `b` and `difference`.
    pub unit: Unit,
    /// In the first capture; null when not known.
    pub a: Option<f64>,
    /// In the second capture; null when not known.
    pub b: Option<f64>,
    /// b - a; null unless both are known.
    pub difference: Option<f64>,
    /// b / a; null unless both are known and a is not 0.
    pub ratio: Option<f64>,
    /// Whether the difference is more than noise; null where that cannot be judged.
    pub beyond_noise: Option<bool>,
}

/// Compares two reports; the names are what the user calls them.
#[must_use]
pub fn compare(a: (&str, &Report), b: (&str, &Report)) -> Comparison {
    let (pairs, only_in_a, only_in_b) = pair(&a.1.devices, &b.1.devices);
    let names = |devices: Vec<&DeviceReport>| devices.into_iter().map(name).collect();
    let seconds = |report: &Report| metrics::seconds(report.capture.duration_ns);
    let devices = pairs.into_iter().map(|(of_a, of_b)| {
        let metrics = metrics::compare((of_a, seconds(a.1)), (of_b, seconds(b.1)));
        device_pair(of_a, of_b, metrics)
    });
    Comparison {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        a: side(a.0, a.1),
        b: side(b.0, b.1),
        method: METHOD.to_owned(),
        devices: devices.collect(),
        only_in_a: names(only_in_a),
        only_in_b: names(only_in_b),
    }
}

impl Comparison {
    /// The comparison as JSON, with a line end.
    ///
    /// # Errors
    /// Never for a comparison made by [`compare`].
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}

fn name(device: &DeviceReport) -> String {
    match &device.dataset {
        Some(dataset) => format!("{} ({dataset})", device.device),
        None => device.device.clone(),
    }
}

fn side(name: &str, report: &Report) -> Side {
    Side {
        name: name.to_owned(),
        hostname: report.host.hostname.clone(),
        zfs_version: report.host.zfs_version.clone(),
        started: report.capture.started.clone(),
        duration_ns: report.capture.duration_ns,
        complete: report.capture.complete,
    }
}

fn device_pair(a: &DeviceReport, b: &DeviceReport, metrics: Vec<Metric>) -> DevicePair {
    let brief = |device: &DeviceReport| VerdictBrief {
        code: device.verdict.code,
        severity: device.verdict.severity,
        summary: device.verdict.summary.clone(),
    };
    let (of_a, of_b) = (brief(a), brief(b));
    DevicePair {
        device_a: a.device.clone(),
        device_b: b.device.clone(),
        dataset: b.dataset.clone().or_else(|| a.dataset.clone()),
        volblocksize_a_bytes: a.volblocksize_bytes,
        volblocksize_b_bytes: b.volblocksize_bytes,
        verdict: VerdictPair {
            changed: (of_a.code, of_a.severity) != (of_b.code, of_b.severity),
            a: of_a,
            b: of_b,
        },
        metrics,
    }
}

type Paired<'a> = (
    Vec<(&'a DeviceReport, &'a DeviceReport)>,
    Vec<&'a DeviceReport>,
    Vec<&'a DeviceReport>,
);

/// Devices that are the same in both: by dataset, since kernel names change with a reboot, else
/// by kernel name where a dataset is missing; two captures of one device each are about that
/// device whatever its name, as when a volume was copied to another block size.
fn pair<'a>(a: &'a [DeviceReport], b: &'a [DeviceReport]) -> Paired<'a> {
    if let ([only_a], [only_b]) = (a, b) {
        return (vec![(only_a, only_b)], Vec::new(), Vec::new());
    }
    let mut left: Vec<_> = b.iter().collect();
    let mut pairs = Vec::new();
    let mut only_in_a = Vec::new();
    for of_a in a {
        let same = |of_b: &&DeviceReport| match (&of_a.dataset, &of_b.dataset) {
            (Some(a), Some(b)) => a == b,
            _ => of_a.device == of_b.device,
        };
        match left.iter().position(same) {
            Some(index) => pairs.push((of_a, left.remove(index))),
            None => only_in_a.push(of_a),
        }
    }
    (pairs, only_in_a, left)
}

#[cfg(test)]
mod tests;

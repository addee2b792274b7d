//! The tables of a report, cells already written.

use super::{
    super::{
        model::{Candidate, DeviceReport, FlushReport, Latency, OpStats, Ops, Severity, Verdict},
        units::{
            count, duration, factor, mib_per_second, per_second, percent, percent_of, size, volume,
        },
    },
    lifetime_ns, printable,
};

/// Submitters with a row of their own.
const SUBMITTERS_SHOWN: usize = 5;

/// A table: a head, rows of as many cells, and how many columns are words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Leading columns that hold words; the others hold numbers.
    pub(crate) words: usize,
}

/// One row a device: how bad, what, and the numbers to see it by.
pub(in super::super) fn overview(devices: &[&DeviceReport], end_ns: u64, unicode: bool) -> Table {
    let rows = devices
        .iter()
        .map(|device| {
            let writes = &device.ops.write;
            vec![
                severity_word(device.verdict.severity).into(),
                printable(&device.device),
                device
                    .dataset
                    .as_deref()
                    .map_or_else(|| "-".into(), printable),
                device.volblocksize_bytes.map_or_else(|| "-".into(), size),
                dominant(&device.verdict),
                per_second(writes.count, lifetime_ns(device, end_ns)),
                time(writes.latency_ns.p99, unicode),
            ]
        })
        .collect();
    Table {
        head: vec![
            "", "device", "dataset", "block", "mostly", "writes/s", "p99",
        ],
        rows,
        words: 3,
    }
}

/// The severity as the word that leads a verdict.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "OK",
        Severity::Info => "INFO",
        Severity::Warning => "WARNING",
        Severity::Critical => "CRITICAL",
    }
}

fn dominant(verdict: &Verdict) -> String {
    match (verdict.dominant_write_bytes, verdict.dominant_share_count) {
        (Some(bytes), Some(share)) => format!("{} {}", size(bytes), percent(share)),
        _ => "-".into(),
    }
}

/// Counts, rates and latencies by operation. Reads and writes always stand there, the others
/// when there were any; on blk-mq the time before and after the issue stands below.
pub(in super::super) fn operations(
    ops: &Ops,
    flush: Option<&FlushReport>,
    duration_ns: u64,
    unicode: bool,
) -> Table {
    let all = [
        ("writes", &ops.write, true),
        ("reads", &ops.read, true),
        ("discards", &ops.discard, false),
        ("other", &ops.other, false),
    ];
    let with_errors = all.iter().any(|(_, stats, _)| stats.errors > 0);
    let mut head = vec!["", "count", "IOPS", "MiB/s", "p50", "p99", "p99.9", "max"];
    if with_errors {
        head.push("errors");
    }
    let columns = head.len();
    let mut rows = Vec::new();
    let mut push = |mut cells: Vec<String>, latency: &Latency, errors: String| {
        for value in [latency.p50, latency.p99, latency.p999, latency.max] {
            cells.push(time(value, unicode));
        }
        cells.push(errors);
        cells.truncate(columns);
        rows.push(cells);
    };
    let phase = |name: &str| vec![name.into(), String::new(), String::new(), String::new()];
    for (name, stats, always) in all {
        if stats.count == 0 && !always {
            continue;
        }
        push(
            rates(name, stats, duration_ns),
            &stats.latency_ns,
            count(stats.errors),
        );
        for (name, latency) in [
            ("  queued", &stats.queue_ns),
            ("  in driver", &stats.service_ns),
        ] {
            if let Some(latency) = latency.as_ref().filter(|l| l.max.is_some()) {
                push(phase(name), latency, String::new());
            }
        }
    }
    if let Some(flush) = flush {
        let cells = vec![
            "flushes".into(),
            count(flush.count),
            per_second(flush.count, duration_ns),
            "-".into(),
        ];
        push(cells, &flush.latency_ns, "-".into());
    }
    Table {
        head,
        rows,
        words: 1,
    }
}

fn rates(name: &str, stats: &OpStats, duration_ns: u64) -> Vec<String> {
    vec![
        name.into(),
        count(stats.count),
        per_second(stats.count, duration_ns),
        mib_per_second(stats.bytes, duration_ns),
    ]
}

/// What stands above the candidates.
const CANDIDATES: &str = "This workload on other block sizes. Bytes written by ZFS per byte \
written by the guest: data (coalesced by transaction group), metadata, both, and worst case. \
Partial: writes that cover a block only in part.";
/// What is added where the pool's layout is known.
const SPACE: &str = " Raw, used: space taken per byte stored, on the disks and as zfs shows it.";

/// What each block size would cost this workload, and a title that explains the columns; the
/// present and the advised size are named.
pub(crate) fn candidates(device: &DeviceReport) -> Option<(String, Table)> {
    let candidates = device.candidates.as_ref().filter(|list| !list.is_empty())?;
    let with_space = candidates
        .iter()
        .any(|c| c.space_raw.is_some() || c.space_used.is_some());
    let mut head = vec!["block", "", "data", "meta", "total", "worst", "partial"];
    if with_space {
        head.extend(["raw", "used"]);
    }
    let x = |value: Option<f64>| value.map_or_else(|| "-".into(), factor);
    let row = |c: &Candidate| {
        let together = c
            .coalesced
            .zip(c.metadata)
            .map(|(data, metadata)| data + metadata);
        let mut cells = vec![
            size(c.block_bytes),
            mark(device, c.block_bytes).into(),
            x(c.coalesced),
            x(c.metadata),
            x(together),
            x(c.worst_case),
            c.partial_write_share.map_or_else(|| "-".into(), percent),
        ];
        if with_space {
            cells.extend([x(c.space_raw), x(c.space_used)]);
        }
        cells
    };
    let title = format!("{CANDIDATES}{}", if with_space { SPACE } else { "" });
    let table = Table {
        head,
        rows: candidates.iter().map(row).collect(),
        words: 2,
    };
    Some((title, table))
}

fn mark(device: &DeviceReport, block_bytes: u64) -> &'static str {
    let is = |bytes: Option<u64>| bytes == Some(block_bytes);
    if is(device.volblocksize_bytes) {
        "present"
    } else if is(device.verdict.recommended_block_bytes) {
        "advised"
    } else {
        ""
    }
}

/// Who submitted most.
pub(crate) fn submitters(device: &DeviceReport) -> Option<Table> {
    let all: u64 = device.submitters.iter().map(|s| s.count).sum();
    if all == 0 {
        return None;
    }
    let mut rows: Vec<Vec<String>> = device
        .submitters
        .iter()
        .take(SUBMITTERS_SHOWN)
        .map(|s| {
            vec![
                printable(&s.comm),
                s.pid.map_or_else(|| "-".into(), |pid| pid.to_string()),
                count(s.count),
                percent_of(s.count, all),
                volume(s.bytes),
            ]
        })
        .collect();
    let rest = device
        .submitters
        .get(SUBMITTERS_SHOWN..)
        .unwrap_or_default();
    if !rest.is_empty() {
        let n = rest.iter().map(|s| s.count).sum();
        rows.push(vec![
            format!("{} others", count(rest.len() as u64)),
            "-".into(),
            count(n),
            percent_of(n, all),
            volume(rest.iter().map(|s| s.bytes).sum()),
        ]);
    }
    Some(Table {
        head: vec!["submitter", "pid", "I/Os", "share", "data"],
        rows,
        words: 1,
    })
}

fn time(ns: Option<u64>, unicode: bool) -> String {
    ns.map_or_else(|| "-".into(), |ns| duration(ns, unicode))
}

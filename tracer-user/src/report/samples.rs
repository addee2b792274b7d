//! Reports made by hand, for tests of renderers: each shows one situation whole.

use super::model::{
    Access, Alignment, Amplification, Candidate, Capture, Code, Concurrency, Confidence,
    DeviceReport, EventCounts, Finding, FlushReport, HostReport, Latency, LatencyBucket, OpStats,
    Ops, Outstanding, Pool, Report, Rest, SCHEMA, Severity, SizeCount, SourceKind, Submitter,
    SyncReport, TxgReport, TxgSource, TxgSync, Verdict,
};
use crate::input::{Mode, Overhead};

const SECOND_NS: u64 = 1_000_000_000;

/// A healthy host, a complete capture of a minute, no device.
pub(crate) fn no_zvols() -> Report {
    Report {
        schema: SCHEMA.into(),
        tool_version: "0.1.0".into(),
        host: HostReport {
            hostname: "pve1".into(),
            kernel: "6.8.12-9-pve".into(),
            zfs_version: Some("2.2.6-pve1".into()),
            known_defects: Vec::new(),
        },
        capture: Capture {
            source: SourceKind::Live,
            args: ["capture", "-w", "60s"].map(String::from).to_vec(),
            started: "2026-03-01T03:12:45Z".into(),
            requested_ns: Some(60 * SECOND_NS),
            duration_ns: 60 * SECOND_NS,
            complete: true,
            incomplete_reasons: Vec::new(),
            clock: "CLOCK_MONOTONIC".into(),
            events: EventCounts::default(),
            overhead: Overhead {
                kernel_ns_per_io: Some(612),
                user_cpu_ns: 410_000_000,
                max_rss_bytes: 38 << 20,
            },
        },
        pools: vec![pool("tank", "ONLINE")],
        devices: Vec::new(),
        totals: Ops::default(),
    }
}

/// A database's zvol: 8K random writes into blocks of 128K, everything known.
pub(crate) fn busy() -> Report {
    let mut report = no_zvols();
    let device = busy_device(16, "tank/vm-100-disk-0");
    report.capture.events.completed = 60_400;
    report.capture.events.delivered = 60_400;
    report.capture.events.without_start = 3;
    report.totals = device.ops.clone();
    report.devices.push(device);
    report
}

/// One zvol on which nothing happened.
pub(crate) fn idle() -> Report {
    let mut report = no_zvols();
    report.devices.push(idle_device(32, "tank/vm-101-disk-0"));
    report
}

/// Ended early, the ring overran, the pool is suspended, I/O hangs for ten minutes.
pub(crate) fn lossy_and_short() -> Report {
    let mut report = busy();
    report.host.zfs_version = Some("2.2.7-pve1".into());
    report.host.known_defects = vec![
        "ZFS 2.2.7 ignores PREFLUSH on zvols in bio mode: a guest's flush returns before its \
         data is on stable storage"
            .into(),
    ];
    report.capture.duration_ns = 12_300_000_000;
    report.capture.complete = false;
    report.capture.incomplete_reasons = vec![
        "ended by SIGINT after 12.3 s of 60 s".into(),
        "the ring overran: 1,234 events lost; use --ring-size 64M".into(),
    ];
    report.capture.events.lost = 1234;
    report.capture.events.without_completion = 3;
    report.pools = vec![pool("tank", "SUSPENDED"), pool("rpool", "ONLINE")];
    let device = &mut report.devices[0];
    device.lost = 1234;
    device.outstanding = Outstanding {
        count: 3,
        oldest_ns: 600 * SECOND_NS,
    };
    device.mode = Mode::BlkMq;
    device.vanished_ns = Some(12 * SECOND_NS);
    device.ops.write.errors = 7;
    device.ops.write.queue_ns = Some(latency(9_000));
    device.ops.write.service_ns = Some(latency(110_000));
    device.verdict.severity = Severity::Critical;
    report
}

/// Thirty zvols, three of them busy.
pub(crate) fn thirty_devices() -> Report {
    let mut report = busy();
    for n in 2..=30 {
        let dataset = format!("tank/vm-{}-disk-0", 99 + n);
        let device = match n {
            7 => misaligned_device(n * 16, &dataset),
            11 => busy_device(n * 16, &dataset),
            _ => idle_device(n * 16, &dataset),
        };
        report.devices.push(device);
    }
    report
}

/// Names that do not fit, do not use Latin letters, or try to move the cursor.
pub(crate) fn awkward_names() -> Report {
    let mut report = busy();
    let long = format!(
        "tank/{}/vm-200-disk-0",
        "a-customer-with-a-long-name/"
            .repeat(6)
            .trim_end_matches('/')
    );
    report.devices[0].dataset = Some(long);
    report.devices[0].vm = Some(200);
    report.devices.push(busy_device(
        32,
        "tank/データベース/仮想機械の円盤/vm-201-ディスク-0",
    ));
    report
        .devices
        .push(busy_device(48, "tank/evil\u{1b}[2J\u{202e}name|`x`<b>"));
    report
}

/// A disk of which hardly anything is known.
pub(crate) fn null_everything() -> Report {
    let mut report = no_zvols();
    report.host.zfs_version = None;
    report.capture.source = SourceKind::Blktrace;
    report.capture.args.clear();
    report.capture.requested_ns = None;
    report.capture.duration_ns = 0;
    report.capture.overhead = Overhead::default();
    report.pools = vec![Pool {
        name: "tank".into(),
        state: "UNKNOWN".into(),
        txg: TxgReport::default(),
        layout: None,
        fill_share: None,
        activity: None,
    }];
    let mut device = idle_device(0, "");
    device.dataset = None;
    device.vm = None;
    device.volblocksize_bytes = None;
    device.size_bytes = 0;
    device.concurrency = None;
    device.access = Some(Access::default());
    device.alignment = Some(Alignment::default());
    device.amplification = Some(Amplification {
        worst_case: None,
        coalesced: None,
        metadata: None,
        txg_source: TxgSource::Assumed,
    });
    device.candidates = Some(Vec::new());
    device.verdict.code = Code::BlockSizeUnknown;
    device.verdict.summary = "1 write, but no block size to judge it against".into();
    device.findings.clear();
    device.ops.write.count = 1;
    device.ops.write.bytes = 4096;
    report.devices.push(device);
    report
}

fn pool(name: &str, state: &str) -> Pool {
    Pool {
        name: name.into(),
        state: state.into(),
        txg: TxgReport {
            count: 12,
            sync_ns: TxgSync {
                p50: Some(210_000_000),
                p99: Some(1_200_000_000),
                max: Some(1_310_000_000),
            },
            dirty_bytes_max: Some(412 << 20),
        },
        layout: Some("mirror".into()),
        fill_share: Some(0.62),
        activity: None,
    }
}

fn device(minor: u32, dataset: &str, verdict: Verdict) -> DeviceReport {
    DeviceReport {
        device: format!("zd{minor}"),
        major: 230,
        minor,
        dataset: Some(dataset.into()),
        vm: dataset
            .split_once("/vm-")
            .and_then(|(_, rest)| rest.split_once('-')?.0.parse().ok()),
        mode: Mode::Bio,
        volblocksize_bytes: Some(128 << 10),
        size_bytes: 32 << 30,
        appeared_ns: None,
        vanished_ns: None,
        lost: 0,
        submitted: 0,
        outstanding: Outstanding::default(),
        ops: Ops::default(),
        sync: SyncReport::default(),
        flush: FlushReport::default(),
        concurrency: None,
        access: None,
        alignment: None,
        amplification: None,
        candidates: None,
        submitters: Vec::new(),
        findings: vec![Finding {
            code: verdict.code,
            severity: verdict.severity,
            summary: verdict.summary.clone(),
            evidence: verdict.evidence.clone(),
        }],
        verdict,
    }
}

fn idle_device(minor: u32, dataset: &str) -> DeviceReport {
    let verdict = Verdict {
        code: Code::Idle,
        severity: Severity::Ok,
        confidence: Confidence::High,
        dominant_write_bytes: None,
        dominant_share_count: None,
        dominant_share_bytes: None,
        recommended_block_bytes: None,
        summary: "no I/O during the capture".into(),
        evidence: Vec::new(),
        advice: Vec::new(),
    };
    device(minor, dataset, verdict)
}

#[allow(clippy::too_many_lines, reason = "one value, written out")]
fn busy_device(minor: u32, dataset: &str) -> DeviceReport {
    let verdict = Verdict {
        code: Code::WriteSmallerThanBlock,
        severity: Severity::Warning,
        confidence: Confidence::High,
        dominant_write_bytes: Some(8192),
        dominant_share_count: Some(0.8),
        dominant_share_bytes: Some(0.864_9),
        recommended_block_bytes: Some(16 << 10),
        summary: "8K writes into 128K blocks: ZFS writes 12.5 times what the guest writes".into(),
        evidence: vec![
            "80.0 % of 60,000 writes are exactly 8K, 86.5 % of the bytes".into(),
            "98 % of them are random: at most 2 share a block within a transaction group".into(),
        ],
        advice: vec![
            "volblocksize is fixed when a zvol is made: make a new one with 16K, replay this \
             workload on it, then copy and cut over"
                .into(),
        ],
    };
    let mut device = device(minor, dataset, verdict);
    device.submitted = 60_400;
    device.ops.write = OpStats {
        count: 57_000,
        bytes: 48_000 * 8192 + 9_000 * 4096,
        sizes: vec![
            SizeCount {
                bytes: 8192,
                count: 45_600,
            },
            SizeCount {
                bytes: 4096,
                count: 8_550,
            },
            SizeCount {
                bytes: 128 << 10,
                count: 1_200,
            },
            SizeCount {
                bytes: 12 << 10,
                count: 900,
            },
            SizeCount {
                bytes: 16 << 10,
                count: 300,
            },
            SizeCount {
                bytes: 20 << 10,
                count: 200,
            },
            SizeCount {
                bytes: 64 << 10,
                count: 100,
            },
            SizeCount {
                bytes: 4608,
                count: 80,
            },
            SizeCount {
                bytes: 1 << 20,
                count: 30,
            },
            SizeCount {
                bytes: 512,
                count: 1,
            },
        ],
        sizes_rest: Rest {
            count: 39,
            bytes: 39 * 40_960,
        },
        latency_ns: latency(123_000),
        latency_histogram: histogram(&[
            (15, 120),
            (16, 21_000),
            (17, 30_000),
            (18, 4_800),
            (19, 900),
            (21, 179),
            (23, 1),
        ]),
        ..OpStats::default()
    };
    device.ops.read = OpStats {
        count: 3_000,
        bytes: 3_000 * 8192,
        sizes: vec![SizeCount {
            bytes: 8192,
            count: 3_000,
        }],
        latency_ns: latency(61_000),
        latency_histogram: histogram(&[(14, 300), (15, 2_500), (16, 200)]),
        ..OpStats::default()
    };
    device.ops.discard = OpStats {
        count: 2,
        bytes: 3 << 30,
        sizes: vec![
            SizeCount {
                bytes: 1 << 30,
                count: 1,
            },
            SizeCount {
                bytes: 2 << 30,
                count: 1,
            },
        ],
        latency_ns: latency(2_000_000),
        latency_histogram: histogram(&[(21, 2)]),
        ..OpStats::default()
    };
    device.flush = FlushReport {
        count: 400,
        latency_ns: latency(5_100_000),
        latency_histogram: histogram(&[(22, 300), (24, 100)]),
    };
    device.sync = SyncReport {
        hinted: 57_000,
        fua: 20,
        preflush_with_data: 4,
        durable_writes: 24,
    };
    device.concurrency = Some(Concurrency {
        mean: 1.94,
        p50: 1,
        p99: 16,
        max: 32,
    });
    device.access = Some(Access {
        read_sequential_share: Some(0.02),
        write_sequential_share: Some(0.125),
        working_set_bytes: 1_300_000_000,
        working_set_error_share: None,
        rewritten_share: Some(0.071),
    });
    device.alignment = Some(Alignment {
        aligned_share: Some(0.062),
        constant_remainder_bytes: None,
        partial_block_writes: 55_770,
    });
    device.amplification = Some(Amplification {
        worst_case: Some(16.4),
        coalesced: Some(12.5),
        metadata: Some(0.12),
        txg_source: TxgSource::Kstat,
    });
    let candidate = |block_bytes, worst, data, metadata, partial| Candidate {
        block_bytes,
        worst_case: Some(worst),
        coalesced: Some(data),
        metadata: Some(metadata),
        partial_write_share: Some(partial),
        space_raw: Some(1.0),
        space_used: Some(1.0),
    };
    device.candidates = Some(vec![
        candidate(4 << 10, 1.0, 0.98, 1.41, 0.0),
        candidate(8 << 10, 1.16, 1.07, 0.76, 0.15),
        candidate(16 << 10, 2.12, 1.92, 0.41, 0.95),
        candidate(64 << 10, 8.21, 6.69, 0.16, 0.97),
        candidate(128 << 10, 16.4, 12.5, 0.12, 0.98),
    ]);
    let submitter = |comm: &str, pid, count| Submitter {
        comm: comm.into(),
        pid,
        count,
        bytes: count * 8192,
    };
    device.submitters = vec![
        submitter("kvm", Some(4321), 51_000),
        submitter("not attributable", None, 8_800),
        submitter("qemu-img", Some(5000), 200),
        submitter("dd", Some(5001), 100),
        submitter("smartctl", Some(5002), 90),
        submitter("udevd", Some(5003), 8),
        submitter("blkid", Some(5004), 2),
    ];
    device
}

fn misaligned_device(minor: u32, dataset: &str) -> DeviceReport {
    let mut device = busy_device(minor, dataset);
    device.appeared_ns = Some(30 * SECOND_NS);
    device.volblocksize_bytes = Some(8 << 10);
    device.candidates = None;
    device.alignment = Some(Alignment {
        aligned_share: Some(0.0),
        constant_remainder_bytes: Some(3584),
        partial_block_writes: 57_000,
    });
    device.findings.push(Finding {
        code: Code::Misaligned,
        severity: Severity::Critical,
        summary: "every write starts 3,584 B past a block: partition zd112p1 starts at sector 63"
            .into(),
        evidence: vec!["57,000 of 57,000 writes share the remainder".into()],
    });
    device.verdict.severity = Severity::Critical;
    device
}

fn latency(p50_ns: u64) -> Latency {
    Latency {
        min: Some(p50_ns / 4),
        p50: Some(p50_ns),
        p90: Some(p50_ns * 2),
        p99: Some(p50_ns * 10),
        p999: Some(p50_ns * 43),
        max: Some(p50_ns * 99),
        mean: Some(p50_ns * 5 / 4),
    }
}

fn histogram(counts: &[(u32, u64)]) -> Vec<LatencyBucket> {
    counts
        .iter()
        .map(|(exponent, count)| LatencyBucket {
            from_ns: 1 << exponent,
            to_ns: 2 << exponent,
            count: *count,
        })
        .collect()
}

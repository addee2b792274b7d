//! Snapshots made by hand, for tests of what is drawn: each shows one situation whole.

use std::sync::Arc;

use super::snapshot::{
    Badge, Cost, Detail, Dominant, HEAT_RANGES, Header, Load, Losses, OpDetail, OpLoad, PoolView,
    Presence, Row, Snapshot, Span, Step, StepOp, Window, heat_range,
};
use crate::{
    analysis::verdict::RuleTrace,
    event::DeviceId,
    input::Mode,
    report::{
        model::{Code, Outstanding, Rest, Severity, SizeCount, SourceKind, SyncReport, Verdict},
        samples,
        units::size,
    },
};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
const ELAPSED_NS: u64 = 754 * SECOND_NS;
const MS: u64 = 1_000_000;
const US: u64 = 1000;

/// A healthy host, no zvol yet.
pub(crate) fn empty() -> Snapshot {
    Snapshot {
        header: Header {
            hostname: "pve1".into(),
            kernel: "6.8.12-9-pve".into(),
            zfs_version: Some("2.2.6-pve1".into()),
            source: Some(SourceKind::Live),
            elapsed_ns: 3 * SECOND_NS,
            waiting_for: Some("zd*".into()),
            pools: vec![pool("rpool", "ONLINE"), pool("tank", "ONLINE")],
            ..Header::default()
        },
        window: Window::TenSeconds,
        ..Snapshot::default()
    }
}

/// Seven zvols, each with a trouble of its own or none; the first looked at closely.
pub(crate) fn busy() -> Snapshot {
    let mut snapshot = empty();
    snapshot.header.elapsed_ns = ELAPSED_NS;
    snapshot.header.events_per_s = 12_345;
    snapshot.header.waiting_for = None;
    snapshot.header.cost = Some(Cost {
        kernel_ns_per_io: Some(740),
        cpu_share: 0.021,
        max_rss_bytes: 48 << 20,
    });
    snapshot.span = Span {
        from_ns: ELAPSED_NS - 10 * SECOND_NS,
        to_ns: ELAPSED_NS,
    };
    snapshot.history = Span {
        from_ns: 0,
        to_ns: ELAPSED_NS,
    };
    let (critical, warning, info, ok) = (
        Severity::Critical,
        Severity::Warning,
        Severity::Info,
        Severity::Ok,
    );
    snapshot.rows = vec![
        row(
            0,
            "tank/vm-100-disk-0",
            128 << 10,
            (8 << 10, 0.8),
            950,
            12_300 * US,
            Code::WriteSmallerThanBlock,
            warning,
        ),
        row(
            1,
            "tank/vm-101-disk-0",
            16 << 10,
            (16 << 10, 0.93),
            3210,
            910 * US,
            Code::Fits,
            ok,
        ),
        row(
            2,
            "tank/vm-102-disk-1",
            8 << 10,
            (4096 + 512, 0.71),
            120,
            48_200 * US,
            Code::Misaligned,
            critical,
        ),
        row(
            3,
            "rpool/data/vm-103-disk-0",
            16 << 10,
            (4 << 10, 0.64),
            44,
            1_240 * MS,
            Code::FlushBound,
            warning,
        ),
        row(
            4,
            "rpool/data/vm-104-disk-0",
            16 << 10,
            (4 << 10, 0.38),
            610,
            2_100 * US,
            Code::MixedSizes,
            info,
        ),
        row(
            5,
            "rpool/swap",
            4 << 10,
            (4 << 10, 1.0),
            1,
            80 * US,
            Code::TooFewWrites,
            info,
        ),
        row(
            6,
            "rpool/data/vm-105-cloudinit",
            16 << 10,
            (4 << 10, 1.0),
            0,
            0,
            Code::Idle,
            ok,
        ),
    ];
    snapshot.header.devices = snapshot.rows.len();
    total(&mut snapshot);
    snapshot.detail = Some(detail(&snapshot.rows[0]));
    snapshot
}

/// The ring overran, and the screen did not keep up.
pub(crate) fn lossy() -> Snapshot {
    let mut snapshot = busy();
    snapshot.header.losses = Losses {
        ring: 11_200,
        queue: 34,
        ..Losses::default()
    };
    snapshot.rows[1].load.lost = 11_234;
    snapshot.rows[4].load.errors = 7;
    snapshot.header.zfs_version = Some("2.2.7-pve1".into());
    snapshot.header.known_defects = vec![
        "ZFS 2.2.7 ignores PREFLUSH on zvols in bio mode: a guest's flush returns before its \
         data is on stable storage"
            .into(),
    ];
    snapshot
}

/// A thousand zvols.
pub(crate) fn thousand() -> Snapshot {
    let mut snapshot = busy();
    for n in 7..1000 {
        let dataset = format!("tank/customers/vm-{}-disk-0", 1000 + n);
        let iops = u64::from(n * 37 % 211);
        let p99_ns = u64::from(n * 7919 % 9973) * US;
        snapshot.rows.push(row(
            n,
            &dataset,
            16 << 10,
            (16 << 10, 0.9),
            iops,
            p99_ns,
            Code::Fits,
            Severity::Ok,
        ));
    }
    snapshot.header.devices = 1000;
    snapshot.header.events_per_s = 1_234_567;
    total(&mut snapshot);
    snapshot
}

/// Names that do not fit, do not use Latin letters, or try to move the cursor.
pub(crate) fn awkward_names() -> Snapshot {
    let mut snapshot = busy();
    let names = [
        format!(
            "tank/{}/vm-200-disk-0",
            "a-customer-with-a-long-name/"
                .repeat(6)
                .trim_end_matches('/')
        ),
        "tank/データベース/仮想機械の円盤/vm-201-ディスク-0".into(),
        "tank/evil\u{1b}[2J\u{202e}name\n\u{7}".into(),
        "tank/combi\u{301}\u{302}\u{303}ning/e\u{301}tat-des-lieux-\u{1f9d1}\u{200d}\u{1f680}"
            .into(),
        "x".repeat(255),
        String::new(),
        "tank/\u{200b}\u{feff}\u{2028}".into(),
    ];
    for (row, name) in snapshot.rows.iter_mut().zip(names) {
        row.dataset = Some(name.into());
    }
    snapshot.header.hostname = "h\u{f6}st\u{1b}[31m".into();
    snapshot
}

/// A pool is suspended; I/O hangs for ten minutes.
pub(crate) fn suspended() -> Snapshot {
    let mut snapshot = busy();
    snapshot.header.events_per_s = 210;
    snapshot.header.pools[1].state = Some("SUSPENDED".into());
    snapshot.header.pools[1].sync_ns = None;
    for row in snapshot.rows.iter_mut().take(3) {
        row.load = Load {
            duration_ns: row.load.duration_ns,
            ..Load::default()
        };
        row.outstanding = Outstanding {
            count: 32,
            oldest_ns: 600 * SECOND_NS,
        };
    }
    total(&mut snapshot);
    snapshot
}

/// A zvol has gone, its number has come back as another, a disk that is no zvol is there.
pub(crate) fn comings_and_goings() -> Snapshot {
    let mut snapshot = busy();
    snapshot.rows[1].presence = Presence::Vanished;
    snapshot.rows[1].load = Load {
        duration_ns: 10 * SECOND_NS,
        ..Load::default()
    };
    snapshot.rows[1].outstanding = Outstanding::default();
    let mut new = row(
        7,
        "tank/vm-900-disk-0",
        16 << 10,
        (64 << 10, 0.99),
        77,
        3_400 * US,
        Code::Fits,
        Severity::Ok,
    );
    new.device = Arc::clone(&snapshot.rows[1].device);
    new.presence = Presence::New;
    new.badge = None;
    new.verdict = None;
    snapshot.rows.push(new);
    let mut disk = row(
        8,
        "",
        4096,
        (4096, 1.0),
        5,
        410 * US,
        Code::BlockSizeUnknown,
        Severity::Info,
    );
    disk.device = "loop0".into();
    disk.dataset = None;
    disk.block_bytes = None;
    snapshot.rows.push(disk);
    total(&mut snapshot);
    snapshot
}

fn pool(name: &str, state: &str) -> PoolView {
    PoolView {
        name: name.into(),
        state: Some(state.into()),
        sync_ns: Some(210 * MS),
    }
}

#[allow(clippy::too_many_arguments, reason = "one line a row reads as a table")]
fn row(
    n: u32,
    dataset: &str,
    block_bytes: u64,
    (size_bytes, share): (u64, f64),
    iops: u64,
    p99_ns: u64,
    code: Code,
    severity: Severity,
) -> Row {
    let writes = iops * 10;
    let op = |count: u64, bytes: u64, p99_ns: u64| OpLoad {
        count,
        bytes,
        p50_ns: (count > 0).then_some(p99_ns / 10),
        p99_ns: (count > 0).then_some(p99_ns),
        max_ns: (count > 0).then_some(p99_ns * 3),
    };
    Row {
        id: DeviceId(n),
        device: format!("zd{}", n * 16).into(),
        dataset: Some(dataset.into()),
        vm: dataset
            .split_once("vm-")
            .and_then(|(_, rest)| rest.split_once('-')?.0.parse().ok()),
        mode: Mode::Bio,
        block_bytes: Some(block_bytes),
        size_bytes: 32 << 30,
        presence: Presence::There,
        load: Load {
            duration_ns: 10 * SECOND_NS,
            read: op(writes / 7, writes / 7 * 8192, p99_ns / 4),
            write: op(writes, writes * size_bytes, p99_ns),
            flush: op(writes / 90, 0, p99_ns * 4),
            dominant_write: (writes > 0).then_some(Dominant {
                bytes: size_bytes,
                share,
            }),
            ..Load::default()
        },
        outstanding: Outstanding {
            count: iops / 300,
            oldest_ns: if iops >= 300 { p99_ns / 3 } else { 0 },
        },
        badge: Some(Badge { code, severity }),
        verdict: Some(Arc::new(verdict(code, severity, block_bytes, size_bytes))),
    }
}

/// A verdict's words for a row.
fn verdict(code: Code, severity: Severity, block_bytes: u64, size_bytes: u64) -> Verdict {
    let mut verdict = samples::busy().devices.remove(0).verdict;
    if code != verdict.code {
        let (write, block) = (size(size_bytes), size(block_bytes));
        let (summary, advice) = match code {
            Code::Misaligned => (
                format!("nearly all writes start 3,584 B past a block of {block}"),
                "begin partitions in the guest on a multiple of 1M",
            ),
            Code::FlushBound => (
                format!("writes wait for flushes: of {write} half take 124 ms, 1 % 1.24 s"),
                "put the log on a device with power-loss protection (SLOG)",
            ),
            _ => (format!("mostly {write} on blocks of {block}"), ""),
        };
        verdict.summary = summary;
        verdict.evidence = vec!["12 flushes, of which 1 % took longer than 4.96 s".into()];
        verdict.advice = vec![advice.to_owned()];
        verdict.advice.retain(|advice| !advice.is_empty());
    }
    (verdict.code, verdict.severity) = (code, severity);
    verdict
}

fn total(snapshot: &mut Snapshot) {
    let mut totals = Load {
        duration_ns: 10 * SECOND_NS,
        ..Load::default()
    };
    let mut outstanding = Outstanding::default();
    for row in &snapshot.rows {
        for (sum, op) in [
            (&mut totals.read, &row.load.read),
            (&mut totals.write, &row.load.write),
            (&mut totals.flush, &row.load.flush),
        ] {
            sum.count += op.count;
            sum.bytes += op.bytes;
            sum.p50_ns = sum.p50_ns.max(op.p50_ns);
            sum.p99_ns = sum.p99_ns.max(op.p99_ns);
            sum.max_ns = sum.max_ns.max(op.max_ns);
        }
        outstanding.count += row.outstanding.count;
        outstanding.oldest_ns = outstanding.oldest_ns.max(row.outstanding.oldest_ns);
    }
    totals.dominant_write = Some(Dominant {
        bytes: 16 << 10,
        share: 0.61,
    });
    snapshot.totals = totals;
    snapshot.outstanding = outstanding;
}

/// Everything about a zvol that writes 8K into blocks of 128K.
fn detail(row: &Row) -> Detail {
    let report = samples::busy().devices.remove(0);
    let (writes, reads) = (&report.ops.write, &report.ops.read);
    let sizes = |of: &[SizeCount]| -> Vec<SizeCount> {
        of.iter()
            .map(|size| SizeCount {
                bytes: size.bytes,
                count: size.count / 6 + 1,
            })
            .collect()
    };
    Detail {
        id: row.id,
        read: OpDetail {
            sizes: sizes(&reads.sizes),
            sizes_rest: Rest::default(),
            latency: reads.latency_histogram.clone(),
        },
        write: OpDetail {
            sizes: sizes(&writes.sizes),
            sizes_rest: Rest {
                count: 6,
                bytes: 6 * 40_960,
            },
            latency: writes.latency_histogram.clone(),
        },
        discard: OpDetail::default(),
        flush: OpDetail {
            latency: report.ops.discard.latency_histogram.clone(),
            ..OpDetail::default()
        },
        sync: SyncReport {
            hinted: 9_500,
            fua: 20,
            preflush_with_data: 4,
            durable_writes: 24,
        },
        timeline: (0..ELAPSED_NS / SECOND_NS).map(step).collect(),
        rules: rules(),
        report: Some(Arc::new(report)),
    }
}

/// A second: a load that swells and ebbs, and a slow spell of half a minute.
fn step(second: u64) -> Step {
    let swell = second % 120;
    let count = 600 + swell.min(120 - swell) * 9;
    let slow = (600..630).contains(&second);
    let usual_ns = if slow { 9 * MS } else { 123 * US };
    let mut heat = [0; HEAT_RANGES];
    heat[heat_range(usual_ns)] = u32::try_from(count).unwrap_or(0) / 2;
    heat[heat_range(usual_ns * 2)] = u32::try_from(count).unwrap_or(0) / 2;
    heat[heat_range(usual_ns * 10)] = 9 + u32::try_from(second % 7).unwrap_or(0);
    if second.is_multiple_of(45) {
        heat[heat_range(usual_ns * 300)] = 1;
    }
    Step {
        from_ns: second * SECOND_NS,
        duration_ns: SECOND_NS,
        read: StepOp {
            count: count / 7,
            ..StepOp::default()
        },
        write: StepOp {
            count,
            bytes: count * 8192,
            p99_ns: Some(usual_ns * 10),
            max_ns: Some(usual_ns * 20),
            heat,
        },
        flush: StepOp {
            count: second % 3 * 4,
            p99_ns: Some(usual_ns * 40),
            ..StepOp::default()
        },
        outstanding: 3,
    }
}

fn rules() -> Arc<[RuleTrace]> {
    let rule = |code, condition, fired, numbers: &[&str]| RuleTrace {
        code,
        condition,
        fired,
        numbers: numbers.iter().map(ToString::to_string).collect(),
    };
    Arc::new([
        rule(
            Code::Misaligned,
            "nearly all writes start at the same distance from a block, and it is not 0",
            None,
            &["6.2 % of writes start on a block; no remainder is shared by the others"],
        ),
        rule(
            Code::WriteSmallerThanBlock,
            "most writes cover a block only in part, and ZFS writes at least twice the guest's bytes",
            Some(Severity::Warning),
            &[
                "80.0 % of 57,000 writes are exactly 8K, the block is 128K",
                "ZFS writes 12.5x the guest's bytes as data",
            ],
        ),
        rule(
            Code::FlushBound,
            "flushes make the tail",
            None,
            &["400 flushes, p99 51.0 ms"],
        ),
    ])
}

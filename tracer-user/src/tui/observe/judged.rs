//! What is known since the start, as of the last time it was judged.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::episode::Episode;
use crate::{
    event::DeviceId,
    report::{
        model::{
            Capture, DeviceReport, FlushReport, HostReport, Latency, OpStats, Ops, Report, Verdict,
        },
        units::float,
    },
    tui::snapshot::{Dominant, Load, OpDetail, OpLoad},
};

/// A report, found by device.
#[derive(Debug)]
pub(super) struct Judged {
    devices: FxHashMap<DeviceId, (Arc<DeviceReport>, Arc<Verdict>)>,
    pub(super) capture: Capture,
    pub(super) host: HostReport,
    totals: Ops,
    /// Where the time it covers begins, capture clock.
    pub(super) from_ns: u64,
}

impl Judged {
    pub(super) fn of(episode: &Episode) -> Self {
        let Report {
            devices,
            capture,
            host,
            totals,
            ..
        } = episode.collector.report();
        let devices = devices.into_iter().map(|report| {
            let verdict = Arc::new(report.verdict.clone());
            (Arc::new(report), verdict)
        });
        Self {
            devices: episode.devices().iter().copied().zip(devices).collect(),
            capture,
            host,
            totals,
            from_ns: episode.from_ns,
        }
    }

    pub(super) fn device(&self, id: DeviceId) -> Option<&Arc<DeviceReport>> {
        self.devices.get(&id).map(|(report, _)| report)
    }

    pub(super) fn verdict(&self, id: DeviceId) -> Option<&Arc<Verdict>> {
        self.devices.get(&id).map(|(_, verdict)| verdict)
    }

    /// What a device did since the start.
    pub(super) fn load(&self, id: DeviceId) -> Load {
        let Some((report, _)) = self.devices.get(&id) else {
            return Load::default();
        };
        let until_ns = report.vanished_ns.unwrap_or(self.capture.duration_ns);
        load(
            &report.ops,
            &report.flush,
            until_ns.saturating_sub(report.appeared_ns.unwrap_or(0)),
            report.lost,
        )
    }

    /// The sum, each I/O once; `counts` says whose flushes it has.
    pub(super) fn total(&self, counts: impl Fn(DeviceId) -> bool) -> Load {
        let mut flush = FlushReport::default();
        let mut lost = 0;
        for (id, (report, _)) in &self.devices {
            if counts(*id) {
                flush.count += report.flush.count;
                // Percentiles do not add up; the maximum does.
                flush.latency_ns.max = flush.latency_ns.max.max(report.flush.latency_ns.max);
                lost += report.lost;
            }
        }
        load(&self.totals, &flush, self.capture.duration_ns, lost)
    }
}

fn load(ops: &Ops, flush: &FlushReport, duration_ns: u64, lost: u64) -> Load {
    let op = |stats: &OpStats| op_load(stats.count, stats.bytes, &stats.latency_ns);
    let most = ops.write.sizes.first();
    Load {
        duration_ns,
        read: op(&ops.read),
        write: op(&ops.write),
        discard: op(&ops.discard),
        flush: op_load(flush.count, 0, &flush.latency_ns),
        dominant_write: most.map(|most| Dominant {
            bytes: most.bytes,
            share: float(most.count) / float(ops.write.count.max(1)),
        }),
        errors: ops.read.errors + ops.write.errors + ops.discard.errors + ops.other.errors,
        lost,
    }
}

fn op_load(count: u64, bytes: u64, latency: &Latency) -> OpLoad {
    OpLoad {
        count,
        bytes,
        p50_ns: latency.p50,
        p99_ns: latency.p99,
        max_ns: latency.max,
    }
}

/// Sizes and latencies of one operation since the start.
pub(super) fn op_detail(stats: &OpStats) -> OpDetail {
    OpDetail {
        sizes: stats.sizes.clone(),
        sizes_rest: stats.sizes_rest,
        latency: stats.latency_histogram.clone(),
    }
}

//! From what was observed to what a frame shows.

use std::sync::Arc;

use super::{
    Observer,
    judged::{Judged, op_detail},
};
use crate::{
    analysis::verdict::RuleTrace,
    event::DeviceId,
    report::model::{DeviceReport, Outstanding, SourceKind},
    tui::{
        history::{Close, Loads},
        snapshot::{Badge, Detail, Header, OpDetail, Row, Snapshot, Span, Step, Wanted, Window},
    },
};

/// Results that hold until another second is over or something else is asked for.
#[derive(Debug, Default)]
pub(super) struct Kept {
    loads: Option<(Span, Span, Arc<Loads>)>,
    timeline: Option<(DeviceId, Span, u64, Vec<Step>)>,
    rules: Option<(DeviceId, Arc<Judged>, Arc<[RuleTrace]>)>,
}

const MINUTE_NS: u64 = 60_000_000_000;
/// How far a window of a minute moves at a time.
const MINUTE_STEP_NS: u64 = 2_000_000_000;

fn length_s(window: Window) -> u64 {
    match window {
        Window::Second => 1,
        Window::TenSeconds => 10,
        Window::Minute => 60,
        Window::SinceStart => u64::MAX,
    }
}

/// A minute is summed up in 20 ms with a thousand busy zvols: a whole one moves every other
/// second while time goes on.
fn minute_ends_ns(observer: &Observer) -> u64 {
    let now_ns = observer.history.span().to_ns;
    if observer.ended || now_ns < MINUTE_NS {
        return now_ns;
    }
    now_ns - now_ns % MINUTE_STEP_NS
}

pub(super) fn snapshot(observer: &mut Observer, wanted: &Wanted) -> Snapshot {
    let judged = observer.judged.clone();
    let is_since_start = wanted.window == Window::SinceStart;
    let history_span = match wanted.window {
        // In flight at the end is all that is taken from the history then.
        Window::SinceStart => observer.history.window(1, wanted.until_ns),
        Window::Minute => {
            let until_ns = wanted.until_ns.unwrap_or_else(|| minute_ends_ns(observer));
            observer.history.window(60, Some(until_ns))
        }
        window => observer.history.window(length_s(window), wanted.until_ns),
    };
    let loads = loads(observer, history_span);
    let span = match &judged {
        Some(judged) if is_since_start => {
            let from_ns = judged.from_ns.saturating_sub(observer.started_ns());
            Span {
                from_ns,
                to_ns: from_ns + judged.capture.duration_ns,
            }
        }
        _ => history_span,
    };
    let is_now = wanted.until_ns.is_none();
    let now_ns = observer.now_ns;
    let rows: Vec<Row> = observer
        .devices
        .all()
        .iter()
        .filter_map(|known| {
            let id = known.device.id;
            let did = loads.devices.get(&id);
            if !known.is_listed(now_ns) && did.is_none() && !is_since_start {
                return None;
            }
            let mut row = known.row(now_ns);
            row.verdict = judged
                .as_ref()
                .and_then(|judged| judged.verdict(id))
                .cloned();
            row.badge = row.verdict.as_ref().map(|verdict| Badge {
                code: verdict.code,
                severity: verdict.severity,
            });
            row.load = match &judged {
                Some(judged) if is_since_start => judged.load(id),
                _ => did.map(|(load, _)| *load).unwrap_or_default(),
            };
            // An idle device has rates of zero, not none.
            row.load.duration_ns = row.load.duration_ns.max(span.to_ns - span.from_ns);
            row.outstanding = match observer.in_flight.get(&id) {
                Some(sample) if is_now && known.vanished_ns.is_none() => Outstanding {
                    count: sample.outstanding,
                    oldest_ns: sample.oldest_ns,
                },
                _ if is_now => Outstanding::default(),
                _ => did.map(|(_, outstanding)| *outstanding).unwrap_or_default(),
            };
            Some(row)
        })
        .collect();
    let counted = rows.iter().filter(|row| observer.devices.counts(row.id));
    let outstanding = counted.fold(Outstanding::default(), |all, row| Outstanding {
        count: all.count.saturating_add(row.outstanding.count),
        oldest_ns: all.oldest_ns.max(row.outstanding.oldest_ns),
    });
    let totals = match &judged {
        Some(judged) if is_since_start => judged.total(|id| observer.devices.counts(id)),
        _ => loads.total,
    };
    let detail = wanted
        .detail
        .filter(|id| observer.devices.get(*id).is_some())
        .map(|id| detail(observer, id, history_span, wanted.window, judged.as_ref()));
    Snapshot {
        header: header(observer, judged.as_deref()),
        window: wanted.window,
        span,
        history: observer.history.span(),
        coarse_until_ns: observer.history.coarse_until_ns(),
        rows,
        totals,
        outstanding,
        detail,
        job: observer.job.as_ref().map(|job| job.view(now_ns)),
    }
}

fn loads(observer: &mut Observer, span: Span) -> Arc<Loads> {
    let held = observer.history.span();
    if let Some((of, then, loads)) = &observer.kept.loads
        && *of == span
        && *then == held
    {
        return Arc::clone(loads);
    }
    let devices = &observer.devices;
    let loads = Arc::new(observer.history.loads(span, |id| devices.counts(id)));
    observer.kept.loads = Some((span, held, Arc::clone(&loads)));
    loads
}

fn detail(
    observer: &mut Observer,
    id: DeviceId,
    span: Span,
    window: Window,
    judged: Option<&Arc<Judged>>,
) -> Detail {
    let report = judged.and_then(|judged| judged.device(id)).cloned();
    let close = match (&report, window) {
        (Some(report), Window::SinceStart) => since_start(report),
        _ => observer.history.close_up(span, id),
    };
    Detail {
        id,
        read: close.read,
        write: close.write,
        discard: close.discard,
        flush: close.flush,
        sync: close.sync,
        timeline: timeline(observer, id, span.to_ns),
        rules: judged.map_or_else(|| Arc::from([]), |judged| rules(observer, id, judged)),
        report,
    }
}

fn since_start(report: &DeviceReport) -> Close {
    Close {
        read: op_detail(&report.ops.read),
        write: op_detail(&report.ops.write),
        discard: op_detail(&report.ops.discard),
        flush: OpDetail {
            latency: report.flush.latency_histogram.clone(),
            ..OpDetail::default()
        },
        sync: report.sync,
    }
}

fn timeline(observer: &mut Observer, id: DeviceId, until_ns: u64) -> Vec<Step> {
    let held = observer.history.span();
    if let Some((of, then, until, steps)) = &observer.kept.timeline
        && *of == id
        && *then == held
        && *until == until_ns
    {
        return steps.clone();
    }
    let steps = observer.history.timeline(id, until_ns);
    observer.kept.timeline = Some((id, held, until_ns, steps.clone()));
    steps
}

fn rules(observer: &mut Observer, id: DeviceId, judged: &Arc<Judged>) -> Arc<[RuleTrace]> {
    if let Some((of, then, rules)) = &observer.kept.rules
        && *of == id
        && Arc::ptr_eq(then, judged)
    {
        return Arc::clone(rules);
    }
    let explanation = observer.since.collector.explain_one(id);
    let rules: Arc<[RuleTrace]> = explanation.map_or_else(Vec::new, |why| why.rules).into();
    observer.kept.rules = Some((id, Arc::clone(judged), Arc::clone(&rules)));
    rules
}

fn header(observer: &Observer, judged: Option<&Judged>) -> Header {
    let host = observer.start.as_ref().map(|start| &start.host);
    let is_waiting = observer.source == SourceKind::Live && observer.devices.count() == 0;
    Header {
        hostname: host.map(|host| host.hostname.clone()).unwrap_or_default(),
        kernel: host.map(|host| host.kernel.clone()).unwrap_or_default(),
        zfs_version: host.and_then(|host| host.zfs_version.clone()),
        known_defects: judged
            .map(|j| j.host.known_defects.clone())
            .unwrap_or_default(),
        source: observer.start.as_ref().map(|_| observer.source),
        elapsed_ns: observer.elapsed_ns(),
        events_per_s: observer.history.events_in_last_second(),
        losses: observer.losses(),
        devices: observer.devices.count(),
        pools: observer.pools.values().cloned().collect(),
        waiting_for: is_waiting.then(|| observer.patterns.clone()),
        replay: observer.replay,
        problem: observer.problem.clone(),
        cost: observer.cost,
    }
}

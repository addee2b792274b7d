//! What became of every I/O: completed, delivered, lost; and whether the capture is complete.
//!
//! Owns the sentences that say why a capture is not complete. It never hides a loss: what the
//! kernel counted and the events do not show is said, device by device or in sum.

use super::device::DeviceState;
use crate::{
    input::{End, Lost, Start},
    report::model::{EventCounts, SourceKind},
};

/// A capture that ended within this many ns of the time asked for was not cut short: timers
/// and the last drain take a moment.
const SHORT_TOLERANCE_NS: u64 = 500_000_000;

/// Sums the event accounting of all devices.
pub(super) fn event_counts(devices: &[DeviceState], lost: &Lost) -> EventCounts {
    let mut counts = EventCounts {
        lost: lost.total(),
        ..EventCounts::default()
    };
    for device in devices {
        let counters = device.counters();
        counts.completed += device.completed();
        counts.delivered += device.delivered();
        counts.lost += counters.ring_lost;
        counts.without_start += counters.without_start;
        counts.without_completion += counters.overwritten + device.outstanding().count;
        counts.time_inversions += device.time_inversions();
        counts.not_tracked += counters.not_tracked;
    }
    counts
}

/// What [`incomplete_reasons`] looks at.
pub(super) struct Course<'a> {
    pub(super) source: SourceKind,
    pub(super) start: Option<&'a Start>,
    pub(super) end: Option<&'a End>,
    pub(super) duration_ns: u64,
    pub(super) counts: &'a EventCounts,
    pub(super) lost: &'a Lost,
    /// Devices beyond the analysis' limit.
    pub(super) devices_refused: u64,
    /// Events of a device that never appeared.
    pub(super) events_of_no_device: u64,
    /// Devices beyond the limit of those whose events are analysed.
    pub(super) devices_not_analysed: u64,
}

/// Why the report does not show the whole of what was asked for; empty when it does.
pub(super) fn incomplete_reasons(course: &Course<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if course.start.is_none() {
        reasons.push("the beginning is missing: host, time and duration are not known".to_owned());
    }
    match course.end {
        Some(end) => reasons.extend(end.incomplete_reasons.iter().cloned()),
        None if course.source == SourceKind::Live => {
            reasons.push("the capture is still running".to_owned());
        }
        None => reasons
            .push("the input has no end: the capture was killed or the file is cut off".to_owned()),
    }
    if let (Some(requested_ns), Some(_)) = (course.start.and_then(|s| s.requested_ns), course.end)
        && course.duration_ns.saturating_add(SHORT_TOLERANCE_NS) < requested_ns
    {
        reasons.push(format!(
            "short: {} of {}",
            seconds(course.duration_ns),
            seconds(requested_ns)
        ));
    }
    reasons.extend(losses(course));
    reasons.dedup();
    reasons
}

fn losses(course: &Course<'_>) -> Vec<String> {
    let (counts, lost) = (course.counts, course.lost);
    let in_ring = counts.lost.saturating_sub(lost.total());
    [
        (in_ring, "events found no room in the ring: sizes, latencies and flags lack them, the counts do not; use a larger --ring-size"),
        (lost.recursion, "hook calls were skipped by the kernel: some I/Os may be missing"),
        (lost.undecodable, "events could not be decoded"),
        (lost.queue, "events were dropped because their reader was too slow"),
        (counts.not_tracked, "I/Os found no room among those in flight: they are counted nowhere"),
        (course.devices_refused, "devices were not analysed: there are more than the tool keeps"),
        (course.devices_not_analysed, "devices show their counts only: more have I/O than the tool analyses"),
        (course.events_of_no_device, "events belong to a device that was never announced"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{n} {what}"))
    .collect()
}

/// A duration as people say it: `5.0 s`.
#[allow(clippy::cast_precision_loss, reason = "shown to a tenth of a second")]
fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

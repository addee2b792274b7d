//! The last 15 minutes, second by second: what windows, scrolling back, heat map and sparklines
//! are made from.
//!
//! Pure: time comes with the events. A second is closed a little after its end and then packed
//! into some tens of bytes a device that did something; a device that did nothing costs nothing.
//!
//! Memory: `seconds x active devices x (8 B + cell)`, where a cell has about 4 B an operation
//! and 3 B for each latency range and size with I/Os: 50 to 200 B, so that 1,000 busy devices
//! for 900 s would take up to 190 MB. All frames together stay within [`BUDGET_BYTES`]: when
//! they would not, the oldest seconds are joined in tens, and when nothing is left to join the
//! oldest are dropped. Open seconds cost up to 11 KB a busy device more.

mod cell;
mod frame;
mod ranges;
mod tally;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use self::{frame::Frame, tally::Tally};
use super::snapshot::{Load, OpDetail, Span, Step};
use crate::{
    event::{DeviceId, Event},
    report::model::{Outstanding, SyncReport},
};

const SECOND_NS: u64 = 1_000_000_000;
/// How far back it goes.
const LENGTH_S: u64 = 15 * 60;
/// Events of a second may come so much later than its end: the ring is looked at every 10 ms.
const GRACE_NS: u64 = 200_000_000;
/// Most memory of all packed seconds.
const BUDGET_BYTES: usize = 48 << 20;
/// Seconds joined in one when memory runs out.
const COARSE_S: u64 = 10;
/// The newest seconds are never joined: the windows are made from them.
const FINE_S: u64 = 120;
/// Most devices of one second; events of further ones are not in the history.
const MAX_DEVICES: usize = 8_192;

/// A second that events are still added to.
#[derive(Debug)]
struct Open {
    second: u64,
    devices: FxHashMap<DeviceId, Tally>,
}

/// What all devices did, second by second.
#[derive(Debug)]
pub(super) struct History {
    started_ns: u64,
    budget_bytes: usize,
    /// Seconds before are closed.
    closed_s: u64,
    open: VecDeque<Open>,
    frames: VecDeque<Frame>,
    frames_bytes: usize,
    /// Seconds before were dropped for lack of memory, or were never there.
    dropped_s: u64,
    /// Seconds before are in tens.
    coarse_s: u64,
    spare: Vec<Tally>,
}

/// Everything about one device in a window, beside its row.
#[derive(Clone, Debug, Default)]
pub(super) struct Close {
    pub(super) read: OpDetail,
    pub(super) write: OpDetail,
    pub(super) discard: OpDetail,
    pub(super) flush: OpDetail,
    pub(super) sync: SyncReport,
}

/// All devices in a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    /// Devices that did something.
    pub(super) devices: FxHashMap<DeviceId, (Load, Outstanding)>,
    /// Sum over the devices that count.
    pub(super) total: Load,
}

impl History {
    /// An empty history that begins at `started_ns` of the capture's clock.
    pub(super) fn new(started_ns: u64) -> Self {
        Self::with_budget(started_ns, BUDGET_BYTES)
    }

    fn with_budget(started_ns: u64, budget_bytes: usize) -> Self {
        Self {
            started_ns,
            budget_bytes,
            closed_s: 0,
            open: VecDeque::new(),
            frames: VecDeque::new(),
            frames_bytes: 0,
            dropped_s: 0,
            coarse_s: 0,
            spare: Vec::new(),
        }
    }

    /// Takes I/Os, about in order of completion. One that comes after its second was closed
    /// counts in the next. Whether a second was closed.
    pub(super) fn record(&mut self, events: &[Event]) -> bool {
        for event in events {
            if let Some(tally) = self.tally(event.end_ns, event.device) {
                tally.record(event);
            }
        }
        let last = events.last();
        last.is_some_and(|last| self.advance(last.end_ns))
    }

    /// Takes what was in flight at a moment, and how many events were lost before it.
    pub(super) fn sample(
        &mut self,
        at_ns: u64,
        device: DeviceId,
        outstanding: Outstanding,
        lost: u64,
    ) {
        if outstanding.count == 0 && lost == 0 {
            return;
        }
        if let Some(tally) = self.tally(at_ns, device) {
            tally.outstanding = outstanding;
            tally.lost = tally.lost.saturating_add(lost);
        }
    }

    fn tally(&mut self, at_ns: u64, device: DeviceId) -> Option<&mut Tally> {
        let second = (at_ns.saturating_sub(self.started_ns) / SECOND_NS).max(self.closed_s);
        let at = match self.open.binary_search_by_key(&second, |open| open.second) {
            Ok(at) => at,
            Err(at) => {
                let devices = FxHashMap::default();
                self.open.insert(at, Open { second, devices });
                at
            }
        };
        let open = self.open.get_mut(at)?;
        if open.devices.len() >= MAX_DEVICES && !open.devices.contains_key(&device) {
            return None;
        }
        let spare = &mut self.spare;
        Some(
            open.devices
                .entry(device)
                .or_insert_with(|| spare.pop().unwrap_or_default()),
        )
    }

    /// Whether a second closes when it is so late.
    pub(super) fn closes_by(&self, now_ns: u64) -> bool {
        self.whole_s(now_ns) > self.closed_s
    }

    /// Seconds that are over, with time for what comes late.
    fn whole_s(&self, now_ns: u64) -> u64 {
        now_ns
            .saturating_sub(self.started_ns)
            .saturating_sub(GRACE_NS)
            / SECOND_NS
    }

    /// Lets time pass; whether a second was closed.
    pub(super) fn advance(&mut self, now_ns: u64) -> bool {
        self.close_until(self.whole_s(now_ns))
    }

    /// Closes everything: nothing comes any more.
    pub(super) fn finish(&mut self, end_ns: u64) {
        let last = self.open.back().map_or(0, |open| open.second + 1);
        let until_ns = end_ns.saturating_sub(self.started_ns);
        self.close_until(last.max(until_ns / SECOND_NS));
    }

    fn close_until(&mut self, until_s: u64) -> bool {
        if until_s <= self.closed_s {
            return false;
        }
        while let Some(open) = self.open.pop_front_if(|open| open.second < until_s) {
            self.close(open);
        }
        self.closed_s = until_s;
        self.trim();
        true
    }

    fn close(&mut self, open: Open) {
        let mut devices: Vec<_> = open.devices.into_iter().collect();
        devices.sort_unstable_by_key(|(device, _)| *device);
        let tallies = devices.iter().map(|(device, tally)| (*device, tally));
        if let Some(frame) = Frame::pack(open.second, 1, tallies) {
            self.frames_bytes += frame.memory_bytes();
            self.frames.push_back(frame);
        }
        for (_, mut tally) in devices {
            if self.spare.len() >= MAX_DEVICES {
                break;
            }
            tally.clear();
            self.spare.push(tally);
        }
    }

    /// Keeps the history within its length and its memory.
    fn trim(&mut self) {
        let oldest_s = self.closed_s.saturating_sub(LENGTH_S);
        while let Some(frame) = self.frames.pop_front_if(|frame| frame.to_s() <= oldest_s) {
            self.frames_bytes -= frame.memory_bytes();
        }
        self.dropped_s = self.dropped_s.max(oldest_s);
        while self.frames_bytes > self.budget_bytes {
            if !self.join_oldest() && !self.drop_oldest() {
                return;
            }
        }
    }

    /// Joins the oldest ten seconds that are apart; false when all old ones are joined.
    fn join_oldest(&mut self) -> bool {
        let first = self.frames.partition_point(|frame| frame.seconds > 1);
        let Some(from_s) = self
            .frames
            .get(first)
            .map(|f| f.from_s / COARSE_S * COARSE_S)
        else {
            return false;
        };
        let to_s = from_s + COARSE_S;
        if to_s + FINE_S > self.closed_s {
            return false;
        }
        let end = self.frames.partition_point(|frame| frame.from_s < to_s);
        let joined: Vec<Frame> = self.frames.drain(first..end).collect();
        self.frames_bytes -= joined.iter().map(Frame::memory_bytes).sum::<usize>();
        let devices: BTreeSet<DeviceId> = joined.iter().flat_map(Frame::devices).collect();
        let tallies: Vec<(DeviceId, Tally)> = devices
            .into_iter()
            .map(|device| {
                let mut tally = Tally::default();
                for frame in &joined {
                    if !frame.add_to(device, &mut tally) {
                        tally.outstanding = Outstanding::default();
                    }
                }
                (device, tally)
            })
            .collect();
        let packed = tallies.iter().map(|(device, tally)| (*device, tally));
        if let Some(frame) = Frame::pack(from_s, COARSE_S, packed) {
            self.frames_bytes += frame.memory_bytes();
            self.frames.insert(first, frame);
        }
        self.coarse_s = self.coarse_s.max(to_s);
        true
    }

    fn drop_oldest(&mut self) -> bool {
        match self.frames.pop_front() {
            Some(frame) => {
                self.frames_bytes -= frame.memory_bytes();
                self.dropped_s = self.dropped_s.max(frame.to_s());
                true
            }
            None => false,
        }
    }

    /// What it holds, since the start.
    pub(super) fn span(&self) -> Span {
        Span {
            from_ns: self.dropped_s * SECOND_NS,
            to_ns: self.closed_s * SECOND_NS,
        }
    }

    /// Where the seconds in tens end; `None` without any.
    pub(super) fn coarse_until_ns(&self) -> Option<u64> {
        (self.coarse_s > self.dropped_s).then_some(self.coarse_s * SECOND_NS)
    }

    /// I/Os of the last whole second.
    pub(super) fn events_in_last_second(&self) -> u64 {
        match self.frames.back() {
            Some(frame) if frame.to_s() == self.closed_s => frame.events,
            _ => 0,
        }
    }

    /// The stretch of whole seconds (tens where the history is coarse) that a window of
    /// `length_s` covers which ends at `until_ns` since the start, or now.
    pub(super) fn window(&self, length_s: u64, until_ns: Option<u64>) -> Span {
        let held = self.span();
        let to_s = until_ns.map_or(self.closed_s, |ns| ns / SECOND_NS);
        let to_s = to_s.clamp(self.dropped_s, self.closed_s);
        let from_s = to_s.saturating_sub(length_s);
        let coarse_s = if self.coarse_until_ns().is_some() {
            self.coarse_s
        } else {
            0
        };
        let outward = |s: u64, up: bool| match (s < coarse_s, up) {
            (false, _) => s,
            (true, false) => s / COARSE_S * COARSE_S,
            (true, true) => s.next_multiple_of(COARSE_S),
        };
        Span {
            from_ns: (outward(from_s, false) * SECOND_NS).max(held.from_ns),
            to_ns: outward(to_s, true) * SECOND_NS,
        }
    }

    fn frames_in(&self, span: Span) -> impl Iterator<Item = &Frame> + Clone {
        let (from_s, to_s) = (span.from_ns / SECOND_NS, span.to_ns / SECOND_NS);
        let first = self.frames.partition_point(|frame| frame.to_s() <= from_s);
        let end = self.frames.partition_point(|frame| frame.from_s < to_s);
        self.frames.range(first..end.max(first))
    }

    /// What every device did in a window; `counts` says whose I/O the sum has.
    pub(super) fn loads(&self, span: Span, mut counts: impl FnMut(DeviceId) -> bool) -> Loads {
        let frames = self.frames_in(span);
        let ids: BTreeSet<DeviceId> = frames.clone().flat_map(Frame::devices).collect();
        let duration_ns = span.to_ns - span.from_ns;
        let (mut tally, mut total) = (Tally::default(), Tally::default());
        let mut devices = FxHashMap::default();
        for id in ids {
            tally.clear();
            self.add_window(span, id, &mut tally);
            if counts(id) {
                total.merge(&tally);
            }
            devices.insert(id, (tally.load(duration_ns), tally.outstanding));
        }
        Loads {
            devices,
            total: total.load(duration_ns),
        }
    }

    fn add_window(&self, span: Span, device: DeviceId, tally: &mut Tally) {
        let mut last_s = 0;
        for frame in self.frames_in(span) {
            if frame.add_to(device, tally) {
                last_s = frame.to_s();
            }
        }
        if last_s * SECOND_NS < span.to_ns {
            tally.outstanding = Outstanding::default();
        }
    }

    /// Distributions of one device in a window.
    pub(super) fn close_up(&self, span: Span, device: DeviceId) -> Close {
        let mut tally = Tally::default();
        self.add_window(span, device, &mut tally);
        Close {
            read: tally.read.detail(),
            write: tally.write.detail(),
            discard: tally.discard.detail(),
            flush: tally.flush.detail(),
            sync: tally.sync,
        }
    }

    /// One device step by step, up to a moment; steps without I/O are zeros.
    pub(super) fn timeline(&self, device: DeviceId, until_ns: u64) -> Vec<Step> {
        let held = self.span();
        let (from_s, to_s) = (
            held.from_ns / SECOND_NS,
            until_ns.min(held.to_ns) / SECOND_NS,
        );
        let mut frames = self.frames.iter().peekable();
        let mut tally = Tally::default();
        let mut steps = Vec::new();
        let mut at_s = from_s;
        while at_s < to_s {
            while frames.next_if(|frame| frame.to_s() <= at_s).is_some() {}
            let frame = frames.peek().filter(|frame| frame.from_s <= at_s);
            // The first step may begin within ten seconds that were joined.
            let end_s = match frame {
                Some(frame) => frame.to_s(),
                None if at_s < self.coarse_s => (at_s / COARSE_S + 1) * COARSE_S,
                None => at_s + 1,
            };
            tally.clear();
            if let Some(frame) = frame {
                frame.add_to(device, &mut tally);
            }
            steps.push(Step {
                from_ns: at_s * SECOND_NS,
                duration_ns: (end_s - at_s) * SECOND_NS,
                read: tally.read.step(),
                write: tally.write.step(),
                flush: tally.flush.step(),
                outstanding: tally.outstanding.count,
            });
            at_s = end_s;
        }
        steps
    }
}

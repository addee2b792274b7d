//! What one device did in a stretch of time, as sums that can be added up.

use std::cmp::Reverse;

use super::ranges::{RANGES, from_ns, middle_ns, range_of};
use crate::{
    event::Event,
    report::{
        model::{LatencyBucket, Outstanding, Rest, SizeCount, SyncReport},
        units::float,
    },
    tui::snapshot::{Dominant, HEAT_RANGES, Load, OpDetail, OpLoad, StepOp, heat_range},
};
use tracer_common::{OpClass, flag};

/// Exact sizes that a sum keeps apart; I/Os of further ones are summed.
const MAX_SIZES: usize = 64;

/// Exact sizes of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sizes {
    pub(super) known: Vec<(u32, u64)>,
    pub(super) rest: Rest,
}

impl Sizes {
    pub(super) fn add(&mut self, bytes: u32, count: u64) {
        if let Some((_, known)) = self.known.iter_mut().find(|(size, _)| *size == bytes) {
            *known += count;
        } else if self.known.len() < MAX_SIZES {
            self.known.push((bytes, count));
        } else {
            self.rest.count += count;
            self.rest.bytes += count * u64::from(bytes);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (bytes, count) in &other.known {
            self.add(*bytes, *count);
        }
        self.rest.count += other.rest.count;
        self.rest.bytes += other.rest.bytes;
    }

    /// Most frequent first; equal ones by size.
    pub(super) fn most_frequent_first(&self) -> Vec<(u32, u64)> {
        let mut sizes = self.known.clone();
        sizes.sort_unstable_by_key(|(bytes, count)| (Reverse(*count), *bytes));
        sizes
    }

    fn clear(&mut self) {
        self.known.clear();
        self.rest = Rest::default();
    }
}

/// One operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpTally {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) max_ns: u64,
    /// I/Os by latency; empty until the first.
    pub(super) ranges: Vec<u32>,
    pub(super) sizes: Sizes,
}

impl OpTally {
    fn record(&mut self, event: &Event, with_size: bool) {
        self.count += 1;
        self.bytes += u64::from(event.bytes);
        if with_size {
            self.sizes.add(event.bytes, 1);
        }
        if let Some(ns) = event.latency_ns() {
            self.max_ns = self.max_ns.max(ns);
            self.add_to_range(range_of(ns), 1);
        }
    }

    pub(super) fn add_to_range(&mut self, range: usize, count: u32) {
        if self.ranges.is_empty() {
            self.ranges.resize(RANGES, 0);
        }
        if let Some(counted) = self.ranges.get_mut(range) {
            *counted = counted.saturating_add(count);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.max_ns = self.max_ns.max(other.max_ns);
        if self.ranges.is_empty() {
            self.ranges.clone_from(&other.ranges);
        } else {
            for (to, from) in self.ranges.iter_mut().zip(&other.ranges) {
                *to = to.saturating_add(*from);
            }
        }
        self.sizes.merge(&other.sizes);
    }

    fn clear(&mut self) {
        (self.count, self.bytes, self.max_ns) = (0, 0, 0);
        self.ranges.fill(0);
        self.sizes.clear();
    }

    /// Ranges with I/Os.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.ranges.iter().copied().enumerate();
        all.filter(|(_, count)| *count > 0)
    }

    /// Nearest-rank percentiles in permille, in order; the middle of their ranges, and never
    /// above the maximum.
    fn percentiles<const N: usize>(&self, permille: [u64; N]) -> [Option<u64>; N] {
        let timed: u64 = self.ranges.iter().map(|count| u64::from(*count)).sum();
        let mut found = [None; N];
        if timed == 0 {
            return found;
        }
        let ranks = permille.map(|permille| (timed * permille).div_ceil(1000).max(1));
        let mut seen = 0;
        for (range, count) in self.recorded() {
            seen += u64::from(count);
            for (found, rank) in found.iter_mut().zip(ranks) {
                if found.is_none() && seen >= rank {
                    *found = Some(middle_ns(range).min(self.max_ns));
                }
            }
        }
        found
    }

    fn longest_ns(&self) -> Option<u64> {
        self.ranges
            .iter()
            .any(|count| *count > 0)
            .then_some(self.max_ns)
    }

    fn load(&self) -> OpLoad {
        let [p50_ns, p99_ns] = self.percentiles([500, 990]);
        OpLoad {
            count: self.count,
            bytes: self.bytes,
            p50_ns,
            p99_ns,
            max_ns: self.longest_ns(),
        }
    }

    /// Sizes and latencies.
    pub(super) fn detail(&self) -> OpDetail {
        let sizes = self.sizes.most_frequent_first();
        let mut latency: Vec<LatencyBucket> = Vec::new();
        for (range, count) in self.recorded() {
            let from_ns = match from_ns(range) {
                0 => 0,
                ns => 1 << ns.ilog2(),
            };
            match latency.last_mut() {
                Some(last) if last.from_ns == from_ns => last.count += u64::from(count),
                _ => latency.push(LatencyBucket {
                    from_ns,
                    to_ns: if from_ns == 0 {
                        self::from_ns(1)
                    } else {
                        from_ns * 2
                    },
                    count: u64::from(count),
                }),
            }
        }
        OpDetail {
            sizes: sizes
                .iter()
                .map(|(bytes, count)| SizeCount {
                    bytes: u64::from(*bytes),
                    count: *count,
                })
                .collect(),
            sizes_rest: self.sizes.rest,
            latency,
        }
    }

    /// A step of the timeline.
    pub(super) fn step(&self) -> StepOp {
        let [p99_ns] = self.percentiles([990]);
        let mut heat = [0_u32; HEAT_RANGES];
        for (range, count) in self.recorded() {
            let cell = &mut heat[heat_range(from_ns(range))];
            *cell = cell.saturating_add(count);
        }
        StepOp {
            count: self.count,
            bytes: self.bytes,
            p99_ns,
            max_ns: self.longest_ns(),
            heat,
        }
    }
}

/// What one device did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) read: OpTally,
    pub(super) write: OpTally,
    pub(super) discard: OpTally,
    pub(super) flush: OpTally,
    pub(super) sync: SyncReport,
    pub(super) errors: u64,
    pub(super) lost: u64,
    /// In flight at the end.
    pub(super) outstanding: Outstanding,
}

impl Tally {
    pub(super) fn record(&mut self, event: &Event) {
        self.errors += u64::from(event.errno != 0);
        match event.op.class() {
            OpClass::Read => self.read.record(event, true),
            OpClass::Write => {
                self.write.record(event, true);
                self.sync.hinted += u64::from(event.flags.has(flag::SYNC));
                self.sync.fua += u64::from(event.flags.has(flag::FUA));
                self.sync.preflush_with_data += u64::from(event.flags.has(flag::PREFLUSH));
                self.sync.durable_writes += u64::from(event.is_durable_write());
            }
            OpClass::Discard => self.discard.record(event, true),
            OpClass::Flush => self.flush.record(event, false),
            // No column of its own; the report has them.
            OpClass::Other => {}
        }
    }

    /// Adds a later stretch.
    pub(super) fn merge(&mut self, later: &Self) {
        self.read.merge(&later.read);
        self.write.merge(&later.write);
        self.discard.merge(&later.discard);
        self.flush.merge(&later.flush);
        self.sync.hinted += later.sync.hinted;
        self.sync.fua += later.sync.fua;
        self.sync.preflush_with_data += later.sync.preflush_with_data;
        self.sync.durable_writes += later.sync.durable_writes;
        self.errors += later.errors;
        self.lost = self.lost.saturating_add(later.lost);
        self.outstanding = later.outstanding;
    }

    /// Empties it and keeps its memory.
    pub(super) fn clear(&mut self) {
        for op in [
            &mut self.read,
            &mut self.write,
            &mut self.discard,
            &mut self.flush,
        ] {
            op.clear();
        }
        self.sync = SyncReport::default();
        (self.errors, self.lost) = (0, 0);
        self.outstanding = Outstanding::default();
    }

    /// A row's numbers.
    pub(super) fn load(&self, duration_ns: u64) -> Load {
        let sizes = &self.write.sizes.known;
        let most = sizes
            .iter()
            .max_by_key(|(bytes, count)| (*count, Reverse(*bytes)));
        Load {
            duration_ns,
            read: self.read.load(),
            write: self.write.load(),
            discard: self.discard.load(),
            flush: self.flush.load(),
            dominant_write: most.map(|(bytes, count)| Dominant {
                bytes: u64::from(*bytes),
                share: float(*count) / float(self.write.count.max(1)),
            }),
            errors: self.errors,
            lost: self.lost,
        }
    }
}

//! The writes of one device, told apart by transaction group.
//!
//! Owns which group a write belongs to and what each group costs: distinct blocks of every
//! size, and blocks whose first write in the group covers them only in part. Bounds of the
//! groups come from the pool's `txgs` kstat; since a sample tells them up to a second late,
//! writes wait until their group is certain. Without the kstat, groups are windows of
//! `zfs_txg_timeout`, and the report says so.

use std::collections::VecDeque;

use super::{
    dirty::{BlockCounts, Dirty, LEVELS, Room},
    first_touch::FirstTouches,
    txg::TxgClock,
};
use crate::report::model::TxgSource;

/// A zvol whose pool has shown no group for this long has no kstat: its groups are assumed.
const WAIT_FOR_KSTAT_NS: u64 = 3_000_000_000;
/// As many writes may wait as this part of the runs: a waiting write takes 24 B, a run 8 B.
const WAITING_PART: usize = 3;

/// How long a group lasts when nothing is known, and how much may be remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Start of the first assumed window, capture clock, ns.
    pub(super) windows_from_ns: u64,
    /// Length of an assumed window, ns; never 0.
    pub(super) window_ns: u64,
    /// Most runs of dirty granules, and most waiting writes, of one device.
    pub(super) max_runs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The disk is in a pool whose kstat may still show up.
    Undecided,
    Kstat,
    Assumed,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    at_ns: u64,
    offset_bytes: u64,
    bytes: u32,
}

/// What the groups that ended cost.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    /// Distinct blocks, summed over the groups, by level above the granule.
    pub(super) blocks: BlockCounts,
    /// Bytes written.
    pub(super) bytes: u64,
    /// Groups with writes.
    pub(super) groups: u64,
    /// Blocks whose first write in their group covers them in part.
    pub(super) first_touched_in_part: u64,
    /// Groups that outgrew the memory and were counted in parts: their blocks are an upper
    /// bound.
    pub(super) cut: u64,
}

/// Writes of a device by transaction group.
#[derive(Clone, Debug)]
pub(super) struct WriteGroups {
    /// log2 of the granule, bytes.
    granule_shift: u32,
    /// log2 of the device's block size; without one no partial blocks are counted.
    block_shift: Option<u32>,
    source: Source,
    any_assumed: bool,
    waiting: VecDeque<Write>,
    open_key: u64,
    dirty: Dirty,
    first_touches: FirstTouches,
    open_bytes: u64,
    closed: Closed,
}

impl WriteGroups {
    pub(super) fn new(granule_shift: u32, block_shift: Option<u32>, in_pool: bool) -> Self {
        Self {
            granule_shift,
            block_shift,
            source: if in_pool {
                Source::Undecided
            } else {
                Source::Assumed
            },
            any_assumed: !in_pool,
            waiting: VecDeque::new(),
            open_key: 0,
            dirty: Dirty::default(),
            first_touches: FirstTouches::default(),
            open_bytes: 0,
            closed: Closed {
                blocks: [0; LEVELS],
                bytes: 0,
                groups: 0,
                first_touched_in_part: 0,
                cut: 0,
            },
        }
    }

    /// Takes a write that completed at `at_ns`.
    pub(super) fn record(&mut self, at_ns: u64, offset_bytes: u64, bytes: u32, bounds: &Bounds) {
        let write = Write {
            at_ns,
            offset_bytes,
            bytes,
        };
        if self.source == Source::Assumed {
            self.assign_to_window(write, bounds);
            return;
        }
        self.waiting.push_back(write);
        let waited_ns = self
            .waiting
            .front()
            .map_or(0, |first| at_ns.saturating_sub(first.at_ns));
        let is_full = self.waiting.len() > bounds.max_runs / WAITING_PART;
        if self.source == Source::Undecided && (is_full || waited_ns > WAIT_FOR_KSTAT_NS) {
            self.assume(bounds);
        } else if is_full {
            // No sample for long: the oldest join the group that is open as far as is known.
            if let Some(oldest) = self.waiting.pop_front() {
                self.assign(oldest, self.open_key, bounds);
            }
        }
    }

    fn assume(&mut self, bounds: &Bounds) {
        self.close_open();
        self.source = Source::Assumed;
        self.any_assumed = true;
        while let Some(write) = self.waiting.pop_front() {
            self.assign_to_window(write, bounds);
        }
        self.waiting = VecDeque::new();
    }

    fn assign_to_window(&mut self, write: Write, bounds: &Bounds) {
        let window = write.at_ns.saturating_sub(bounds.windows_from_ns) / bounds.window_ns;
        self.assign(write, window, bounds);
    }

    /// Assigns the waiting writes whose group the pool's kstat has told.
    pub(super) fn settle(&mut self, clock: &TxgClock, bounds: &Bounds) {
        if !clock.has_groups() {
            return;
        }
        if self.source == Source::Assumed {
            self.close_open();
            self.open_key = 0;
        }
        self.source = Source::Kstat;
        while let Some(write) = self.waiting.front().copied() {
            if write.at_ns > clock.known_until_ns() {
                break;
            }
            self.waiting.pop_front();
            self.assign(write, clock.group_at(write.at_ns), bounds);
        }
    }

    /// Assigns what still waits, as far as the groups are known, and ends the open group.
    pub(super) fn finish(&mut self, clock: Option<&TxgClock>, bounds: &Bounds) {
        let clock = clock.filter(|clock| clock.has_groups());
        match clock {
            Some(clock) if self.source != Source::Assumed => {
                self.source = Source::Kstat;
                while let Some(write) = self.waiting.pop_front() {
                    self.assign(write, clock.group_at(write.at_ns), bounds);
                }
            }
            _ if self.source == Source::Undecided && !self.waiting.is_empty() => {
                self.assume(bounds);
            }
            _ => {
                while let Some(write) = self.waiting.pop_front() {
                    self.assign(write, self.open_key, bounds);
                }
            }
        }
        self.close_open();
    }

    /// Groups come in order; a write that arrives late joins the open one.
    fn assign(&mut self, write: Write, key: u64, bounds: &Bounds) {
        if key > self.open_key {
            self.close_open();
            self.open_key = key;
        }
        self.open_bytes += u64::from(write.bytes);
        let last_byte = write.offset_bytes.saturating_add(u64::from(write.bytes)) - 1;
        let touches_room = match self.block_shift {
            Some(shift) => {
                self.first_touches
                    .record(write.offset_bytes, last_byte, shift, bounds.max_runs)
            }
            None => Room::Left,
        };
        let dirty_room = self.dirty.insert(
            write.offset_bytes >> self.granule_shift,
            last_byte >> self.granule_shift,
            bounds.max_runs,
        );
        if touches_room == Room::None || dirty_room == Room::None {
            self.close_open();
            self.closed.cut += 1;
        }
    }

    fn close_open(&mut self) {
        if self.dirty.is_empty() {
            return;
        }
        let counts = self.dirty.take_counts();
        for (sum, count) in self.closed.blocks.iter_mut().zip(counts) {
            *sum += count;
        }
        self.closed.bytes += self.open_bytes;
        self.closed.groups += 1;
        self.closed.first_touched_in_part += self.first_touches.take_count();
        self.open_bytes = 0;
    }

    /// Gives back memory beyond a new bound; a set beyond it is closed by the next write.
    pub(super) fn shrink(&mut self, max_runs: usize) {
        self.dirty.shrink(max_runs);
        self.first_touches.shrink(max_runs);
        self.waiting.shrink_to(max_runs / WAITING_PART);
    }

    /// Whether writes are in no group that has ended.
    pub(super) fn has_open(&self) -> bool {
        !self.dirty.is_empty() || !self.waiting.is_empty()
    }

    /// What the groups cost that have ended.
    pub(super) fn closed(&self) -> &Closed {
        &self.closed
    }

    /// [`TxgSource::Kstat`] only when no group had to be assumed.
    pub(super) fn source(&self) -> TxgSource {
        if self.any_assumed || self.source != Source::Kstat {
            TxgSource::Assumed
        } else {
            TxgSource::Kstat
        }
    }

    pub(super) fn granule_shift(&self) -> u32 {
        self.granule_shift
    }
}

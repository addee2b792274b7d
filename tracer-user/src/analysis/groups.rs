//! The writes of one device, told apart by transaction group.
//!
//! Owns which group a write belongs to, the sums over the groups for every block size, and
//! blocks whose first write in the group covers them only in part. Bounds of the groups come
//! from the pool's `txgs` kstat; since a sample tells them up to a second late, writes wait
//! until their group is certain. Without the kstat, groups are windows of `zfs_txg_timeout`,
//! and the report says so. Groups that other block sizes would have are [`super::window`]'s.

use std::collections::VecDeque;

use super::{
    first_touch::FirstTouches,
    txg::{Group, TxgClock},
    window::{Ends, Room, Tree, Window},
};
use crate::report::model::TxgSource;

/// A zvol whose pool has shown no group for this long has no kstat: its groups are assumed.
const WAIT_FOR_KSTAT_NS: u64 = 3_000_000_000;
/// As many writes may wait as this part of the runs: a waiting write takes 24 B, a run 8 B.
const WAITING_PART: usize = 3;
/// Block sizes that are reckoned, each twice the one before: all from 512 B to 16M.
const SIZES: usize = 16;

/// How long a group lasts when nothing is known, and how much may be remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Start of the first assumed window, capture clock, ns.
    pub(super) windows_from_ns: u64,
    /// What ends a group; its timeout is the length of an assumed window.
    pub(super) ends: Ends,
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

/// What the groups cost whose window has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// Distinct blocks and the indirect ones above, summed over the groups, by level above the
    /// granule.
    pub(super) blocks: [Tree; SIZES],
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
    open_group: Group,
    window: Window,
    first_touches: FirstTouches,
    open_bytes: u64,
    /// Of the window's groups that ended.
    ended: Closed,
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
            open_group: Group::default(),
            window: Window::default(),
            first_touches: FirstTouches::default(),
            open_bytes: 0,
            ended: Closed::default(),
            closed: Closed::default(),
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
                self.assign(oldest, self.open_group, bounds);
            }
        }
    }

    fn assume(&mut self, bounds: &Bounds) {
        self.end_all(bounds);
        self.source = Source::Assumed;
        self.any_assumed = true;
        while let Some(write) = self.waiting.pop_front() {
            self.assign_to_window(write, bounds);
        }
        self.waiting = VecDeque::new();
    }

    fn assign_to_window(&mut self, write: Write, bounds: &Bounds) {
        let length_ns = bounds.ends.timeout_ns;
        let number = write.at_ns.saturating_sub(bounds.windows_from_ns) / length_ns;
        let group = Group {
            number,
            duration_ns: Some(length_ns),
        };
        self.assign(write, group, bounds);
    }

    /// Assigns the waiting writes whose group the pool's kstat has told.
    pub(super) fn settle(&mut self, clock: &TxgClock, bounds: &Bounds) {
        if !clock.has_groups() {
            return;
        }
        if self.source == Source::Assumed {
            self.end_all(bounds);
            self.open_group = Group::default();
        }
        self.source = Source::Kstat;
        self.open_group = clock.renewed(self.open_group);
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
                self.open_group = clock.renewed(self.open_group);
                while let Some(write) = self.waiting.pop_front() {
                    self.assign(write, clock.group_at(write.at_ns), bounds);
                }
            }
            _ if self.source == Source::Undecided && !self.waiting.is_empty() => {
                self.assume(bounds);
            }
            _ => {
                while let Some(write) = self.waiting.pop_front() {
                    self.assign(write, self.open_group, bounds);
                }
            }
        }
        self.end_all(bounds);
    }

    /// Groups come in order; a write that arrives late joins the open one.
    fn assign(&mut self, write: Write, group: Group, bounds: &Bounds) {
        if group.number > self.open_group.number {
            self.end_group(bounds);
        }
        if group.number >= self.open_group.number {
            // Its end may have become known.
            self.open_group = group;
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
        let mut room = self.window.insert(
            write.offset_bytes >> self.granule_shift,
            last_byte >> self.granule_shift,
            &bounds.ends,
            bounds.max_runs,
        );
        if room == Room::None {
            self.close_window(bounds);
            room = self.window.squeeze(bounds.max_runs);
        }
        if touches_room == Room::None || room == Room::None {
            self.end_all(bounds);
            self.closed.cut += 1;
        }
    }

    fn end_group(&mut self, bounds: &Bounds) {
        if self.window.is_open_empty() {
            return;
        }
        // Assumed groups know nothing of what ended them.
        let seen = self.block_level().filter(|_| self.source == Source::Kstat);
        let goes_on = self.window.end_group(
            self.open_group.duration_ns,
            seen,
            self.granule_shift,
            &bounds.ends,
        );
        self.ended.bytes += std::mem::take(&mut self.open_bytes);
        self.ended.groups += 1;
        self.ended.first_touched_in_part += self.first_touches.take_count();
        if !goes_on {
            self.close_window(bounds);
        }
    }

    /// Reckons the groups that ended on every block size.
    fn close_window(&mut self, bounds: &Bounds) {
        let Some(ladder) = self.window.close() else {
            return;
        };
        let present = self.block_level();
        for (level, sum) in self.closed.blocks.iter_mut().enumerate() {
            let tree = if self.source == Source::Kstat && present == Some(level) {
                ladder.seen(level)
            } else {
                ladder.reckoned(level, present, self.granule_shift, &bounds.ends)
            };
            for (sum, blocks) in sum.iter_mut().zip(tree) {
                *sum += blocks;
            }
        }
        let ended = std::mem::take(&mut self.ended);
        self.closed.bytes += ended.bytes;
        self.closed.groups += ended.groups;
        self.closed.first_touched_in_part += ended.first_touched_in_part;
    }

    fn end_all(&mut self, bounds: &Bounds) {
        self.end_group(bounds);
        self.close_window(bounds);
    }

    /// The present block size as a level above the granule.
    fn block_level(&self) -> Option<usize> {
        Some(self.block_shift?.checked_sub(self.granule_shift)? as usize)
    }

    /// Gives back memory beyond a new bound; a set beyond it is closed by the next write.
    pub(super) fn shrink(&mut self, max_runs: usize) {
        self.window.shrink(max_runs);
        self.first_touches.shrink(max_runs);
        self.waiting.shrink_to(max_runs / WAITING_PART);
    }

    /// Whether writes are in no window that has ended.
    pub(super) fn has_open(&self) -> bool {
        !self.window.is_empty() || !self.waiting.is_empty()
    }

    /// What the groups cost whose window has ended.
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

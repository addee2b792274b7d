//! What a few transaction groups would have cost on any block size, groups of its own included.
//!
//! ZFS ends a group after `zfs_txg_timeout`, or sooner when its dirty data pass
//! `zfs_dirty_data_max` x `zfs_dirty_data_sync_percent` (OpenZFS 2.0 to 2.4, `dsl_pool.c`,
//! `dsl_pool_need_dirty_sync`). A block counts whole however little of it was written, and so
//! does the indirect block above it (`dbuf.c`, `dbuf_dirty`). So on larger blocks groups may be
//! shorter than those that were seen, and on smaller ones longer.
//!
//! Owns the runs of the groups since the window began, and the reckoning of each block size.
//! The present size keeps the groups as they were.

use super::{
    dirty::{self, BlockCounts, LEVELS},
    indirect::{INDIRECT_BYTES, POINTERS_SHIFT},
    pieces::{Pieces, Rung, add_rungs},
};

/// A block and the indirect blocks above it, up to the largest disk.
pub(super) const TREE_LEVELS: usize = 6;
/// Distinct data blocks, then indirect blocks of level 1, 2 and so on.
pub(super) type Tree = [u64; TREE_LEVELS];

/// A group seen on the present block size is its own dirty data's work from this part of that
/// on; else something else ended it, which would end it on any block size.
const OWN_PART: u64 = 2;
/// Longest single piece, runs: the shortest group that is told apart.
const LONGEST_LEAF: u64 = 4_096;
const SHORTEST_LEAF: u64 = 64;
/// Largest block for which a piece must hold less than a group, log2 of bytes: 1M.
const FINE_SHIFT: u32 = 20;

/// Whether there is room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    None,
}

/// When ZFS ends a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// After this time, ns; never 0.
    pub(super) timeout_ns: u64,
    /// With more dirty bytes than this; `None` when that is not known.
    pub(super) dirty_bytes: Option<u64>,
}

/// Groups since the window began, and the open one.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// Ended groups, pieces of the open one, and its latest writes, one behind the other.
    runs: Vec<u64>,
    ended: Pieces,
    open: Pieces,
    open_start: usize,
    latest_start: usize,
    /// Pieces of the ended groups; the last rung are the groups.
    within: Vec<Rung>,
    duration_ns: u64,
    /// Whether its own dirty data ended its groups.
    is_pushed: bool,
}

/// What a window's groups are.
pub(super) struct Ladder {
    rungs: Vec<Rung>,
    /// The rung whose pieces are the groups.
    groups_at: usize,
    /// Writes, as [`Pieces`] count them.
    length: f64,
    duration_ns: u64,
    is_pushed: bool,
}

impl Window {
    /// Adds the granules from `first` to `last`, both inclusive, to the open group. Without
    /// room the caller closes the window or ends the group.
    pub(super) fn insert(&mut self, first: u64, last: u64, ends: &Ends, max_runs: usize) -> Room {
        dirty::push(&mut self.runs, self.latest_start, first, last);
        if self.runs.len() - self.latest_start >= leaf_runs(ends, max_runs) {
            self.seal();
        }
        if self.runs.len() < max_runs - max_runs / 4 {
            Room::Left
        } else {
            Room::None
        }
    }

    /// Makes a piece of the latest writes.
    fn seal(&mut self) {
        let start = self.latest_start;
        if start < self.runs.len() {
            #[allow(clippy::cast_precision_loss, reason = "at most a few million")]
            let length = (self.runs.len() - start) as f64;
            dirty::compact(&mut self.runs, start);
            let blocks = dirty::counts(&self.runs[start..]);
            self.open.push(&mut self.runs, start, length, &blocks);
            self.latest_start = self.runs.len();
        }
    }

    /// Joins what overlaps in the open group. [`Room::None`] when that left more than half.
    pub(super) fn squeeze(&mut self, max_runs: usize) -> Room {
        self.seal();
        self.open.squeeze(&mut self.runs);
        self.latest_start = self.runs.len();
        if self.runs.len() < max_runs / 2 {
            Room::Left
        } else {
            Room::None
        }
    }

    pub(super) fn is_open_empty(&self) -> bool {
        self.runs.len() == self.open_start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Ends the open group, which was open so long. Whether its window goes on: its own dirty
    /// data ended it before its time. `present` is the level of the present block size above
    /// granules of `2^granule_shift`.
    pub(super) fn end_group(
        &mut self,
        duration_ns: Option<u64>,
        present: Option<usize>,
        granule_shift: u32,
        ends: &Ends,
    ) -> bool {
        self.seal();
        let length = self.open.length();
        let rungs = self.open.fold(&mut self.runs);
        let Some(group) = rungs.last() else {
            return self.is_pushed;
        };
        let own_bytes = present.map(|level| dirty_bytes(&group.blocks, level, granule_shift));
        add_rungs(&mut self.within, &rungs);
        self.ended
            .push(&mut self.runs, self.open_start, length, &group.blocks);
        self.open_start = self.runs.len();
        self.latest_start = self.open_start;
        let was_pushed = duration_ns.is_some_and(|ns| ns < ends.timeout_ns)
            && own_bytes
                .zip(ends.dirty_bytes)
                .is_some_and(|(own, limit)| own >= limit / OWN_PART);
        self.duration_ns = self.duration_ns.saturating_add(duration_ns.unwrap_or(0));
        self.is_pushed |= was_pushed;
        was_pushed && self.duration_ns < ends.timeout_ns
    }

    /// Closes the window behind the groups that ended; the open one begins the next.
    pub(super) fn close(&mut self) -> Option<Ladder> {
        if self.ended.is_empty() {
            return None;
        }
        let open: Vec<u64> = self.runs.drain(self.open_start..).collect();
        let length = self.ended.length();
        let across = self.ended.fold(&mut self.runs);
        self.runs.clear();
        self.runs.extend(open);
        self.open.move_up(self.open_start);
        self.latest_start -= self.open_start;
        self.open_start = 0;
        let mut rungs = std::mem::take(&mut self.within);
        let groups_at = rungs.len().saturating_sub(1);
        rungs.extend(across.into_iter().skip(1));
        Some(Ladder {
            rungs,
            groups_at,
            length,
            duration_ns: std::mem::take(&mut self.duration_ns),
            is_pushed: std::mem::take(&mut self.is_pushed),
        })
    }

    /// Gives back memory that a busier time needed.
    pub(super) fn shrink(&mut self, max_runs: usize) {
        self.runs.shrink_to(max_runs);
    }
}

/// As many runs as on large blocks hold less than a group; when it is not known what ends a
/// group, as few pieces as there may be.
#[allow(clippy::cast_possible_truncation, reason = "at most LONGEST_LEAF")]
fn leaf_runs(ends: &Ends, max_runs: usize) -> usize {
    let runs = ends.dirty_bytes.map_or(LONGEST_LEAF, |bytes| {
        (bytes >> FINE_SHIFT).clamp(SHORTEST_LEAF, LONGEST_LEAF)
    });
    (runs as usize).min(max_runs / 8)
}

/// Dirty data of these blocks: those of a level, and the indirect ones right above; those
/// above them are few.
fn dirty_bytes(blocks: &BlockCounts, level: usize, granule_shift: u32) -> u64 {
    let tree = tree(blocks, level);
    let data = tree[0] << (granule_shift as usize + level);
    data.saturating_add(tree[1] * INDIRECT_BYTES)
}

/// Beyond the counted levels everything is one block.
fn tree(blocks: &BlockCounts, level: usize) -> Tree {
    std::array::from_fn(|above| blocks[(level + above * POINTERS_SHIFT as usize).min(LEVELS - 1)])
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "blocks and places between rungs, never negative, to a few digits"
)]
impl Ladder {
    /// The groups as they were seen.
    pub(super) fn seen(&self, level: usize) -> Tree {
        self.rungs
            .get(self.groups_at)
            .map_or([0; TREE_LEVELS], |rung| tree(&rung.blocks, level))
    }

    /// The groups as this block size would have had them. `present` is the level of the
    /// present size, when it is known.
    pub(super) fn reckoned(
        &self,
        level: usize,
        present: Option<usize>,
        granule_shift: u32,
        ends: &Ends,
    ) -> Tree {
        let (Some(limit), Some(groups)) = (ends.dirty_bytes, self.rungs.get(self.groups_at)) else {
            return self.seen(level);
        };
        let number = self.pieces(groups);
        // Where the limit ended the groups that were seen, they show what it is for this disk.
        let limit = match present.filter(|_| self.is_pushed) {
            Some(present) => dirty_bytes(&groups.blocks, present, granule_shift) as f64 / number,
            None => limit as f64,
        };
        let duration = self.duration_ns as f64;
        let timeout = (ends.timeout_ns as f64).max(duration / number);
        let by_dirty = self.crossing(|rung| {
            let own = dirty_bytes(&rung.blocks, level, granule_shift) as f64;
            own / self.pieces(rung) / limit
        });
        let by_time = self.crossing(|rung| duration / self.pieces(rung) / timeout);
        self.between(by_dirty.min(by_time), level)
    }

    /// How many pieces a rung has, the short ones at the ends of groups counting for little.
    fn pieces(&self, rung: &Rung) -> f64 {
        (self.length * self.length / rung.squares).max(1.0)
    }

    /// Where on the ladder a ratio that grows with the pieces passes 1, as a rung and a part of
    /// the way to the next: the ratio is taken for a power of the length.
    fn crossing(&self, of: impl Fn(&Rung) -> f64) -> f64 {
        let mut before: Option<f64> = None;
        for (at, rung) in self.rungs.iter().enumerate() {
            let ratio = of(rung);
            if ratio > 1.0 {
                let Some(before) = before.filter(|before| *before > 0.0) else {
                    return 0.0;
                };
                return at as f64 - ratio.ln() / (ratio / before).ln();
            }
            before = Some(ratio);
        }
        (self.rungs.len() - 1) as f64
    }

    /// The blocks at a place on the ladder.
    fn between(&self, place: f64, level: usize) -> Tree {
        let at = place.floor();
        let [lower, upper] = [at as usize, at as usize + 1].map(|index| {
            let rung = &self.rungs[index.min(self.rungs.len() - 1)];
            tree(&rung.blocks, level)
        });
        let part = place - at;
        std::array::from_fn(|above| {
            let (from, to) = (lower[above] as f64, upper[above] as f64);
            (from * (to / from).powf(part)).round() as u64
        })
    }
}

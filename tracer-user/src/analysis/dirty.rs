//! The blocks that the writes of one transaction group touch, for every block size at once.
//!
//! Owns the exact set of touched granules and the count of distinct blocks at each power of
//! two above them. Writes are kept as runs of granules, one word each, and sorted when the
//! group ends: an insertion is a push, and one pass over the sorted runs counts all block
//! sizes, since two neighbours in order lie in different blocks of size `2^k` exactly when
//! their highest differing bit is `k` or higher.

/// Bits of a run that hold its length less one; longer writes are several runs.
const LENGTH_BITS: u32 = 12;
const LONGEST_RUN: u64 = 1 << LENGTH_BITS;
/// Highest granule that can be kept; 2 EiB of 4K granules, and no disk is larger than 8 EiB.
const LAST_GRANULE: u64 = (1 << (64 - LENGTH_BITS)) - 1;
/// Runs before the first compaction.
const FIRST_COMPACTION: usize = 1024;
/// Levels of doubling that are counted.
pub(super) const LEVELS: usize = 52;

/// Distinct blocks by the power of two of granules that a block has.
pub(super) type BlockCounts = [u64; LEVELS];

/// A set of granules. Memory: 8 B a run, at most as many runs as [`Dirty::insert`] allows.
#[derive(Clone, Debug, Default)]
pub(super) struct Dirty {
    runs: Vec<u64>,
    compact_at: usize,
}

/// Whether the set has room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    None,
}

impl Dirty {
    /// Adds the granules from `first` to `last`, both inclusive. Answers [`Room::None`] when
    /// the set has more than three quarters of `max_runs` even after overlapping and adjoining
    /// runs were joined: the caller then closes the set.
    pub(super) fn insert(&mut self, first: u64, last: u64, max_runs: usize) -> Room {
        let (mut first, last) = (first.min(LAST_GRANULE), last.min(LAST_GRANULE));
        if self.extends_latest(first, last) {
            return Room::Left;
        }
        while first <= last {
            let run_last = last.min(first.saturating_add(LONGEST_RUN - 1));
            self.runs.push(pack(first, run_last));
            first = run_last + 1;
        }
        if self.runs.len() < self.compact_at.max(FIRST_COMPACTION).min(max_runs) {
            return Room::Left;
        }
        self.compact();
        self.compact_at = self.runs.len() * 2;
        if self.runs.len() > max_runs - max_runs / 4 {
            Room::None
        } else {
            Room::Left
        }
    }

    /// Joins a write that continues or repeats the latest run: sequential streams stay small.
    fn extends_latest(&mut self, first: u64, last: u64) -> bool {
        let Some(latest) = self.runs.last_mut() else {
            return false;
        };
        let (latest_first, latest_last) = unpack(*latest);
        let joined_last = latest_last.max(last);
        let adjoins = first >= latest_first && first <= latest_last + 1;
        if !adjoins || joined_last - latest_first >= LONGEST_RUN {
            return false;
        }
        *latest = pack(latest_first, joined_last);
        true
    }

    fn compact(&mut self) {
        self.runs.sort_unstable();
        let mut kept = 0;
        for at in 0..self.runs.len() {
            let (first, last) = unpack(self.runs[at]);
            if kept > 0 {
                let (kept_first, kept_last) = unpack(self.runs[kept - 1]);
                let joined_last = kept_last.max(last);
                if first <= kept_last + 1 && joined_last - kept_first < LONGEST_RUN {
                    self.runs[kept - 1] = pack(kept_first, joined_last);
                    continue;
                }
            }
            self.runs[kept] = self.runs[at];
            kept += 1;
        }
        self.runs.truncate(kept);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Counts the distinct blocks and empties the set.
    pub(super) fn take_counts(&mut self) -> BlockCounts {
        self.runs.sort_unstable();
        let counts = counts(&self.runs);
        self.runs.clear();
        self.compact_at = 0;
        counts
    }

    /// Gives back memory that a busier time needed.
    pub(super) fn shrink(&mut self, max_runs: usize) {
        self.runs.shrink_to(max_runs);
    }
}

fn pack(first: u64, last: u64) -> u64 {
    (first << LENGTH_BITS) | (last - first)
}

fn unpack(run: u64) -> (u64, u64) {
    let first = run >> LENGTH_BITS;
    (first, first + (run & (LONGEST_RUN - 1)))
}

/// Distinct blocks at each level, of runs in order.
fn counts(sorted: &[u64]) -> BlockCounts {
    let mut counts = [0; LEVELS];
    // By the highest bit in which a run's first granule differs from the granule before it.
    let mut first_differs_at = [0_u64; 64];
    let mut previous_last: Option<u64> = None;
    for run in sorted {
        let (mut first, last) = unpack(*run);
        let differs_at = match previous_last {
            Some(previous) if last <= previous => continue,
            Some(previous) => {
                first = first.max(previous + 1);
                (previous ^ first).ilog2() as usize
            }
            None => 63,
        };
        first_differs_at[differs_at] += 1;
        if first != last {
            let levels = ((first ^ last).ilog2() as usize + 1).min(LEVELS);
            for (level, count) in counts.iter_mut().enumerate().take(levels) {
                *count += (last >> level) - (first >> level);
            }
        }
        previous_last = Some(last);
    }
    let mut new_from_here = first_differs_at[LEVELS..].iter().sum::<u64>();
    for level in (0..LEVELS).rev() {
        new_from_here += first_differs_at[level];
        counts[level] += new_from_here;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_level_counts_the_distinct_blocks(
            runs in prop::collection::vec((0..40_000_u64, 1..6_000_u64), 0..8),
            singles in prop::collection::vec(0..3_000_u64, 0..2_000),
        ) {
            let mut dirty = Dirty::default();
            let mut blocks = BTreeSet::new();
            let all = runs.into_iter().chain(singles.into_iter().map(|at| (at, 1)));
            for (first, length) in all {
                let room = dirty.insert(first, first + length - 1, 1 << 20);
                prop_assert_eq!(room, Room::Left);
                blocks.extend(first..first + length);
            }
            let counts = dirty.take_counts();
            for (level, count) in counts.iter().enumerate() {
                prop_assert_eq!(*count, blocks.len() as u64, "level {}", level);
                blocks = blocks.iter().map(|block| block >> 1).collect();
            }
            prop_assert!(dirty.is_empty());
        }
    }

    #[test]
    fn a_sequential_stream_needs_next_to_no_room() {
        let mut dirty = Dirty::default();
        for granule in 0..1_000_000 {
            assert_eq!(dirty.insert(granule, granule, 1_024), Room::Left);
        }
        assert!(dirty.runs.len() < 1_024);
        assert_eq!(dirty.take_counts()[0], 1_000_000);
    }

    #[test]
    fn a_set_that_outgrows_its_room_says_so_and_is_still_exact() {
        let mut dirty = Dirty::default();
        let mut inserted = 0;
        while dirty.insert(inserted * 7, inserted * 7, 2_048) == Room::Left {
            inserted += 1;
            assert!(inserted < 3_000, "the bound must bite");
        }
        assert_eq!(dirty.take_counts()[0], inserted + 1);
    }

    #[test]
    fn the_last_granule_of_the_largest_disk_is_kept() {
        let mut dirty = Dirty::default();
        dirty.insert(u64::MAX - 5, u64::MAX, 1_024);
        assert_eq!(dirty.take_counts()[0], 1);
    }
}

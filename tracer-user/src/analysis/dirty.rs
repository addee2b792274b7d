//! Runs of touched granules, and how many distinct blocks of every size they lie in.
//!
//! Owns the packed form of a run and the count: one pass over sorted runs counts all block
//! sizes, since two neighbours in order lie in different blocks of size `2^k` exactly when
//! their highest differing bit is `k` or higher.

/// Bits of a run that hold its length less one; longer writes are several runs.
const LENGTH_BITS: u32 = 12;
const LONGEST_RUN: u64 = 1 << LENGTH_BITS;
/// Highest granule that can be kept; 2 EiB of 4K granules, and no disk is larger than 8 EiB.
const LAST_GRANULE: u64 = (1 << (64 - LENGTH_BITS)) - 1;
/// Levels of doubling that are counted.
pub(super) const LEVELS: usize = 52;

/// Distinct blocks by the power of two of granules that a block has.
pub(super) type BlockCounts = [u64; LEVELS];

/// Adds the granules from `first` to `last`, both inclusive, behind the runs. The latest run,
/// if it is at `from` or later, takes what continues or repeats it: sequential streams stay
/// small.
pub(super) fn push(runs: &mut Vec<u64>, from: usize, first: u64, last: u64) {
    let (mut first, last) = (first.min(LAST_GRANULE), last.min(LAST_GRANULE));
    if let Some(latest) = runs[from..].last_mut() {
        let (latest_first, latest_last) = unpack(*latest);
        let joined_last = latest_last.max(last);
        let adjoins = first >= latest_first && first <= latest_last + 1;
        if adjoins && joined_last - latest_first < LONGEST_RUN {
            *latest = pack(latest_first, joined_last);
            return;
        }
    }
    while first <= last {
        let run_last = last.min(first.saturating_add(LONGEST_RUN - 1));
        runs.push(pack(first, run_last));
        first = run_last + 1;
    }
}

/// Sorts the runs from an index on and joins those that overlap or adjoin.
#[allow(
    clippy::stable_sort_primitive,
    reason = "it merges what is in order already, which the unstable sort does not"
)]
pub(super) fn compact(runs: &mut Vec<u64>, from: usize) {
    runs[from..].sort();
    let mut kept = from;
    for at in from..runs.len() {
        let (first, last) = unpack(runs[at]);
        if kept > from {
            let (kept_first, kept_last) = unpack(runs[kept - 1]);
            let joined_last = kept_last.max(last);
            if first <= kept_last + 1 && joined_last - kept_first < LONGEST_RUN {
                runs[kept - 1] = pack(kept_first, joined_last);
                continue;
            }
        }
        runs[kept] = runs[at];
        kept += 1;
    }
    runs.truncate(kept);
}

fn pack(first: u64, last: u64) -> u64 {
    (first << LENGTH_BITS) | (last - first)
}

fn unpack(run: u64) -> (u64, u64) {
    let first = run >> LENGTH_BITS;
    (first, first + (run & (LONGEST_RUN - 1)))
}

/// Distinct blocks at each level, of runs in order.
pub(super) fn counts(sorted: &[u64]) -> BlockCounts {
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
            longer in prop::collection::vec((0..40_000_u64, 1..6_000_u64), 0..8),
            singles in prop::collection::vec(0..3_000_u64, 0..2_000),
        ) {
            let mut runs = Vec::new();
            let mut blocks = BTreeSet::new();
            let all = longer.into_iter().chain(singles.into_iter().map(|at| (at, 1)));
            for (first, length) in all {
                push(&mut runs, 0, first, first + length - 1);
                blocks.extend(first..first + length);
            }
            compact(&mut runs, 0);
            for (level, count) in counts(&runs).iter().enumerate() {
                prop_assert_eq!(*count, blocks.len() as u64, "level {}", level);
                blocks = blocks.iter().map(|block| block >> 1).collect();
            }
        }
    }

    #[test]
    fn a_sequential_stream_needs_next_to_no_room() {
        let mut runs = Vec::new();
        for granule in 0..1_000_000 {
            push(&mut runs, 0, granule, granule);
        }
        assert!(runs.len() < 1_024);
        assert_eq!(counts(&runs)[0], 1_000_000);
    }

    #[test]
    fn what_lies_before_an_index_stays_as_it_is() {
        let mut runs = Vec::new();
        push(&mut runs, 0, 5, 5);
        push(&mut runs, 1, 6, 6);
        push(&mut runs, 1, 4, 4);
        compact(&mut runs, 1);
        assert_eq!(runs, [pack(5, 5), pack(4, 4), pack(6, 6)]);
    }

    #[test]
    fn the_last_granule_of_the_largest_disk_is_kept() {
        let mut runs = Vec::new();
        push(&mut runs, 0, u64::MAX - 5, u64::MAX);
        assert_eq!(counts(&runs)[0], 1);
    }
}

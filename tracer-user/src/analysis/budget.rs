//! How much each device may remember, given how many are active.
//!
//! Owns the memory formula. Sets of blocks are the only part that grows with a device's load;
//! all active devices share one budget, so that a thousand busy disks need no more than one.

/// Granules of the working set, all devices together: a table of 2^18 slots of 17 B, 4.5 MB, and
/// half as much again while it grows.
const GRANULE_SLOTS: usize = 1 << 18;
/// Runs of dirty granules, all devices together: 8 B each, 8 MiB; as much again for the blocks
/// they touch, and for a third as many writes of 24 B that wait for the kstat.
const RUNS: usize = 1 << 20;
/// Shares do not get smaller than this.
const FEWEST_SLOTS: usize = 1 << 7;
const FEWEST_RUNS: usize = 1 << 8;

/// One device's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// Granules of the working set: 7/8 of the slots, what a table holds before it grows.
    pub(super) granules: usize,
    /// Runs of dirty granules.
    pub(super) runs: usize,
}

impl Budget {
    /// The share of each of `active` devices.
    pub(super) fn share(active: usize) -> Self {
        let shares = active.max(1).next_power_of_two();
        let slots = (GRANULE_SLOTS / shares).max(FEWEST_SLOTS);
        Self {
            granules: slots / 8 * 7,
            runs: (RUNS / shares).max(FEWEST_RUNS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_devices_share_what_one_may_have() {
        let one = Budget::share(1);
        assert_eq!(Budget::share(0), one);
        for active in [2, 3, 100, 1_000, 1_024] {
            let share = Budget::share(active);
            assert!(share.granules * active <= one.granules);
            assert!(share.runs * active <= one.runs);
        }
        assert_eq!(Budget::share(1_000_000).granules, 112);
    }
}

//! When the transaction groups of a pool opened.
//!
//! Owns the bounds of the groups, on the capture clock. A write belongs to the group that was
//! open when it completed: `zvol_write` assigns its transaction just before (OpenZFS 2.0 to
//! 2.4, `zvol_os.c`). Up to the moment of the latest sample every bound is known; after it
//! one may be missing.

use std::collections::VecDeque;

use crate::input::PoolSample;

/// Groups that are remembered. A sample shows the last 100; writes wait seconds, not minutes.
const MAX_GROUPS: usize = 512;

/// A transaction group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Its number; 0 for what came before the first that is known.
    pub(super) number: u64,
    /// How long it was open, ns; `None` until the next one is known.
    pub(super) duration_ns: Option<u64>,
}

/// Bounds of a pool's transaction groups.
#[derive(Clone, Debug, Default)]
pub(super) struct TxgClock {
    /// Birth and number, both ascending.
    births: VecDeque<(u64, u64)>,
    known_until_ns: u64,
}

impl TxgClock {
    /// Takes a sample. Groups already known are skipped.
    pub(super) fn feed(&mut self, sample: &PoolSample) {
        for group in &sample.txgs {
            let is_newer = self
                .births
                .back()
                .is_none_or(|(birth_ns, txg)| group.txg > *txg && group.birth_ns >= *birth_ns);
            if group.birth_ns > 0 && is_newer {
                self.births.push_back((group.birth_ns, group.txg));
            }
        }
        while self.births.len() > MAX_GROUPS {
            self.births.pop_front();
        }
        self.known_until_ns = self.known_until_ns.max(sample.at_ns);
    }

    /// Whether any group is known.
    pub(super) fn has_groups(&self) -> bool {
        !self.births.is_empty()
    }

    /// Up to here no bound can be missing, ns.
    pub(super) fn known_until_ns(&self) -> u64 {
        self.known_until_ns
    }

    /// The group that was open at a moment.
    pub(super) fn group_at(&self, at_ns: u64) -> Group {
        let after = self
            .births
            .partition_point(|(birth_ns, _)| *birth_ns <= at_ns);
        after
            .checked_sub(1)
            .map_or_else(Group::default, |at| self.group(at))
    }

    /// A group as far as it is known by now.
    pub(super) fn renewed(&self, group: Group) -> Group {
        self.births
            .binary_search_by_key(&group.number, |(_, number)| *number)
            .map_or(group, |at| self.group(at))
    }

    fn group(&self, at: usize) -> Group {
        let (birth_ns, number) = self.births[at];
        let next = self.births.get(at + 1);
        Group {
            number,
            duration_ns: next.map(|(next_ns, _)| next_ns - birth_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Txg;

    fn sample(at_ns: u64, births: &[(u64, u64)]) -> PoolSample {
        PoolSample {
            name: "tank".into(),
            at_ns,
            txgs: births
                .iter()
                .map(|(birth_ns, txg)| Txg {
                    txg: *txg,
                    birth_ns: *birth_ns,
                    ..Txg::default()
                })
                .collect(),
            ..PoolSample::default()
        }
    }

    #[test]
    fn a_moment_belongs_to_the_group_that_was_open() {
        let mut clock = TxgClock::default();
        clock.feed(&sample(25, &[(10, 7), (20, 8)]));
        clock.feed(&sample(35, &[(20, 8), (30, 9)]));
        let groups = [9, 10, 19, 20, 29, 30, 1_000].map(|at| clock.group_at(at));
        assert_eq!(groups.map(|group| group.number), [0, 7, 7, 8, 8, 9, 9]);
        let durations = [0, 1, 3, 5].map(|at: usize| groups[at].duration_ns);
        assert_eq!(durations, [None, Some(10), Some(10), None]);
        let mut earlier = TxgClock::default();
        earlier.feed(&sample(25, &[(10, 7), (20, 8)]));
        assert_eq!(clock.renewed(earlier.group_at(24)), groups[3]);
        assert_eq!(clock.renewed(Group::default()), Group::default());
        assert_eq!(clock.known_until_ns(), 35);
    }

    #[test]
    fn memory_is_bounded_and_nonsense_is_skipped() {
        let mut clock = TxgClock::default();
        for txg in 1..10_000 {
            clock.feed(&sample(
                txg * 10,
                &[(txg * 10, txg), (txg, txg), (0, txg + 1)],
            ));
        }
        assert_eq!(clock.births.len(), MAX_GROUPS);
        assert_eq!(clock.group_at(u64::MAX).number, 9_999);
    }
}

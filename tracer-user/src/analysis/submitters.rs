//! Who submitted the I/O of a device, in a bounded table.
//!
//! The table keeps the busiest submitters: when it is full, the less busy half is folded into
//! one entry of others. Sums are always whole; a submitter that was folded and comes back is
//! counted from then on, so only small or short-lived ones are understated.

use rustc_hash::FxHashMap;

use crate::{
    event::{Comm, Event},
    report::model::Submitter,
};

/// Entries before the less busy half is folded. Memory: at most 7 KiB a device.
const MAX_TRACKED: usize = 112;
/// Entries that a report lists.
const MAX_LISTED: usize = 16;

/// Name under which kernel workers are listed: who caused their I/O cannot be known.
pub const NOT_ATTRIBUTABLE: &str = "not attributable";
/// Name under which everybody beyond the listed ones is summed.
pub const OTHERS: &str = "other submitters";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    count: u64,
    bytes: u64,
}

impl Share {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// I/Os and bytes by submitter.
#[derive(Clone, Debug, Default)]
pub struct Submitters {
    known: FxHashMap<(u32, Comm), Share>,
    not_attributable: Share,
    others: Share,
}

impl Submitters {
    /// Counts one I/O.
    pub fn record(&mut self, event: &Event) {
        let share = Share {
            count: 1,
            bytes: u64::from(event.bytes),
        };
        if event.pid == 0 || event.comm.is_kernel_worker() {
            self.not_attributable.add(share);
            return;
        }
        self.known
            .entry((event.pid, event.comm))
            .or_default()
            .add(share);
        if self.known.len() > MAX_TRACKED {
            self.fold();
        }
    }

    fn fold(&mut self) {
        let mut all: Vec<_> = self.known.drain().collect();
        all.sort_unstable_by_key(|(_, share)| std::cmp::Reverse(share.count));
        for (_, share) in all.drain(MAX_TRACKED / 2..) {
            self.others.add(share);
        }
        self.known.extend(all);
    }

    /// The busiest first; then kernel workers and the sum of all others, where there are any.
    #[must_use]
    pub fn busiest_first(&self) -> Vec<Submitter> {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_unstable_by(|(a, a_share), (b, b_share)| {
            b_share.count.cmp(&a_share.count).then(a.cmp(b))
        });
        let mut others = self.others;
        for (_, share) in all.iter().skip(MAX_LISTED) {
            others.add(**share);
        }
        let listed = all
            .iter()
            .take(MAX_LISTED)
            .map(|((pid, comm), share)| (comm.to_text(), Some(*pid), **share));
        let nameless = [
            (NOT_ATTRIBUTABLE.to_owned(), None, self.not_attributable),
            (OTHERS.to_owned(), None, others),
        ];
        listed
            .chain(nameless.into_iter().filter(|(_, _, share)| share.count > 0))
            .map(|(comm, pid, share)| Submitter {
                comm,
                pid,
                count: share.count,
                bytes: share.bytes,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::write;

    fn by(pid: u32, comm: &str) -> Event {
        Event {
            pid,
            comm: Comm::new(comm),
            ..write(0, 0, 4096)
        }
    }

    #[test]
    fn kernel_workers_are_not_attributable_and_never_a_submitter() {
        let mut submitters = Submitters::default();
        submitters.record(&by(7, "kworker/u8:1"));
        submitters.record(&by(9, "qemu-kvm"));
        submitters.record(&by(9, "qemu-kvm"));
        let listed = submitters.busiest_first();
        assert_eq!(listed.len(), 2);
        assert_eq!(
            (listed[0].comm.as_str(), listed[0].pid),
            ("qemu-kvm", Some(9))
        );
        assert_eq!(
            (listed[1].comm.as_str(), listed[1].pid),
            (NOT_ATTRIBUTABLE, None)
        );
        assert_eq!(listed[1].count, 1);
    }

    #[test]
    fn a_flood_of_short_lived_processes_leaves_the_busy_one_exact_and_the_sum_whole() {
        let mut submitters = Submitters::default();
        for pid in 1..=10_000 {
            submitters.record(&by(100_000 + pid, "sh"));
            submitters.record(&by(42, "fio"));
        }
        let listed = submitters.busiest_first();
        assert_eq!((listed[0].pid, listed[0].count), (Some(42), 10_000));
        assert_eq!(listed.iter().map(|s| s.count).sum::<u64>(), 20_000);
        assert_eq!(listed.last().map(|s| s.comm.as_str()), Some(OTHERS));
        assert!(listed.len() <= MAX_LISTED + 2);
        assert!(submitters.known.len() <= MAX_TRACKED);
    }
}

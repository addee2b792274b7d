//! I/Os in flight, weighted by time.
//!
//! An I/O is known when it completes, so what was in flight at a moment is certain only when
//! everything in flight then has completed. The latest I/Os are therefore held back: half of a
//! batch that grows with the depth seen. One that took longer than the batch held counts in
//! the mean for its whole time, and in the percentiles for the part that is still open.

/// I/Os held at least.
const SMALLEST_BATCH: usize = 128;
/// I/Os held at most: 256 KiB, for a device with thousands in flight.
const LARGEST_BATCH: usize = 16_384;
/// The batch doubles when more than one in this many I/Os took longer than it held.
const LATE_SHARE: usize = 64;

/// One I/O's time in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    start_ns: u64,
    end_ns: u64,
}

/// Time at each number of I/Os in flight. Memory: 16 B for each I/O held, 8 B for each level
/// seen.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    held: Vec<Flight>,
    batch: usize,
    /// Everything before is settled, ns.
    settled_until_ns: u64,
    /// Time with 0, 1, 2... I/Os in flight; the first is not used.
    time_at_ns: Vec<u64>,
    /// Sum of all times in flight: the mean is exact whatever came late.
    total_ns: u128,
    late: usize,
}

/// Summary over an observed time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Depth {
    pub(super) mean: f64,
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
}

impl InFlight {
    /// Takes a completed I/O; one that ends before it starts is ignored.
    pub(super) fn record(&mut self, start_ns: u64, end_ns: u64) {
        let Some(took_ns) = end_ns.checked_sub(start_ns) else {
            return;
        };
        self.total_ns += u128::from(took_ns);
        self.late += usize::from(start_ns < self.settled_until_ns);
        self.held.push(Flight { start_ns, end_ns });
        let batch = self.batch.max(SMALLEST_BATCH);
        if self.held.len() < batch {
            return;
        }
        self.settle_half();
        if self.late > batch / LATE_SHARE && batch < LARGEST_BATCH {
            self.batch = batch * 2;
        }
        self.late = 0;
    }

    /// Settles up to the completion in the middle of what is held; with it, when that alone
    /// leaves too much, as where all have completed at one moment.
    fn settle_half(&mut self) {
        self.sort_held();
        let half = self.held.len() / 2;
        let Some(middle_ns) = self.held.get(half).map(|flight| flight.end_ns) else {
            return;
        };
        self.settle_until(middle_ns);
        if self.held.len() > half + half / 2 {
            self.settle_until(middle_ns.saturating_add(1));
        }
    }

    fn sort_held(&mut self) {
        // Nearly sorted already, which the stable sort makes use of.
        self.held.sort_by_key(|flight| flight.end_ns);
    }

    /// Sweeps over the borders of the held I/Os, which are in order of completion, up to a
    /// moment.
    fn settle_until(&mut self, until_ns: u64) {
        let from_ns = self.settled_until_ns;
        let within = self.held.iter().filter(|flight| flight.start_ns < until_ns);
        let mut starts: Vec<u64> = within.map(|flight| flight.start_ns.max(from_ns)).collect();
        starts.sort_unstable();
        let completed = self.held.partition_point(|flight| flight.end_ns < until_ns);
        let mut starts = starts.into_iter().peekable();
        let (mut level, mut since_ns) = (0_i64, from_ns);
        let mut ends = 0;
        loop {
            let end_ns = (ends < completed).then(|| self.held[ends].end_ns.max(from_ns));
            // At one moment completions come first: the two were never in flight together.
            let (at_ns, step) = match (starts.peek(), end_ns) {
                (Some(start_ns), None) => (*start_ns, 1),
                (Some(start_ns), Some(end_ns)) if *start_ns < end_ns => (*start_ns, 1),
                (_, Some(end_ns)) => (end_ns, -1),
                (None, None) => break,
            };
            if step > 0 {
                starts.next();
            } else {
                ends += 1;
            }
            self.spend(level, at_ns - since_ns);
            level += step;
            since_ns = at_ns;
        }
        self.spend(level, until_ns.saturating_sub(since_ns));
        self.held.drain(..completed);
        self.settled_until_ns = self.settled_until_ns.max(until_ns);
    }

    fn spend(&mut self, level: i64, ns: u64) {
        let Some(level) = usize::try_from(level).ok().filter(|level| *level > 0) else {
            return;
        };
        if ns == 0 {
            return;
        }
        if self.time_at_ns.len() <= level {
            self.time_at_ns.resize(level + 1, 0);
        }
        self.time_at_ns[level] += ns;
    }

    /// Summary over `observed_ns`, idle time included.
    #[allow(clippy::cast_precision_loss, reason = "a mean for people")]
    pub(super) fn depth(&self, observed_ns: u64) -> Depth {
        let mut all = self.clone();
        if let Some(last_ns) = self.held.iter().map(|flight| flight.end_ns).max() {
            all.sort_held();
            all.settle_until(last_ns.saturating_add(1));
        }
        let busy_ns: u64 = all.time_at_ns.iter().sum();
        let observed_ns = observed_ns.max(busy_ns);
        if observed_ns == 0 {
            return Depth::default();
        }
        let at_share = |permille: u64| {
            let wanted = u128::from(observed_ns) * u128::from(permille);
            let mut spent_ns = u128::from(observed_ns - busy_ns);
            for (level, ns) in all.time_at_ns.iter().enumerate() {
                spent_ns += u128::from(*ns);
                if spent_ns * 1000 >= wanted {
                    return level as u64;
                }
            }
            all.time_at_ns.len().saturating_sub(1) as u64
        };
        Depth {
            mean: self.total_ns as f64 / observed_ns as f64,
            p50: at_share(500),
            p99: at_share(990),
            max: all.time_at_ns.len().saturating_sub(1) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::verdict::share;

    /// Level at every nanosecond.
    fn brute_force(flights: &[(u64, u64)], observed_ns: u64) -> Depth {
        let mut levels: Vec<u64> = (0..observed_ns)
            .map(|at| {
                flights
                    .iter()
                    .filter(|(start, end)| (*start..*end).contains(&at))
                    .count() as u64
            })
            .collect();
        levels.sort_unstable();
        let at = |permille: usize| levels[(levels.len() * permille).div_ceil(1000).max(1) - 1];
        Depth {
            mean: share(levels.iter().sum(), observed_ns),
            p50: at(500),
            p99: at(990),
            max: *levels.last().unwrap(),
        }
    }

    fn of(flights: &[(u64, u64)]) -> InFlight {
        let mut in_flight = InFlight::default();
        for (start, end) in flights {
            in_flight.record(*start, *end);
        }
        in_flight
    }

    proptest! {
        #[test]
        fn levels_match_counting_at_every_moment(
            flights in prop::collection::vec((0..3_000_u64, 1..40_u64), 1..700),
        ) {
            let mut flights: Vec<_> = flights.into_iter().map(|(start, took)| (start, start + took)).collect();
            flights.sort_unstable_by_key(|(_, end)| *end);
            let found = of(&flights).depth(3_100);
            let exact = brute_force(&flights, 3_100);
            prop_assert!((found.mean - exact.mean).abs() < 1e-9);
            prop_assert_eq!((found.p50, found.p99, found.max), (exact.p50, exact.p99, exact.max));
        }
    }

    #[test]
    fn one_at_a_time_is_one_and_idle_time_counts() {
        let flights: Vec<_> = (0..10_000_u64).map(|i| (i * 100, i * 100 + 25)).collect();
        let depth = of(&flights).depth(1_000_000);
        assert!((depth.mean - 0.25).abs() < 1e-9);
        assert_eq!((depth.p50, depth.p99, depth.max), (0, 1, 1));
    }

    #[test]
    fn a_queue_of_thousands_is_seen_whole_once_the_batch_has_grown() {
        let flights: Vec<_> = (0..200_000_u64).map(|i| (i, i + 2_000)).collect();
        let depth = of(&flights).depth(202_000);
        assert_eq!(depth.max, 2_000);
        assert_eq!(depth.p99, 2_000);
        assert!((depth.mean - 200_000.0 * 2_000.0 / 202_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_single_slow_io_counts_in_the_mean_for_its_whole_time() {
        let mut flights: Vec<_> = (0..5_000_u64).map(|i| (i * 10, i * 10 + 5)).collect();
        flights.push((0, 50_000));
        let in_flight = of(&flights);
        assert!(in_flight.held.capacity() < 4 * SMALLEST_BATCH);
        let depth = in_flight.depth(50_000);
        assert!((depth.mean - 1.5).abs() < 1e-9);
    }

    #[test]
    fn completions_at_one_moment_are_not_kept() {
        let in_flight = of(&vec![(0, 7); 100_000]);
        assert!(in_flight.held.len() <= LARGEST_BATCH);
        assert_eq!(in_flight.total_ns, 700_000);
    }
}

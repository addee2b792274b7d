//! Distribution of times: percentiles from hdrhistogram, minimum, maximum and mean exact.
//!
//! Owns how times are counted and how a distribution is summarised. It must never cap a value
//! (an I/O that took an hour is shown as one) and costs nothing until the first time arrives.

use hdrhistogram::{Counter, Histogram};

use crate::report::model::{Latency, LatencyBucket};

/// Smallest step of the histogram in ns. Under 256 steps (4 us) the error is one step, above it
/// the significant digits hold. A clock reading in the hook costs several steps.
const STEP_NS: u64 = 16;

/// Longest time a fresh histogram covers.
const FIRST_HIGH_NS: u64 = (1 << 15) - 1;

/// Times above this share one bucket (the maximum stays exact); 36 years, so only damaged
/// recordings reach it.
const LONGEST_NS: u64 = 1 << 60;

/// Counts per bucket, as narrow as the number of values allows: no counter can ever saturate,
/// since none can hold more than the number of all values.
#[derive(Clone, Debug)]
enum Counts {
    U16(Histogram<u16>),
    U32(Histogram<u32>),
    U64(Histogram<u64>),
}

/// A distribution of times in ns.
///
/// Memory: `(k + 1) * 2^(d - 1) * w` bytes, where `d` is the number of bits that the
/// significant digits need (8 for two digits), `k = max(1, bits(longest) - 4 - d + 1)`, and `w`
/// is 2, 4 or 8 for up to 65,535, up to 2^32 - 1 and more values. Two digits and a longest time
/// of 10 ms (24 bits) make 3.5 KiB at first and 7 KiB from 65,536 values on. It is rebuilt when
/// a longer time arrives, since a vector that grows by itself would take up to twice as much.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    digits: u8,
    counts: Option<Box<Counts>>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// An empty histogram of times up to `high_ns`.
fn empty<C: Counter>(digits: u8, high_ns: u64) -> Option<Histogram<C>> {
    Histogram::new_with_bounds(STEP_NS, high_ns, digits.min(5)).ok()
}

/// The same times in a histogram that reaches further or counts wider; `None` only when the
/// address space is exhausted.
fn rebuilt<From: Counter, To: Counter>(
    from: &Histogram<From>,
    high_ns: u64,
) -> Option<Histogram<To>> {
    let mut to = empty(from.sigfig(), high_ns)?;
    let mut fits = true;
    visit_recorded(from, |value, n| {
        fits &= To::from_u64(n).is_some_and(|n| to.record_n(value, n).is_ok());
    });
    fits.then_some(to)
}

impl Counts {
    fn record(&mut self, value_ns: u64, n: u64) {
        self.make_room(value_ns, n);
        // Refused only when the address space is exhausted and there was no room to make.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "`make_room` made room for n"
        )]
        let _ = match self {
            Self::U16(histogram) => histogram.record_n(value_ns, n as u16),
            Self::U32(histogram) => histogram.record_n(value_ns, n as u32),
            Self::U64(histogram) => histogram.record_n(value_ns, n),
        };
    }

    fn make_room(&mut self, value_ns: u64, n: u64) {
        let (count, high_ns) = match self {
            Self::U16(histogram) => (histogram.len(), histogram.high()),
            Self::U32(histogram) => (histogram.len(), histogram.high()),
            Self::U64(histogram) => (histogram.len(), histogram.high()),
        };
        let needed = count.saturating_add(n);
        let is_wide_enough = match self {
            Self::U16(_) => u16::try_from(needed).is_ok(),
            Self::U32(_) => u32::try_from(needed).is_ok(),
            Self::U64(_) => true,
        };
        if is_wide_enough && value_ns <= high_ns {
            return;
        }
        // All times of the same number of bits: whole buckets, whatever the digits.
        let reach_ns = high_ns.max(u64::MAX >> value_ns.leading_zeros().min(63));
        let roomier = match self {
            Self::U16(from) if u16::try_from(needed).is_ok() => {
                rebuilt(from, reach_ns).map(Self::U16)
            }
            Self::U16(from) if u32::try_from(needed).is_ok() => {
                rebuilt(from, reach_ns).map(Self::U32)
            }
            Self::U16(from) => rebuilt(from, reach_ns).map(Self::U64),
            Self::U32(from) if u32::try_from(needed).is_ok() => {
                rebuilt(from, reach_ns).map(Self::U32)
            }
            Self::U32(from) => rebuilt(from, reach_ns).map(Self::U64),
            Self::U64(from) => rebuilt(from, reach_ns).map(Self::U64),
        };
        if let Some(roomier) = roomier {
            *self = roomier;
        }
    }

    fn for_each(&self, visit: impl FnMut(u64, u64)) {
        match self {
            Self::U16(histogram) => visit_recorded(histogram, visit),
            Self::U32(histogram) => visit_recorded(histogram, visit),
            Self::U64(histogram) => visit_recorded(histogram, visit),
        }
    }
}

fn visit_recorded<C: Counter>(histogram: &Histogram<C>, mut visit: impl FnMut(u64, u64)) {
    for bucket in histogram.iter_recorded() {
        visit(bucket.value_iterated_to(), bucket.count_at_value().as_u64());
    }
}

impl Distribution {
    /// An empty distribution with that many significant digits (at most 5).
    #[must_use]
    pub fn new(digits: u8) -> Self {
        Self {
            digits,
            ..Self::default()
        }
    }

    /// Number of times recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Longest time, exact; `None` without any.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Counts one time.
    pub fn record(&mut self, ns: u64) {
        if self.count == 0 {
            self.min_ns = ns;
            self.max_ns = ns;
        } else {
            self.min_ns = self.min_ns.min(ns);
            self.max_ns = self.max_ns.max(ns);
        }
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.bucket(ns, 1);
    }

    fn bucket(&mut self, ns: u64, n: u64) {
        if self.counts.is_none() {
            let empty = empty(self.digits, FIRST_HIGH_NS);
            self.counts = empty.map(|histogram| Box::new(Counts::U16(histogram)));
        }
        if let Some(counts) = &mut self.counts {
            counts.record(ns.min(LONGEST_NS), n);
        }
    }

    /// Adds all times of another distribution.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        if let Some(counts) = &other.counts {
            counts.for_each(|value, n| self.bucket(value, n));
        }
    }

    /// The summary and the ranges, in one pass.
    #[must_use]
    pub fn describe(&self) -> (Latency, Vec<LatencyBucket>) {
        let mut percentiles = Percentiles::of(self);
        let mut ranges = Vec::new();
        self.for_each(|value, n| {
            percentiles.see(value, n);
            add_to_ranges(&mut ranges, value, n);
        });
        (percentiles.summary(self), ranges)
    }

    /// Percentiles by the nearest-rank rule, each the upper end of its bucket but within the
    /// exact minimum and maximum.
    #[must_use]
    pub fn summary(&self) -> Latency {
        let mut percentiles = Percentiles::of(self);
        self.for_each(|value, n| percentiles.see(value, n));
        percentiles.summary(self)
    }

    /// Number of times that are at least `ns` long, to the precision of the buckets.
    #[must_use]
    pub fn count_from(&self, ns: u64) -> u64 {
        let mut n_from = 0;
        self.for_each(|value, n| n_from += if value >= ns { n } else { 0 });
        n_from
    }

    /// 1-based position of a percentile in the sorted times.
    fn rank(&self, permille: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(permille)).div_ceil(1000);
        u64::try_from(rank).unwrap_or(u64::MAX).max(1)
    }

    fn for_each(&self, visit: impl FnMut(u64, u64)) {
        if let Some(counts) = &self.counts {
            counts.for_each(visit);
        }
    }
}

/// Looks for the percentiles while the buckets pass in order.
struct Percentiles {
    ranks: [u64; 4],
    values: [Option<u64>; 4],
    seen: u64,
}

impl Percentiles {
    fn of(distribution: &Distribution) -> Self {
        Self {
            ranks: [500, 900, 990, 999].map(|permille| distribution.rank(permille)),
            values: [None; 4],
            seen: 0,
        }
    }

    fn see(&mut self, value: u64, n: u64) {
        self.seen += n;
        for (rank, found) in self.ranks.iter().zip(&mut self.values) {
            if found.is_none() && self.seen >= *rank {
                *found = Some(value);
            }
        }
    }

    fn summary(&self, of: &Distribution) -> Latency {
        if of.count == 0 {
            return Latency::default();
        }
        let [p50, p90, p99, p999] = self
            .values
            .map(|value| value.map(|value| value.clamp(of.min_ns, of.max_ns)));
        Latency {
            min: Some(of.min_ns),
            p50,
            p90,
            p99,
            p999,
            max: Some(of.max_ns),
            mean: u64::try_from(of.sum_ns / u128::from(of.count)).ok(),
        }
    }
}

/// Counts a time in its power-of-two range; times come in order. The first is 0 to 16 ns.
fn add_to_ranges(ranges: &mut Vec<LatencyBucket>, value: u64, count: u64) {
    let (from_ns, to_ns) = range_of(value);
    match ranges.last_mut() {
        Some(last) if last.from_ns == from_ns => last.count += count,
        _ => ranges.push(LatencyBucket {
            from_ns,
            to_ns,
            count,
        }),
    }
}

/// The power-of-two range that holds a time.
fn range_of(ns: u64) -> (u64, u64) {
    if ns < STEP_NS {
        return (0, STEP_NS);
    }
    let from = 1_u64 << ns.ilog2();
    (from, from.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(times: &[u64]) -> Distribution {
        let mut distribution = Distribution::new(2);
        for time in times {
            distribution.record(*time);
        }
        distribution
    }

    /// Within one step below 256 steps, else within two significant digits.
    fn close(estimate: u64, exact: u64) -> bool {
        estimate.abs_diff(exact) <= STEP_NS.max(exact / 100)
    }

    proptest! {
        #[test]
        fn percentiles_match_the_sorted_times(
            times in prop::collection::vec(prop_oneof![0..5_000_u64, 0..5_000_000_000_u64, 0..u64::MAX >> 4], 1..400)
        ) {
            let summary = of(&times).summary();
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let exact = |permille: usize| sorted[(sorted.len() * permille).div_ceil(1000).max(1) - 1];
            for (found, permille) in [
                (summary.p50, 500), (summary.p90, 900), (summary.p99, 990), (summary.p999, 999),
            ] {
                let (found, exact) = (found.unwrap(), exact(permille));
                prop_assert!(close(found, exact), "p{permille}: {found} for {exact}");
            }
            prop_assert_eq!(summary.min, sorted.first().copied());
            prop_assert_eq!(summary.max, sorted.last().copied());
            let sum: u128 = times.iter().map(|t| u128::from(*t)).sum();
            prop_assert_eq!(u128::from(summary.mean.unwrap()), sum / times.len() as u128);
        }

        #[test]
        fn ranges_count_every_time_once_in_its_power_of_two(
            times in prop::collection::vec(0..1_u64 << 40, 0..300)
        ) {
            for range in of(&times).describe().1 {
                let inside = times.iter().filter(|t| (range.from_ns..range.to_ns).contains(t)).count();
                prop_assert_eq!(range.count, inside as u64);
            }
            let all: u64 = of(&times).describe().1.iter().map(|r| r.count).sum();
            prop_assert_eq!(all, times.len() as u64);
        }

        #[test]
        fn a_merge_equals_recording_both(
            a in prop::collection::vec(0..1_u64 << 36, 0..100),
            b in prop::collection::vec(0..1_u64 << 36, 0..100),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both = of(&[a, b].concat());
            prop_assert_eq!(merged.summary(), both.summary());
            prop_assert_eq!(merged.describe(), both.describe());
        }
    }

    #[test]
    fn ten_minutes_and_the_largest_number_are_shown_exactly() {
        assert_eq!(
            of(&[3_000, 600_000_000_000]).summary().max,
            Some(600_000_000_000)
        );
        assert_eq!(of(&[u64::MAX]).summary().max, Some(u64::MAX));
        assert_eq!(of(&[u64::MAX]).summary().mean, Some(u64::MAX));
    }

    #[test]
    fn no_counter_saturates_when_one_bucket_gets_more_than_65535_times() {
        let mut distribution = Distribution::new(2);
        for _ in 0..70_000 {
            distribution.record(1_000);
        }
        let ranges = distribution.describe().1;
        assert_eq!(ranges.len(), 1);
        assert_eq!(ranges[0].count, 70_000);
        distribution.bucket(1_000, u64::from(u32::MAX));
        assert_eq!(
            distribution.describe().1[0].count,
            70_000 + u64::from(u32::MAX)
        );
        assert_eq!(distribution.count_from(1_000), 70_000 + u64::from(u32::MAX));
    }

    #[test]
    fn without_times_everything_is_null() {
        assert_eq!(Distribution::new(2).summary(), Latency::default());
        assert!(Distribution::new(2).describe().1.is_empty());
    }
}

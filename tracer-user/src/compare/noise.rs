//! Whether two measurements differ by more than chance.
//!
//! Owns the statistics, and knows nothing of reports but their histograms.

use std::ops::Range;

use crate::report::model::LatencyBucket;

/// Two-sided 99 % quantile of the normal distribution.
const Z_99: f64 = 2.575_829;

/// Where the `share` quantile of a histogram lies with 99 % confidence, whatever the
/// distribution: between the order statistics `n p -+ z sqrt(n p (1 - p))` (David and Nagaraja,
/// Order Statistics, 7.1), taken as the outer bounds of the buckets they fall into. `None` when
/// there are too few values for both to exist.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub fn quantile_interval(histogram: &[LatencyBucket], share: f64) -> Option<Range<u64>> {
    // As floats: the counts of a file that lies overflow an integer.
    let n: f64 = histogram.iter().map(|bucket| bucket.count as f64).sum();
    let spread = Z_99 * (n * share * (1.0 - share)).sqrt();
    let (low, high) = ((n * share - spread).floor(), (n * share + spread).ceil());
    if low < 1.0 || high > n {
        return None;
    }
    let bucket_of = |rank: f64| {
        let mut before = 0.0;
        histogram.iter().find(|bucket| {
            before += bucket.count as f64;
            before >= rank
        })
    };
    Some(bucket_of(low)?.from_ns..bucket_of(high)?.to_ns)
}

/// Whether two quantiles differ: their intervals do not overlap.
#[must_use]
pub fn quantiles_differ(a: &[LatencyBucket], b: &[LatencyBucket], share: f64) -> Option<bool> {
    let (a, b) = (quantile_interval(a, share)?, quantile_interval(b, share)?);
    Some(a.end <= b.start || b.end <= a.start)
}

/// Whether two shares, each of so many, differ: the pooled two-proportion z-test. `None` when
/// a group is too small for it (under 10 expected on either side, the usual bound).
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub fn shares_differ(a: (f64, u64), b: (f64, u64)) -> Option<bool> {
    let (n_a, n_b) = (a.1 as f64, b.1 as f64);
    if n_a == 0.0 || n_b == 0.0 {
        return None;
    }
    let pooled = (a.0 * n_a + b.0 * n_b) / (n_a + n_b);
    let fewest = n_a.min(n_b);
    if pooled <= 0.0 || pooled >= 1.0 {
        // All or nothing in both: no difference at all.
        return (fewest >= 10.0).then_some(false);
    }
    if fewest * pooled < 10.0 || fewest * (1.0 - pooled) < 10.0 {
        return None;
    }
    let error = (pooled * (1.0 - pooled) * (1.0 / n_a + 1.0 / n_b)).sqrt();
    Some((a.0 - b.0).abs() / error > Z_99)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: &[u64]) -> Vec<LatencyBucket> {
        let buckets = counts.iter().zip(0..).map(|(count, n)| LatencyBucket {
            from_ns: n * 100,
            to_ns: (n + 1) * 100,
            count: *count,
        });
        buckets.collect()
    }

    #[test]
    fn the_interval_of_a_median_holds_the_ranks_the_formula_gives() {
        // 100 values, one a bucket: ranks 50 -+ 2.576 * 5, so 37 and 63.
        let each = histogram(&[1; 100]);
        assert_eq!(quantile_interval(&each, 0.5), Some(36 * 100..63 * 100));
        // A 99.9th percentile needs thousands.
        assert_eq!(quantile_interval(&each, 0.999), None);
        assert_eq!(quantile_interval(&[], 0.5), None);
    }

    #[test]
    fn distributions_that_lie_apart_differ_and_one_does_not_differ_from_itself() {
        let fast = histogram(&[900, 90, 10, 0, 0, 0]);
        let slow = histogram(&[0, 0, 0, 900, 90, 10]);
        assert_eq!(quantiles_differ(&fast, &slow, 0.5), Some(true));
        assert_eq!(quantiles_differ(&fast, &fast, 0.999), None, "too few above");
        assert_eq!(quantiles_differ(&fast, &fast, 0.9), Some(false));
    }

    #[test]
    fn shares_differ_when_the_counts_are_enough() {
        assert_eq!(shares_differ((0.5, 1000), (0.6, 1000)), Some(true));
        assert_eq!(shares_differ((0.5, 1000), (0.52, 1000)), Some(false));
        assert_eq!(shares_differ((0.5, 10), (1.0, 10)), None);
        assert_eq!(shares_differ((1.0, 500), (1.0, 700)), Some(false));
        assert_eq!(shares_differ((0.5, 0), (0.5, 5)), None);
    }

    #[test]
    fn samples_of_one_distribution_are_told_apart_in_about_one_of_a_hundred_cases_at_most() {
        // Deterministic pseudo-random samples; non-overlap at 99 % is stricter than a test.
        let mut state = 1_u64;
        let mut sample = || {
            let mut counts = [0_u64; 64];
            for _ in 0..2000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                counts[usize::try_from(state >> 58).unwrap()] += 1;
            }
            histogram(&counts)
        };
        let told = (0..500).filter(|_| quantiles_differ(&sample(), &sample(), 0.9) == Some(true));
        assert!(told.count() <= 5);
    }
}

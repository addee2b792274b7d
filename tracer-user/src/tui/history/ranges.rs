//! Latency ranges of the history: sixteen to each power of two, so that a percentile is good to
//! 3.2 % and a second's ranges are few.

/// log2 of the ranges in each power of two.
const FINE_BITS: u32 = 4;
/// Everything below 2^9 ns is one range.
const FIRST_BITS: u32 = 9;
/// Everything from 2^42 ns (73 minutes) on is one range; the exact maximum is kept beside.
const LAST_BITS: u32 = 42;

/// Number of ranges: the two ends, and sixteen for each power of two between.
pub(super) const RANGES: usize = 2 + ((LAST_BITS - FIRST_BITS) as usize) * (1 << FINE_BITS);

/// The range that holds a latency.
#[allow(clippy::cast_possible_truncation, reason = "four bits")]
pub(super) fn range_of(ns: u64) -> usize {
    if ns < 1 << FIRST_BITS {
        return 0;
    }
    let bits = ns.ilog2();
    if bits >= LAST_BITS {
        return RANGES - 1;
    }
    let fine = (ns >> (bits - FINE_BITS)) as usize & ((1 << FINE_BITS) - 1);
    1 + ((bits - FIRST_BITS) as usize) * (1 << FINE_BITS) + fine
}

/// Shortest latency of a range, ns.
pub(super) fn from_ns(range: usize) -> u64 {
    match range {
        0 => 0,
        range if range >= RANGES - 1 => 1 << LAST_BITS,
        range => {
            let (power, fine) = (
                (range - 1) >> FINE_BITS,
                (range - 1) & ((1 << FINE_BITS) - 1),
            );
            let first = 1_u64 << (FIRST_BITS as usize + power);
            first + ((fine as u64) << (FIRST_BITS as usize + power - FINE_BITS as usize))
        }
    }
}

/// The middle of a range: what stands for its latencies.
pub(super) fn middle_ns(range: usize) -> u64 {
    if range >= RANGES - 1 {
        return from_ns(range);
    }
    from_ns(range).midpoint(from_ns(range + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_holds_its_latencies_and_its_middle_is_close(ns in prop_oneof![0..4096_u64, 0..1_u64 << 42, any::<u64>()]) {
            let range = range_of(ns);
            prop_assert!(range < RANGES);
            prop_assert!(from_ns(range) <= ns);
            if range < RANGES - 1 {
                prop_assert!(ns < from_ns(range + 1));
                if range > 0 {
                    prop_assert!(middle_ns(range).abs_diff(ns) * 1000 <= ns * 32);
                }
            }
        }
    }

    #[test]
    fn ranges_follow_each_other_without_a_gap() {
        for range in 0..RANGES {
            assert_eq!(range_of(from_ns(range)), range);
        }
    }
}

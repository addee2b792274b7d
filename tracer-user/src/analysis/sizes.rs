//! Exact sizes of the I/Os of one class, counted in a bounded table.
//!
//! The first [`MAX_EXACT_SIZES`] distinct sizes are counted exactly; I/Os of any further size
//! are counted together. Nothing is evicted, so what the table says of a size is always its
//! true count; a size that came too late for the table is in the rest, and the rest is said.

use rustc_hash::FxHashMap;

use crate::report::model::{Rest, SizeCount};

/// Distinct sizes with a count of their own. A class of 4K-multiples up to 1 MiB has 256; only
/// discards come near the limit. Memory: at most 34 KiB a class, 17 B a slot.
pub const MAX_EXACT_SIZES: usize = 1024;

/// Counts by exact size.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    exact: FxHashMap<u32, u64>,
    rest: Rest,
}

impl Sizes {
    /// Counts one I/O.
    pub fn record(&mut self, bytes: u32) {
        self.add(bytes, 1);
    }

    fn add(&mut self, bytes: u32, count: u64) {
        let full = self.exact.len() >= MAX_EXACT_SIZES;
        match self.exact.get_mut(&bytes) {
            Some(known) => *known += count,
            None if full => {
                self.rest.count += count;
                self.rest.bytes += count * u64::from(bytes);
            }
            None => {
                self.exact.insert(bytes, count);
            }
        }
    }

    /// Adds another table. A size that one of the two had no room for stays in the rest.
    pub fn merge(&mut self, other: &Self) {
        for size in other.most_frequent_first() {
            if let Ok(bytes) = u32::try_from(size.bytes) {
                self.add(bytes, size.count);
            }
        }
        self.rest.count += other.rest.count;
        self.rest.bytes += other.rest.bytes;
    }

    /// The exact sizes, most frequent first; equal counts by size.
    #[must_use]
    pub fn most_frequent_first(&self) -> Vec<SizeCount> {
        let mut sizes: Vec<SizeCount> = self
            .exact
            .iter()
            .map(|(bytes, count)| SizeCount {
                bytes: u64::from(*bytes),
                count: *count,
            })
            .collect();
        sizes.sort_unstable_by(|a, b| b.count.cmp(&a.count).then(a.bytes.cmp(&b.bytes)));
        sizes
    }

    /// I/Os of all sizes that found no room.
    #[must_use]
    pub fn rest(&self) -> Rest {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_and_bytes_are_whole_and_each_listed_size_is_exact(
            sizes in prop::collection::vec(1..4_000_u32, 0..6_000)
        ) {
            let mut table = Sizes::default();
            let mut exact = HashMap::new();
            for size in &sizes {
                table.record(*size);
                *exact.entry(u64::from(*size)).or_insert(0_u64) += 1;
            }
            let listed = table.most_frequent_first();
            prop_assert!(listed.len() <= MAX_EXACT_SIZES);
            prop_assert!(listed.is_sorted_by(|a, b| a.count >= b.count));
            for size in &listed {
                prop_assert_eq!(exact[&size.bytes], size.count);
            }
            let rest = table.rest();
            prop_assert_eq!(listed.iter().map(|s| s.count).sum::<u64>() + rest.count, sizes.len() as u64);
            let bytes: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
            prop_assert_eq!(listed.iter().map(|s| s.count * s.bytes).sum::<u64>() + rest.bytes, bytes);
            if exact.len() <= MAX_EXACT_SIZES {
                prop_assert_eq!(rest, Rest::default());
            }
        }
    }

    #[test]
    fn a_discard_of_four_gibibytes_is_counted_with_its_size() {
        let mut table = Sizes::default();
        table.record(u32::MAX - 511);
        table.record(u32::MAX - 511);
        assert_eq!(
            table.most_frequent_first(),
            [SizeCount {
                bytes: 4_294_966_784,
                count: 2
            }]
        );
    }

    #[test]
    fn a_merge_keeps_every_count() {
        let (mut a, mut b) = (Sizes::default(), Sizes::default());
        (0..1_500).for_each(|size| a.record(size));
        (1_000..2_500).for_each(|size| b.record(size));
        a.merge(&b);
        let listed: u64 = a.most_frequent_first().iter().map(|s| s.count).sum();
        assert_eq!(listed + a.rest().count, 3_000);
    }
}

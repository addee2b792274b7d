//! Working set: distinct bytes touched, and how much of what was written had been written
//! before.
//!
//! Exact to the sector as long as the touched granules of 4K fit the table. Beyond that a
//! sample stands for the whole: only regions of 64K whose hash falls in an ever smaller range
//! are kept, each standing for `2^k`. The sample is unbiased, whatever the pattern, and its
//! error is known from the number of regions. A large I/O is then skipped region by region.

use rustc_hash::{FxHashMap, FxHashSet};

/// log2 of the granule in bytes.
const GRANULE_SHIFT: u32 = 12;
const SECTOR_BYTES: u64 = 512;
const SECTORS: u64 = (1 << GRANULE_SHIFT) / SECTOR_BYTES;
/// log2 of the granules in a region.
const REGION_SHIFT: u32 = 4;
/// Fewest granules that are kept, however many devices share the memory.
const FEWEST: usize = 112;

/// Sectors of one granule, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Granule {
    touched: u8,
    written: u8,
}

/// Distinct bytes of one device. Memory: 17 B for each slot of the table, which has at most
/// 8/7 as many slots as granules are allowed, rounded up to a power of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    granules: FxHashMap<u64, Granule>,
    /// Only regions with this many leading zero bits in their hash are kept.
    thinned: u32,
    /// Granules that share a region, on average.
    granules_a_region: f64,
    touched_sectors: u64,
    written_sectors: u64,
    /// The result, once the device is gone.
    settled: Option<Distinct>,
}

/// Estimate of distinct bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Distinct {
    pub(super) touched_bytes: u64,
    pub(super) written_bytes: u64,
    /// Two standard deviations as a share; `None` when the numbers are exact.
    pub(super) error: Option<f64>,
}

impl Touched {
    /// Takes a read or a write. `max_granules` bounds the table.
    pub(super) fn record(
        &mut self,
        offset_bytes: u64,
        bytes: u32,
        is_write: bool,
        max_granules: usize,
    ) {
        if self.settled.is_some() {
            return;
        }
        let first_sector = offset_bytes / SECTOR_BYTES;
        let last_byte = offset_bytes.saturating_add(u64::from(bytes)) - 1;
        let last_sector = last_byte / SECTOR_BYTES;
        let (first, last) = (first_sector / SECTORS, last_sector / SECTORS);
        for region in first >> REGION_SHIFT..=last >> REGION_SHIFT {
            if self.is_skipped(region) {
                continue;
            }
            let start = region << REGION_SHIFT;
            let end = start + (1 << REGION_SHIFT) - 1;
            for granule in first.max(start)..=last.min(end) {
                let from = first_sector.max(granule * SECTORS) % SECTORS;
                let to = last_sector.min(granule * SECTORS + SECTORS - 1) % SECTORS;
                let mask = (0xff_u8 >> (SECTORS - 1 - (to - from))) << from;
                self.touch(granule, mask, is_write);
            }
            if self.granules.len() > max_granules.max(FEWEST) {
                self.thin(max_granules);
            }
        }
    }

    fn is_skipped(&self, region: u64) -> bool {
        self.thinned > 0 && hash(region).leading_zeros() < self.thinned
    }

    fn touch(&mut self, granule: u64, mask: u8, is_write: bool) {
        let known = self.granules.entry(granule).or_default();
        self.touched_sectors += u64::from((mask & !known.touched).count_ones());
        known.touched |= mask;
        if is_write {
            self.written_sectors += u64::from((mask & !known.written).count_ones());
            known.written |= mask;
        }
    }

    /// Halves the sample until it fits.
    pub(super) fn thin(&mut self, max_granules: usize) {
        let most = max_granules.max(FEWEST);
        if self.granules.len() <= most {
            return;
        }
        while self.granules.len() > most && self.thinned < 63 {
            self.thinned += 1;
            let keep = self.thinned;
            self.granules
                .retain(|granule, _| hash(granule >> REGION_SHIFT).leading_zeros() >= keep);
        }
        self.granules_a_region = self.count_granules_a_region();
        self.granules.shrink_to(most);
        let ones = |sectors: u8| u64::from(sectors.count_ones());
        self.touched_sectors = self.granules.values().map(|g| ones(g.touched)).sum();
        self.written_sectors = self.granules.values().map(|g| ones(g.written)).sum();
    }

    #[allow(clippy::cast_precision_loss, reason = "an error bound for people")]
    fn count_granules_a_region(&self) -> f64 {
        let regions = self.granules.keys().map(|granule| granule >> REGION_SHIFT);
        let regions: FxHashSet<u64> = regions.collect();
        self.granules.len() as f64 / regions.len().max(1) as f64
    }

    /// Keeps the result and gives back the memory: the device is gone.
    pub(super) fn settle(&mut self) {
        self.settled = Some(self.distinct());
        self.granules = FxHashMap::default();
    }

    /// Distinct bytes so far.
    #[allow(clippy::cast_precision_loss, reason = "an error bound for people")]
    pub(super) fn distinct(&self) -> Distinct {
        if let Some(settled) = self.settled {
            return settled;
        }
        let whole = |sectors: u64| (sectors * SECTOR_BYTES).saturating_mul(1 << self.thinned);
        let error = (self.thinned > 0).then(|| {
            let regions = self.granules.len() as f64 / self.granules_a_region.max(1.0);
            2.0 / regions.max(1.0).sqrt()
        });
        Distinct {
            touched_bytes: whole(self.touched_sectors),
            written_bytes: whole(self.written_sectors),
            error,
        }
    }
}

/// Finalizer of splitmix64 (Steele, Lea, Flood 2014): every bit depends on every other, so a
/// regular access pattern meets no regular sample.
fn hash(region: u64) -> u64 {
    let mut z = region.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::analysis::verdict::share;

    proptest! {
        #[test]
        fn within_its_memory_the_working_set_is_exact_to_the_sector(
            ios in prop::collection::vec((0..2_000_u64, 1..40_u32, any::<bool>()), 0..300),
        ) {
            let mut found = Touched::default();
            let (mut touched, mut written) = (BTreeSet::new(), BTreeSet::new());
            for (sector, sectors, is_write) in ios {
                found.record(sector * 512, sectors * 512, is_write, 1 << 16);
                let range = sector..sector + u64::from(sectors);
                touched.extend(range.clone());
                if is_write {
                    written.extend(range);
                }
            }
            let distinct = found.distinct();
            prop_assert_eq!(distinct.touched_bytes, touched.len() as u64 * 512);
            prop_assert_eq!(distinct.written_bytes, written.len() as u64 * 512);
            prop_assert_eq!(distinct.error, None);
        }
    }

    #[test]
    fn beyond_its_memory_the_estimate_stays_within_the_stated_error() {
        for stride in [4_096_u64, 8_192, 65_536, 1 << 20] {
            let mut found = Touched::default();
            for i in 0..200_000_u64 {
                found.record(i * stride, 4_096, i % 2 == 0, 7_168);
            }
            assert!(found.granules.len() <= 7_168);
            let distinct = found.distinct();
            let error = distinct.error.unwrap();
            assert!(error > 0.0 && error < 0.15);
            let off = |estimate: u64, exact: u64| (share(estimate, exact) - 1.0).abs();
            let touched = off(distinct.touched_bytes, 200_000 * 4_096);
            assert!(touched < error * 1.5, "{stride}: {touched}");
            let written = off(distinct.written_bytes, 100_000 * 4_096);
            assert!(written < error * 2.0, "{stride}: {written}");
        }
    }

    #[test]
    fn large_sequential_writes_are_estimated_by_their_regions() {
        let mut found = Touched::default();
        for i in 0..50_000_u64 {
            found.record(i * 131_072, 131_072, true, 28_672);
        }
        let distinct = found.distinct();
        let error = distinct.error.unwrap();
        assert!(error > 0.02 && error < 0.1, "{error}");
        let off = (share(distinct.written_bytes, 50_000 * 131_072) - 1.0).abs();
        assert!(off < error * 1.5, "{off} of {error}");
        assert_eq!(distinct.written_bytes, distinct.touched_bytes);
    }

    #[test]
    fn the_end_of_the_largest_disk_is_no_overflow() {
        let mut found = Touched::default();
        found.record(u64::MAX - 4_096, u32::MAX, true, 1 << 12);
        assert!(found.distinct().touched_bytes >= 4_096);
    }
}

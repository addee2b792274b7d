//! How I/Os lie on blocks of every size: blocks touched, blocks covered in part, alignment.
//!
//! Owns what can be said of each I/O alone, without a set: the worst case, in which every
//! touched block is written whole for each write.

/// log2 of the smallest and largest block that ZFS can have: 512 B and 16M.
pub(super) const SMALLEST_SHIFT: u32 = 9;
pub(super) const LARGEST_SHIFT: u32 = 24;
const SHIFTS: usize = (LARGEST_SHIFT - SMALLEST_SHIFT + 1) as usize;
/// Bits of an offset that are watched for a constant remainder: up to 1M.
const REMAINDER_BITS: usize = 11;
/// Share of offsets that may differ from a constant remainder.
const SCATTERED_SHARE: u64 = 20;

/// Counts over I/Os of one direction. Memory: 0.5 KiB.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    ios: u64,
    bytes: u64,
    /// By block size: blocks touched.
    touched: [u64; SHIFTS],
    /// By trailing zero bits of start and end together: a block of a higher shift is covered
    /// in part.
    edges: [u64; SHIFTS + 1],
    /// By trailing zero bits of the start.
    starts: [u64; SHIFTS + 1],
    /// Starts with this bit set, from bit 9 on.
    bit_set: [u64; REMAINDER_BITS],
}

/// The part of an offset that nearly all offsets share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remainder {
    pub(super) bytes: u64,
    /// Power of two that it is the remainder of.
    pub(super) modulus: u64,
}

/// log2 of a block size, when it is one that ZFS can have.
pub(super) fn block_shift(bytes: u64) -> Option<u32> {
    let is_one = bytes.is_power_of_two()
        && (SMALLEST_SHIFT..=LARGEST_SHIFT).contains(&bytes.trailing_zeros());
    is_one.then(|| bytes.trailing_zeros())
}

fn index(shift: u32) -> usize {
    (shift.clamp(SMALLEST_SHIFT, LARGEST_SHIFT + 1) - SMALLEST_SHIFT) as usize
}

impl Spread {
    /// Takes an I/O that has data.
    pub(super) fn record(&mut self, offset: u64, bytes: u32) {
        let end = offset.saturating_add(u64::from(bytes));
        self.ios += 1;
        self.bytes += u64::from(bytes);
        for (touched, shift) in self.touched.iter_mut().zip(SMALLEST_SHIFT..) {
            *touched += ((end - 1) >> shift) - (offset >> shift) + 1;
        }
        self.edges[index((offset | end).trailing_zeros())] += 1;
        self.starts[index(offset.trailing_zeros())] += 1;
        for (set, bit) in self.bit_set.iter_mut().zip(SMALLEST_SHIFT..) {
            *set += (offset >> bit) & 1;
        }
    }

    pub(super) fn ios(&self) -> u64 {
        self.ios
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Blocks touched, each I/O for itself.
    pub(super) fn blocks(&self, shift: u32) -> u64 {
        self.touched.get(index(shift)).copied().unwrap_or_default()
    }

    /// I/Os that cover a block only in part.
    pub(super) fn partial(&self, shift: u32) -> u64 {
        self.edges[..index(shift)].iter().sum()
    }

    /// I/Os that start on a block.
    pub(super) fn aligned(&self, shift: u32) -> u64 {
        self.starts[index(shift)..].iter().sum()
    }

    /// What at least 95 % of the starts share modulo the largest possible power of two, at
    /// most `2^up_to_shift`. `None` when they share nothing beyond the sector.
    pub(super) fn constant_remainder(&self, up_to_shift: u32) -> Option<Remainder> {
        let mut shared: Option<Remainder> = None;
        let mut differ = 0;
        for (ones, bit) in self.bit_set.iter().zip(SMALLEST_SHIFT..up_to_shift) {
            differ += (*ones).min(self.ios - ones);
            if differ * SCATTERED_SHARE > self.ios {
                break;
            }
            let below = shared.map_or(0, |remainder| remainder.bytes);
            let own = if *ones > self.ios - ones { 1 << bit } else { 0 };
            shared = Some(Remainder {
                bytes: below | own,
                modulus: 2 << bit,
            });
        }
        shared.filter(|_| self.ios > 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_edges_and_starts_match_counting_each_block(
            ios in prop::collection::vec((0..100_000_u64, 1..3_000_u32), 1..60),
            shift in SMALLEST_SHIFT..=LARGEST_SHIFT,
        ) {
            let mut spread = Spread::default();
            let (mut blocks, mut partial, mut aligned) = (0, 0, 0);
            let size = 1_u64 << shift;
            for (sector, sectors) in &ios {
                let (from, bytes) = (sector * 512, sectors * 512);
                spread.record(from, bytes);
                let to = from + u64::from(bytes);
                let touched = from / size..to.div_ceil(size);
                partial += u64::from(touched.clone().any(|b| b * size < from || (b + 1) * size > to));
                blocks += touched.count() as u64;
                aligned += u64::from(from.is_multiple_of(size));
            }
            prop_assert_eq!(spread.blocks(shift), blocks);
            prop_assert_eq!(spread.partial(shift), partial);
            prop_assert_eq!(spread.aligned(shift), aligned);
        }

        #[test]
        fn a_constant_remainder_is_found_whatever_the_modulus(
            sector in 0..256_u64,
            modulus_shift in 12..=17_u32,
            at in prop::collection::vec(0..1_000_000_u64, 200..400),
        ) {
            let modulus = 1_u64 << modulus_shift;
            let remainder = sector * 512 % modulus;
            let mut spread = Spread::default();
            for i in &at {
                spread.record(i * modulus + remainder, 4_096);
            }
            let found = spread.constant_remainder(20).unwrap();
            prop_assert!(found.modulus >= modulus);
            prop_assert_eq!(found.bytes % modulus, remainder);
        }
    }

    #[test]
    fn sector_63_and_scattered_offsets_are_told_apart() {
        let mut spread = Spread::default();
        for i in 0..1_000_u64 {
            spread.record(63 * 512 + (i * 7_919 % 10_007) * 8_192, 8_192);
        }
        let found = spread.constant_remainder(17).unwrap();
        assert_eq!((found.bytes, found.modulus), (7_680, 8_192));
        assert_eq!((spread.aligned(13), spread.partial(13)), (0, 1_000));
        assert_eq!(spread.blocks(13), 2_000);

        let mut scattered = Spread::default();
        for i in 0..1_000_u64 {
            scattered.record((i * 7_919 % 10_007) * 512, 512);
        }
        assert_eq!(scattered.constant_remainder(17), None);
    }

    #[test]
    fn block_sizes_are_powers_of_two_that_zfs_knows() {
        assert_eq!(block_shift(512), Some(9));
        assert_eq!(block_shift(16 << 20), Some(24));
        for bytes in [0, 256, 4_097, 32 << 20, u64::MAX] {
            assert_eq!(block_shift(bytes), None);
        }
    }
}

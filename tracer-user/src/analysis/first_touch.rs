//! Blocks whose first write in a transaction group covers them only in part.
//!
//! ZFS reads such a block before it writes it, unless it is cached or a hole (OpenZFS 2.0 to
//! 2.4, `dmu_buf_will_dirty`); later writes to it in the same group find it in memory. Touches
//! are kept in order of arrival and sorted stably when the group ends, so that the first of
//! each block stays first.

use super::window::Room;

/// Touches before the first compaction.
const FIRST_COMPACTION: usize = 1024;
/// Whole blocks inside one write that are kept; a longer write exists in damaged input only.
const LONGEST_INSIDE: usize = 1 << 15;

/// Touched blocks of one group. Memory: 8 B a block, and half as much while it is sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstTouches {
    /// Block number, and in the lowest bit whether it was touched in part.
    touches: Vec<u64>,
    compact_at: usize,
}

impl FirstTouches {
    /// Takes a write of the bytes from first to last, both inclusive, on blocks of `2^shift`.
    pub(super) fn record(
        &mut self,
        first_byte: u64,
        last_byte: u64,
        shift: u32,
        max_touches: usize,
    ) -> Room {
        let inside = (1_u64 << shift) - 1;
        let (first, last) = (first_byte >> shift, last_byte >> shift);
        let starts_inside = first_byte & inside != 0;
        let ends_inside = last_byte & inside != inside;
        if first == last {
            self.touch(first, starts_inside || ends_inside);
        } else {
            self.touch(first, starts_inside);
            for block in (first + 1..last).take(LONGEST_INSIDE) {
                self.touch(block, false);
            }
            self.touch(last, ends_inside);
        }
        if self.touches.len() < self.compact_at.max(FIRST_COMPACTION).min(max_touches) {
            return Room::Left;
        }
        self.compact();
        self.compact_at = self.touches.len() * 2;
        if self.touches.len() > max_touches - max_touches / 4 {
            Room::None
        } else {
            Room::Left
        }
    }

    fn touch(&mut self, block: u64, in_part: bool) {
        if self
            .touches
            .last()
            .is_none_or(|latest| latest >> 1 != block)
        {
            self.touches.push(block << 1 | u64::from(in_part));
        }
    }

    fn compact(&mut self) {
        self.touches.sort_by_key(|touch| touch >> 1);
        self.touches.dedup_by_key(|touch| *touch >> 1);
    }

    /// Counts the blocks and forgets them.
    pub(super) fn take_count(&mut self) -> u64 {
        self.compact();
        let in_part: u64 = self.touches.iter().map(|touch| touch & 1).sum();
        self.touches.clear();
        self.compact_at = 0;
        in_part
    }

    /// Gives back memory that a busier time needed.
    pub(super) fn shrink(&mut self, max_touches: usize) {
        self.touches.shrink_to(max_touches);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_touch_decides_whether_a_block_counts(
            writes in prop::collection::vec((0..600_u64, 1..64_u64), 0..2_500),
            shift in 9..14_u32,
        ) {
            let mut found = FirstTouches::default();
            let mut seen = HashSet::new();
            let mut in_part = 0;
            for (sector, sectors) in writes {
                let (from, to) = (sector * 512, (sector + sectors) * 512);
                prop_assert_eq!(found.record(from, to - 1, shift, 1 << 20), Room::Left);
                for block in from >> shift..=(to - 1) >> shift {
                    let is_whole = block << shift >= from && (block + 1) << shift <= to;
                    in_part += u64::from(seen.insert(block) && !is_whole);
                }
            }
            prop_assert_eq!(found.take_count(), in_part);
            prop_assert_eq!(found.take_count(), 0);
        }
    }

    #[test]
    fn more_blocks_than_there_is_room_for_end_the_group() {
        let mut found = FirstTouches::default();
        let mut touched = 0_u64;
        while found.record(touched * 8_192, touched * 8_192 + 511, 12, 2_048) == Room::Left {
            touched += 1;
            assert!(touched < 3_000, "the bound must bite");
        }
        assert_eq!(found.take_count(), touched + 1);
    }
}

//! Indirect blocks: what ZFS writes beside the data of a zvol.
//!
//! Owns the model of the block tree. Every transaction group rewrites each level-1 block above
//! a changed data block, each level-2 block above those, and so on. An indirect block holds
//! 1,024 pointers of 128 B (OpenZFS 2.0 to 2.4: zvols use `DN_MAX_INDBLKSHIFT`, 128K), is
//! compressed, and is stored twice (`redundant_metadata=all`).
//!
//! Not modelled, since it does not depend on the block size: space maps, the object set, the
//! pool's own metadata; about 100 KiB a group on an idle pool.

use super::dirty::{BlockCounts, LEVELS};

/// log2 of the pointers in an indirect block.
const POINTERS_SHIFT: u32 = 10;
/// What a pointer of 128 B takes after LZ4: checksum, offset and birth do not compress, unused
/// copies and padding do. Measured: 43 to 47 B (kernel 6.12, ZFS 2.3.2, random 4K writes on
/// zvols of 8K and 16K).
const POINTER_BYTES: u64 = 45;
/// Copies of an indirect block.
const COPIES: u64 = 2;
/// Smallest allocation, ashift 12.
const SECTOR_BYTES: u64 = 4096;
/// Size before compression; more is never stored.
const INDIRECT_BYTES: u64 = 128 << 10;
/// Pointers in the dnode itself: a tree of so few blocks has no indirect ones.
const DNODE_POINTERS: u64 = 3;

/// Bytes of indirect blocks that groups with these distinct blocks wrote.
///
/// `granule_shift` is the shift that level 0 of `blocks` stands for, `block_shift` that of the
/// block size (not smaller), `size_bytes` the disk's size.
pub(super) fn indirect_bytes(
    blocks: &BlockCounts,
    granule_shift: u32,
    block_shift: u32,
    size_bytes: u64,
) -> u64 {
    let mut written = 0_u64;
    // Blocks of the level below, on the whole disk.
    let mut below = size_bytes.div_ceil(1 << block_shift);
    let mut shift = block_shift;
    while below > DNODE_POINTERS {
        shift += POINTERS_SHIFT;
        let level = (shift - granule_shift) as usize;
        // Beyond the counted levels everything is one block.
        let touched = blocks
            .get(level.min(LEVELS - 1))
            .copied()
            .unwrap_or_default();
        let pointers = below.min(1 << POINTERS_SHIFT);
        let stored = (pointers * POINTER_BYTES)
            .next_multiple_of(SECTOR_BYTES)
            .min(INDIRECT_BYTES);
        written += touched * stored * COPIES;
        below = below.div_ceil(1 << POINTERS_SHIFT);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::dirty::Dirty;

    fn counts(granules: impl Iterator<Item = u64>) -> BlockCounts {
        let mut dirty = Dirty::default();
        for granule in granules {
            dirty.insert(granule, granule, 1 << 20);
        }
        dirty.take_counts()
    }

    #[test]
    fn each_touched_level_1_block_is_written_twice_and_the_one_above_too() {
        // 16 level-1 blocks of 8K data blocks cover 128M; one level-2 block holds 32 pointers.
        let spread = counts((0..16).map(|i| i * 2_048));
        let written = indirect_bytes(&spread, 12, 13, 256 << 20);
        assert_eq!(written, 16 * 2 * 49_152 + 2 * 4_096);
        // The same places in one level-1 block.
        let dense = counts((0..16).map(|i| i * 2));
        assert_eq!(
            indirect_bytes(&dense, 12, 13, 256 << 20),
            2 * 49_152 + 2 * 4_096
        );
    }

    #[test]
    fn larger_blocks_have_fewer_indirect_ones_and_a_tiny_disk_has_none() {
        let spread = counts((0..1_000).map(|i| i * 4_096));
        let by_shift: Vec<u64> = (12..=17)
            .map(|shift| indirect_bytes(&spread, 12, shift, 16 << 30))
            .collect();
        assert!(by_shift.is_sorted_by(|a, b| a >= b), "{by_shift:?}");
        assert_eq!(indirect_bytes(&spread, 12, 20, 3 << 20), 0);
    }

    #[test]
    fn the_largest_disk_ends_in_one_top_block() {
        let one = counts(std::iter::once(1 << 40));
        let written = indirect_bytes(&one, 9, 9, 1 << 60);
        assert!(written < 7 * COPIES * INDIRECT_BYTES && written > 0);
    }
}

//! Indirect blocks: what ZFS writes beside the data of a zvol.
//!
//! Owns the model of the block tree. Every transaction group rewrites each level-1 block above
//! a changed data block, each level-2 block above those, and so on. An indirect block holds
//! 1,024 pointers of 128 B (OpenZFS 2.0 to 2.4: zvols use `DN_MAX_INDBLKSHIFT`, 128K), is
//! compressed, and is stored twice (`redundant_metadata=all`).
//!
//! Not modelled, since it does not depend on the block size: space maps, the object set, the
//! pool's own metadata; about 100 KiB a group on an idle pool.

use super::window::{TREE_LEVELS, Tree};

/// log2 of the pointers in an indirect block.
pub(super) const POINTERS_SHIFT: u32 = 10;
/// What a pointer of 128 B takes after LZ4: checksum, offset and birth do not compress, unused
/// copies and padding do. Measured: 43 to 47 B (kernel 6.12, ZFS 2.3.2, random 4K writes on
/// zvols of 8K and 16K).
const POINTER_BYTES: u64 = 45;
/// Copies of an indirect block.
const COPIES: u64 = 2;
/// Smallest allocation, ashift 12.
const SECTOR_BYTES: u64 = 4096;
/// Size before compression; more is never stored.
pub(super) const INDIRECT_BYTES: u64 = 128 << 10;
/// Pointers in the dnode itself: a tree of so few blocks has no indirect ones.
const DNODE_POINTERS: u64 = 3;

/// Bytes of indirect blocks that groups wrote which changed these blocks.
///
/// `block_shift` is that of the block size, `size_bytes` the disk's size.
pub(super) fn indirect_bytes(blocks: &Tree, block_shift: u32, size_bytes: u64) -> u64 {
    let mut written = 0_u64;
    // Blocks of the level below, on the whole disk.
    let mut below = size_bytes.div_ceil(1 << block_shift);
    let mut level = 0;
    while below > DNODE_POINTERS {
        level += 1;
        // Beyond the counted levels everything is one block.
        let touched = blocks[level.min(TREE_LEVELS - 1)];
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
    use std::collections::HashSet;

    use super::*;

    /// Granules of 4K, and all bytes of indirect blocks above them.
    fn written(granules: impl Iterator<Item = u64>, block_shift: u32, size_bytes: u64) -> u64 {
        let granules: Vec<u64> = granules.collect();
        let tree = std::array::from_fn(|above| {
            let shift = block_shift as usize - 12 + above * POINTERS_SHIFT as usize;
            let blocks: HashSet<u64> = granules.iter().map(|granule| granule >> shift).collect();
            blocks.len() as u64
        });
        indirect_bytes(&tree, block_shift, size_bytes)
    }

    #[test]
    fn each_touched_level_1_block_is_written_twice_and_the_one_above_too() {
        // 16 level-1 blocks of 8K data blocks cover 128M; one level-2 block holds 32 pointers.
        let spread = written((0..16).map(|i| i * 2_048), 13, 256 << 20);
        assert_eq!(spread, 16 * 2 * 49_152 + 2 * 4_096);
        // The same places in one level-1 block.
        let dense = written((0..16).map(|i| i * 2), 13, 256 << 20);
        assert_eq!(dense, 2 * 49_152 + 2 * 4_096);
    }

    #[test]
    fn larger_blocks_have_fewer_indirect_ones_and_a_tiny_disk_has_none() {
        let spread = (0..1_000).map(|i| i * 4_096);
        let by_shift: Vec<u64> = (12..=17)
            .map(|shift| written(spread.clone(), shift, 16 << 30))
            .collect();
        assert!(by_shift.is_sorted_by(|a, b| a >= b), "{by_shift:?}");
        assert_eq!(written(spread, 20, 3 << 20), 0);
    }

    #[test]
    fn the_largest_disk_ends_in_one_top_block() {
        let written = indirect_bytes(&[1; TREE_LEVELS], 9, 1 << 60);
        assert!(written < 7 * COPIES * INDIRECT_BYTES && written > 0);
    }
}

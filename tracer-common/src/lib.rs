//! What crosses the border between the kernel half and the user half of zvoltrace.
//!
//! Owns the layout of every map value and ring record, the names of maps, programs and
//! globals, and the limits that both halves must agree on. It holds no logic of either half,
//! needs no allocator, and builds for the BPF target as well as for the host.
#![no_std]
#![allow(
    clippy::inline_always,
    reason = "in a BPF program a call costs more than these bodies, and older kernels have none"
)]

use core::mem::{align_of, offset_of, size_of};

pub mod names;
pub mod record;

pub use record::{Inflight, IoRecord, RingHead, SharedRecord};

/// Operation in the low eight bits of `bi_opf` and `cmd_flags` (`include/linux/blk_types.h`,
/// the same from 4.18 to 7.3).
pub mod op {
    /// Mask of the operation bits.
    pub const MASK: u32 = 0xff;
    /// `REQ_OP_READ`.
    pub const READ: u32 = 0;
    /// `REQ_OP_WRITE`.
    pub const WRITE: u32 = 1;
    /// `REQ_OP_FLUSH`: only the block layer's own flush request carries it, never a bio.
    pub const FLUSH: u32 = 2;
    /// `REQ_OP_DISCARD`.
    pub const DISCARD: u32 = 3;
    /// `REQ_OP_SECURE_ERASE`.
    pub const SECURE_ERASE: u32 = 5;
    /// `REQ_OP_WRITE_ZEROES`.
    pub const WRITE_ZEROES: u32 = 9;
}

/// Flag bits of `bi_opf` and `cmd_flags` that keep their place from 4.18 to 7.3. Bits from 22
/// up move between kernels and are never decoded.
pub mod flag {
    /// `REQ_SYNC`: a submitter's hint, not durability.
    pub const SYNC: u32 = 1 << 11;
    /// `REQ_META`.
    pub const META: u32 = 1 << 12;
    /// `REQ_PRIO`.
    pub const PRIO: u32 = 1 << 13;
    /// `REQ_NOMERGE`.
    pub const NOMERGE: u32 = 1 << 14;
    /// `REQ_IDLE`: direct I/O carries it, writeback does not.
    pub const IDLE: u32 = 1 << 15;
    /// `REQ_INTEGRITY`.
    pub const INTEGRITY: u32 = 1 << 16;
    /// `REQ_FUA`: the write itself is durable when it completes.
    pub const FUA: u32 = 1 << 17;
    /// `REQ_PREFLUSH`: what completed before is made durable first.
    pub const PREFLUSH: u32 = 1 << 18;
    /// `REQ_RAHEAD`.
    pub const RAHEAD: u32 = 1 << 19;
    /// `REQ_BACKGROUND`.
    pub const BACKGROUND: u32 = 1 << 20;
    /// `REQ_NOWAIT`.
    pub const NOWAIT: u32 = 1 << 21;
    /// Every bit above: what is kept of `bi_opf` beside the operation.
    pub const KNOWN: u32 = 0x003f_f800;
}

/// Length of a command name in the kernel (`TASK_COMM_LEN`), the closing NUL included.
pub const COMM_LEN: usize = 16;

/// Most disks that can be traced at once. Bounds the filter table (its load factor stays under
/// one eighth) and the counters; what does not fit is named in the report.
pub const MAX_DISKS: u32 = 8192;

/// Buckets of the disk filter, a power of two.
pub const FILTER_BUCKETS: u32 = 16_384;
/// Slots of one bucket, a cache line together: the user half puts a disk into a free slot of
/// its bucket and refuses it when the bucket is full.
pub const FILTER_WAYS: u32 = 4;

/// I/Os that can be in flight at once, a power of two; what does not fit is counted.
pub const INFLIGHT_SLOTS: u32 = 65_536;
/// Slots of one bucket of the in-flight table, whose addresses fill a cache line. With four, a
/// bucket overflows from some 4,000 I/Os in flight on; with eight, from some 12,000 on.
pub const INFLIGHT_WAYS: u32 = 8;
/// Buckets of the in-flight table.
pub const INFLIGHT_BUCKETS: u32 = INFLIGHT_SLOTS / INFLIGHT_WAYS;

/// Knuth's multiplicative constant, 2^64 / phi.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bucket of the disk filter for a [`disk_number`].
#[inline(always)]
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "the shift leaves 14 bits")]
pub const fn filter_bucket(number: u64) -> u32 {
    (number.wrapping_mul(GOLDEN) >> (64 - FILTER_BUCKETS.trailing_zeros())) as u32
}

/// Second multiplier of `MurmurHash3`'s 64-bit finalizer.
const MURMUR: u64 = 0xc4ce_b9fe_1a85_ec53;

/// Bucket of the in-flight table for a bio's or request's address, of which the low half is
/// enough to spread by: the high half is the same for all, or nearly. Addresses in a slab are
/// multiples of its object's size, which this multiplier spreads better than the golden ratio.
#[inline(always)]
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "the shift leaves 13 bits")]
pub const fn inflight_bucket(low_half: u32) -> u32 {
    ((low_half as u64).wrapping_mul(MURMUR) >> (64 - INFLIGHT_BUCKETS.trailing_zeros())) as u32
}

/// Slots of [`names::MAP_CALLS`], a power of two.
pub const CALL_SLOTS: u32 = 65_536;

/// Class of an I/O for the exact counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum OpClass {
    /// Reads.
    Read = 0,
    /// Writes that carry data.
    Write = 1,
    /// Discards and secure erases.
    Discard = 2,
    /// Bare flushes: a write without data and with `PREFLUSH`.
    Flush = 3,
    /// Everything else (write zeroes, zone operations, an operation not known).
    Other = 4,
}

impl OpClass {
    /// Every class, in the order of the counters.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::Other,
    ];

    /// The class of an I/O from its `bi_opf` or `cmd_flags` and its size in bytes.
    #[inline(always)]
    #[must_use]
    pub const fn of(opf: u32, bytes: u32) -> Self {
        match opf & op::MASK {
            op::READ => Self::Read,
            op::WRITE if bytes == 0 => Self::Flush,
            op::WRITE => Self::Write,
            op::FLUSH => Self::Flush,
            op::DISCARD | op::SECURE_ERASE => Self::Discard,
            _ => Self::Other,
        }
    }
}

/// A disk's number (never a partition's), as the filter compares it.
#[inline(always)]
#[must_use]
pub const fn disk_number(major: u32, first_minor: u32) -> u64 {
    ((major as u64) << 32) | first_minor as u64
}

/// One slot of the disk filter. All zero means free.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterSlot {
    /// [`disk_number`].
    pub number: u64,
    /// [`DiskId`] in its raw form; 0 while the slot is being written.
    pub disk: u32,
    /// Zero.
    pub reserved: u32,
}

/// Identity of a traced disk as the kernel half sees it: a counter slot, the disk's mode and a
/// generation that tells apart the disks that used the slot one after the other.
///
/// Bits 0 to 12 are the slot, bit 13 is set for a blk-mq disk, bits 14 to 30 are the
/// generation, and bit 31 is always set, so that a valid identity is never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiskId(pub u32);

impl DiskId {
    const SLOT_MASK: u32 = MAX_DISKS - 1;
    const BLK_MQ: u32 = 1 << 13;
    const VALID: u32 = 1 << 31;
    const GENERATION_MASK: u32 = (1 << 17) - 1;

    /// Builds an identity; `slot` is below [`MAX_DISKS`], `generation` is taken modulo 2^17.
    #[must_use]
    pub const fn new(slot: u32, blk_mq: bool, generation: u32) -> Self {
        let mode = if blk_mq { Self::BLK_MQ } else { 0 };
        Self(
            Self::VALID
                | (slot & Self::SLOT_MASK)
                | mode
                | ((generation & Self::GENERATION_MASK) << 14),
        )
    }

    /// The counter slot.
    #[inline(always)]
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.0 & Self::SLOT_MASK
    }

    /// Whether the disk is traced by its requests instead of its bios.
    #[inline(always)]
    #[must_use]
    pub const fn is_blk_mq(self) -> bool {
        self.0 & Self::BLK_MQ != 0
    }
}

/// Exact counts of one disk.
///
/// The kernel half keeps one a disk and CPU, two cache lines written by that CPU alone, and
/// counts there only what does not reach the ring: the user half counts what it takes out of
/// it, and adds. So nothing is counted twice, totals are exact though records are lost, and a
/// completed I/O costs no counter.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Per [`OpClass`]: I/Os completed.
    pub count: [u64; 5],
    /// Per [`OpClass`]: bytes of them, by their size at submission.
    pub bytes: [u64; 5],
    /// Completions with an error, all classes.
    pub errors: u64,
    /// Bios submitted. The kernel half counts those of blk-mq disks; on a bio-mode disk they are
    /// the I/Os themselves.
    pub submitted: u64,
    /// Records that found no room in the ring.
    pub ring_lost: u64,
    /// Submissions that found no room in the in-flight table.
    pub not_tracked: u64,
    /// Completions of which no start was seen.
    pub without_start: u64,
    /// In-flight entries overwritten by a later I/O at the same address: their completion was
    /// never seen.
    pub overwritten: u64,
}

impl DiskCounters {
    /// Adds another CPU's or another time's counts.
    pub fn add(&mut self, other: &Self) {
        for class in 0..5 {
            self.count[class] = self.count[class].wrapping_add(other.count[class]);
            self.bytes[class] = self.bytes[class].wrapping_add(other.bytes[class]);
        }
        self.errors = self.errors.wrapping_add(other.errors);
        self.submitted = self.submitted.wrapping_add(other.submitted);
        self.ring_lost = self.ring_lost.wrapping_add(other.ring_lost);
        self.not_tracked = self.not_tracked.wrapping_add(other.not_tracked);
        self.without_start = self.without_start.wrapping_add(other.without_start);
        self.overwritten = self.overwritten.wrapping_add(other.overwritten);
    }

    /// What was counted since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut negated = Self::default();
        for class in 0..5 {
            negated.count[class] = earlier.count[class].wrapping_neg();
            negated.bytes[class] = earlier.bytes[class].wrapping_neg();
        }
        negated.errors = earlier.errors.wrapping_neg();
        negated.submitted = earlier.submitted.wrapping_neg();
        negated.ring_lost = earlier.ring_lost.wrapping_neg();
        negated.not_tracked = earlier.not_tracked.wrapping_neg();
        negated.without_start = earlier.without_start.wrapping_neg();
        negated.overwritten = earlier.overwritten.wrapping_neg();
        negated.add(self);
        negated
    }
}

const _: () = {
    assert!(size_of::<FilterSlot>() == 16 && align_of::<FilterSlot>() == 8);
    assert!(offset_of!(FilterSlot, disk) == 8);
    assert!(size_of::<DiskCounters>() == 128 && align_of::<DiskCounters>() == 8);
    assert!(FILTER_BUCKETS.is_power_of_two() && MAX_DISKS * 8 <= FILTER_BUCKETS * FILTER_WAYS);
    assert!(INFLIGHT_SLOTS.is_power_of_two() && MAX_DISKS == 1 << 13);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_id_keeps_slot_and_mode_apart_and_is_never_zero() {
        for (slot, blk_mq, generation) in [(0, false, 0), (8191, true, 131_071), (17, true, 5)] {
            let id = DiskId::new(slot, blk_mq, generation);
            assert_ne!(id.0, 0);
            assert_eq!(id.slot(), slot);
            assert_eq!(id.is_blk_mq(), blk_mq);
        }
        assert_ne!(DiskId::new(3, false, 1), DiskId::new(3, false, 2));
    }

    #[test]
    fn every_bucket_lies_inside_its_table() {
        for n in 0..100_000_u32 {
            assert!(filter_bucket(disk_number(230, n * 16)) < FILTER_BUCKETS);
            assert!(inflight_bucket(n.wrapping_mul(256)) < INFLIGHT_BUCKETS);
        }
    }

    #[test]
    fn addresses_of_a_slab_spread_over_the_buckets() {
        let mut taken = [0_u8; INFLIGHT_BUCKETS as usize];
        for step in [64, 128, 184, 192, 256, 320, 512, 576, 1024, 4096] {
            taken.fill(0);
            for n in 0..u32::from(u16::MAX) / 16 {
                taken[inflight_bucket(0x0a40_0000 + n * step) as usize] += 1;
            }
            let most = taken.iter().copied().max().unwrap_or(0);
            assert!(u32::from(most) <= INFLIGHT_WAYS, "step {step}: {most}");
        }
    }

    #[test]
    fn a_burst_of_ten_thousand_scattered_bios_finds_room() {
        // Slabs of two pages anywhere in memory, full of bios of so many bytes.
        const SLAB_BYTES: u64 = 8192;
        for bio_bytes in [128, 192, 256, 320] {
            let mut taken = [0_u8; INFLIGHT_BUCKETS as usize];
            let mut state = 1_u64;
            for n in 0..10_000 {
                let place = n % (SLAB_BYTES / bio_bytes);
                if place == 0 {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                }
                let slab = (state >> 45) * SLAB_BYTES;
                let low_half = u32::try_from(slab + place * bio_bytes).unwrap();
                taken[inflight_bucket(low_half) as usize] += 1;
            }
            let fullest = taken.iter().max().copied().unwrap_or_default();
            assert!(
                u32::from(fullest) <= INFLIGHT_WAYS,
                "bios of {bio_bytes} B: {fullest}"
            );
        }
    }

    #[test]
    fn classes_follow_the_operation_and_an_empty_write_is_a_flush() {
        assert_eq!(OpClass::of(op::READ | flag::SYNC, 4096), OpClass::Read);
        assert_eq!(OpClass::of(op::WRITE | flag::PREFLUSH, 0), OpClass::Flush);
        assert_eq!(OpClass::of(op::WRITE | flag::PREFLUSH, 512), OpClass::Write);
        assert_eq!(OpClass::of(op::DISCARD, u32::MAX), OpClass::Discard);
        assert_eq!(OpClass::of(op::WRITE_ZEROES, 4096), OpClass::Other);
    }
}

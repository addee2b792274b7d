//! An I/O in flight, and its record in the ring once it has completed: a cache line each.
//!
//! Both keep operation, flags and submitter in one word ([`origin`]), in which a completion
//! copies them without looking at them.

use core::mem::{align_of, offset_of, size_of};

use crate::{flag, op};

/// Operation, flags and submitter in one word: 8 bits of operation and the 11 of
/// [`flag::KNOWN`] from bit 0, thread and process from bits 20 and 42. Neither is above
/// `PID_MAX_LIMIT`, 2^22 (`include/linux/threads.h`).
pub mod origin {
    use super::{flag, op};

    const ID_BITS: u32 = 22;
    const ID_MASK: u64 = (1 << ID_BITS) - 1;
    const TID: u32 = 20;
    const TGID: u32 = TID + ID_BITS;
    const FLAG_GAP: u32 = 3;

    /// Packs; `opf` keeps [`op::MASK`] and [`flag::KNOWN`].
    #[inline(always)]
    #[must_use]
    pub const fn pack(opf: u32, process: u32, thread: u32) -> u64 {
        let opf = (opf & op::MASK) | (opf & flag::KNOWN) >> FLAG_GAP;
        opf as u64 | (thread as u64 & ID_MASK) << TID | (process as u64) << TGID
    }

    /// Operation and flags, where the kernel has them.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the masks leave 22 bits")]
    pub const fn opf(word: u64) -> u32 {
        let low = word as u32;
        (low & op::MASK) | (low << FLAG_GAP & flag::KNOWN)
    }

    /// Thread of the submitter.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the mask leaves 22 bits")]
    pub const fn tid(word: u64) -> u32 {
        (word >> TID & ID_MASK) as u32
    }

    /// Process (thread group) of the submitter.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the shift leaves 22 bits")]
    pub const fn tgid(word: u64) -> u32 {
        (word >> TGID) as u32
    }
}

/// Command name of a task as two words, as the kernel has it: what follows the first NUL need
/// not be zero.
pub type CommWords = [u64; 2];

/// An I/O in flight, in the table slot that its address claimed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inflight {
    /// Submission, `CLOCK_MONOTONIC`, ns.
    pub start_ns: u64,
    /// First issue to the driver, `CLOCK_MONOTONIC`, ns; 0 before it and on bio-mode disks.
    pub issue_ns: u64,
    /// First sector (512 B), counted from the start of the disk even for a partition.
    pub sector: u64,
    /// Size in bytes at submission.
    pub bytes: u32,
    /// [`crate::DiskId`] in its raw form; 0 while the slot is not filled.
    pub disk: u32,
    /// See [`origin`].
    pub origin: u64,
    /// See [`mark`].
    pub marks: u64,
    /// Command name of the submitter.
    pub comm: CommWords,
}

/// [`Inflight::marks`].
pub mod mark {
    /// The request went back to its queue: what comes next is the same I/O, not a new one.
    pub const REQUEUED: u64 = 1 << 0;
    /// The request is in the block layer's flush machinery: a zero-byte completion closes it.
    pub const CLOSED_BY_FLUSH: u64 = 1 << 1;
}

/// One completed I/O, as it crosses the ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoRecord {
    /// Submission, `CLOCK_MONOTONIC`, ns.
    pub start_ns: u64,
    /// First issue to the driver, `CLOCK_MONOTONIC`, ns; 0 when not known (bio mode, flushes).
    pub issue_ns: u64,
    /// Completion, `CLOCK_MONOTONIC`, ns.
    pub end_ns: u64,
    /// First sector and status, see [`place`].
    pub place: u64,
    /// Size in bytes at submission.
    pub bytes: u32,
    /// [`crate::DiskId`] in its raw form.
    pub disk: u32,
    /// See [`origin`].
    pub origin: u64,
    /// Command name of the submitter. Its last byte, which is always NUL in the kernel, is the
    /// round of the ring ([`round`]): written last, it tells the reader that the record is whole.
    pub comm: CommWords,
}

/// An [`IoRecord`] in the one ring of kernels before 5.12.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedRecord {
    /// The record, without a [`round`].
    pub io: IoRecord,
    /// CPU that saw the completion.
    pub cpu: u16,
    /// Zero.
    pub reserved: [u16; 3],
}

/// First sector and completion status in one word. A disk has less than 2^54 sectors (2^63
/// bytes, the largest `loff_t`).
pub mod place {
    const STATUS: u32 = 54;
    const SECTOR_MASK: u64 = (1 << STATUS) - 1;
    /// Bit of the status that marks the rest as a positive errno (below 512), not a
    /// `blk_status_t` (`u8`). Kernels up to 5.12 pass an errno to `block_rq_complete`.
    pub const STATUS_IS_ERRNO: u32 = 1 << 9;

    /// Packs; `status` is below 2^10.
    #[inline(always)]
    #[must_use]
    pub const fn pack(sector: u64, status: u32) -> u64 {
        (sector & SECTOR_MASK) | (status as u64) << STATUS
    }

    /// First sector (512 B), counted from the start of the disk.
    #[inline(always)]
    #[must_use]
    pub const fn sector(word: u64) -> u64 {
        word & SECTOR_MASK
    }

    /// 0, or what the kernel gave.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the shift leaves 10 bits")]
    pub const fn status(word: u64) -> u32 {
        (word >> STATUS) as u32
    }
}

/// Producer's and consumer's position in the ring of one CPU, in records since the start; on a
/// cache line each, since each has one writer.
///
/// The kernel half claims a place by adding to `produced`, which an interrupt may do again
/// before the first has written its record: so a record counts when its [`round`] is right, and
/// not when `produced` has passed it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingHead {
    /// Records claimed, by the hooks on this CPU.
    pub produced: u64,
    /// Zero.
    pub reserved: [u64; 7],
    /// Records taken, by the user half.
    pub consumed: u64,
    /// Zero.
    pub reserved_too: [u64; 7],
}

/// Places of a CPU's ring that stay free: so many programs at most are between their look at the
/// positions and their claim. Completions interrupt each other (task, softirq, hardirq, NMI), in
/// each of two programs and their copies; where tasks are preempted in a program as well, the
/// kernel lets each program run once at a time on a CPU.
pub const RING_MARGIN: u64 = 4 * 2 * crate::names::COPIES as u64;

/// What the last byte of the record at `position` must be, in a ring of 2^`shift` records: never
/// that of the record before it in the same place, nor 0 in a ring that is new.
#[inline(always)]
#[must_use]
pub const fn round(position: u64, shift: u32) -> u64 {
    (position >> shift).wrapping_add(1) & 0xff
}

/// Place of a [`round`] in the second word of [`IoRecord::comm`].
pub const ROUND_SHIFT: u32 = 56;

const _: () = {
    assert!(size_of::<Inflight>() == 64 && align_of::<Inflight>() == 8);
    assert!(offset_of!(Inflight, comm) == 48);
    assert!(size_of::<IoRecord>() == 64 && align_of::<IoRecord>() == 8);
    assert!(offset_of!(IoRecord, comm) == 48);
    assert!(size_of::<SharedRecord>() == 72);
    assert!(size_of::<RingHead>() == 128 && offset_of!(RingHead, consumed) == 64);
    assert!(flag::KNOWN >> 3 < 1 << 20 && flag::KNOWN >> 3 & op::MASK == 0);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_keeps_operation_flags_process_and_thread_apart() {
        let most = (1 << 22) - 1;
        for (opf, tgid, tid) in [
            (op::WRITE | flag::KNOWN, most, 0),
            (op::MASK, 0, most),
            (op::DISCARD | flag::SYNC | flag::NOWAIT, 1, 2),
        ] {
            let word = origin::pack(opf, tgid, tid);
            assert_eq!(origin::opf(word), opf);
            assert_eq!((origin::tgid(word), origin::tid(word)), (tgid, tid));
        }
        assert_eq!(
            origin::opf(origin::pack(u32::MAX, 0, 0)),
            op::MASK | flag::KNOWN
        );
    }

    #[test]
    fn a_place_keeps_sector_and_status_apart() {
        let last = i64::MAX.unsigned_abs() / 512;
        for status in [0, 10, 255, place::STATUS_IS_ERRNO | 511] {
            let word = place::pack(last, status);
            assert_eq!((place::sector(word), place::status(word)), (last, status));
        }
    }

    #[test]
    fn a_round_differs_from_the_one_before_in_the_same_place() {
        for position in 0..5_000_u64 {
            assert_ne!(round(position, 3), round(position + 8, 3));
            assert!(round(position, 3) < 256);
        }
        assert_ne!(round(0, 3), 0);
    }
}

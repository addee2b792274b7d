//! A ring of records for each CPU, in one array that the user half maps.
//!
//! Against the BPF ring buffer this saves two helper calls, a lock that all CPUs share and a
//! second cache line a record, half of the completion hook's time.

use core::intrinsics::{AtomicOrdering, atomic_xadd};
use core::ptr::{read_volatile, write_volatile};

use tracer_common::{
    Inflight,
    record::{RING_MARGIN, ROUND_SHIFT, place, round},
};

use crate::{
    globals::RING_SHIFT,
    maps::{RECORDS, RING_HEADS},
};

/// Writes a record; `None` when there is no room.
#[inline(always)]
pub fn send(io: &Inflight, end_ns: u64, status: u32, cpu: u32) -> Option<()> {
    let shift = RING_SHIFT.load();
    let len = 1_u64 << shift;
    let head = RING_HEADS.get_ptr_mut(cpu)?;
    // SAFETY: pointers into a map value; a word each.
    let (produced, consumed) = unsafe {
        (
            read_volatile(&raw const (*head).produced),
            read_volatile(&raw const (*head).consumed),
        )
    };
    if produced.wrapping_sub(consumed) >= len - RING_MARGIN {
        return None;
    }
    // Claimed by an atomic operation: an interrupt on this CPU may do the same.
    // SAFETY: as above.
    let at = unsafe {
        atomic_xadd::<u64, u64, { AtomicOrdering::SeqCst }>(&raw mut (*head).produced, 1)
    };
    let record = RECORDS.get_ptr_mut((cpu << shift) + (at & (len - 1)) as u32)?;
    // SAFETY: a pointer into a map value; the place is ours until the last store. The reader
    // takes the record when it sees that one, which on x86 is after the others.
    unsafe {
        (*record).start_ns = io.start_ns;
        (*record).issue_ns = io.issue_ns;
        (*record).end_ns = end_ns;
        (*record).place = place::pack(io.sector, status);
        (*record).bytes = io.bytes;
        (*record).disk = io.disk;
        (*record).origin = io.origin;
        (*record).comm[0] = io.comm[0];
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::Release);
        write_volatile(
            &raw mut (*record).comm[1],
            io.comm[1] | round(at, shift) << ROUND_SHIFT,
        );
    }
    Some(())
}

//! Which disks are traced. Comes before any other work: for a disk that is not traced it costs
//! a few loads and one cache line.

use tracer_common::{DiskId, FILTER_WAYS, filter_bucket};

use crate::maps::FILTER;

/// The identity of a traced disk by its [`tracer_common::disk_number`], `None` for every other.
#[inline(always)]
pub fn traced(number: u64) -> Option<DiskId> {
    let bucket = FILTER.get_ptr(filter_bucket(number))?;
    for way in 0..FILTER_WAYS as usize {
        // SAFETY: `way` is inside the bucket, which lives as long as the map. The user half
        // writes the identity last and clears it first, so a half-written slot reads as 0.
        let slot = unsafe { &raw const (*bucket)[way] };
        // SAFETY: as above.
        if unsafe { (*slot).number } == number {
            // SAFETY: as above.
            let id = unsafe { core::ptr::read_volatile(&raw const (*slot).disk) };
            if id != 0 {
                return Some(DiskId(id));
            }
        }
    }
    None
}

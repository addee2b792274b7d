//! Which disks are traced. Comes before any other work: for a disk that is not traced it costs
//! a few loads and one cache line.

use tracer_common::{DiskId, FILTER_WAYS, filter_bucket};

use crate::{kernel::DiskNumber, maps::FILTER};

/// The identity of a traced disk, `None` for every other.
#[inline(always)]
pub fn traced(disk: DiskNumber) -> Option<DiskId> {
    let bucket = FILTER.get_ptr(filter_bucket(disk.major, disk.first_minor))?;
    for way in 0..FILTER_WAYS as usize {
        // SAFETY: `way` is inside the bucket, which lives as long as the map. The user half
        // writes the identity last and clears it first, so a half-written slot reads as 0.
        let slot = unsafe { &raw const (*bucket)[way] };
        // SAFETY: as above.
        let (major, first_minor) = unsafe { ((*slot).major, (*slot).first_minor) };
        if major == disk.major && first_minor == disk.first_minor {
            // SAFETY: as above.
            let id = unsafe { core::ptr::read_volatile(&raw const (*slot).disk) };
            if id != 0 {
                return Some(DiskId(id));
            }
        }
    }
    None
}

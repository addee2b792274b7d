//! Set-associative table in two arrays: addresses in buckets of eight, a cache line each, and one
//! cache line a slot for what is known of the I/O. A slot is claimed by a compare-and-exchange of
//! its address from 0 and freed by storing 0.
//!
//! Against a BPF hash map this saves a helper call, a lock and an allocation each way.

use core::intrinsics::{AtomicOrdering, atomic_cxchg};
use core::ptr::{read_volatile, write_volatile};

use tracer_common::{INFLIGHT_SLOTS, INFLIGHT_WAYS, Inflight, inflight_bucket};

use super::Place;
use crate::{
    kernel::Address,
    maps::{INFLIGHT, INFLIGHT_KEYS, KeyBucket},
};

const WAYS: usize = INFLIGHT_WAYS as usize;

/// A slot that holds the address.
pub struct Occupied {
    key: *mut u64,
    io: *mut Inflight,
}

/// A bucket that does not.
pub struct Vacant {
    address: u64,
    bucket: u32,
    keys: *mut KeyBucket,
}

#[inline(always)]
fn key(bucket: *mut KeyBucket, way: usize) -> *mut u64 {
    // SAFETY: `way` is inside the bucket, which lives as long as the map.
    unsafe { &raw mut (*bucket)[way] }
}

#[inline(always)]
fn entry(bucket: u32, way: usize) -> Option<*mut Inflight> {
    INFLIGHT.get_ptr_mut((bucket * INFLIGHT_WAYS + way as u32) & (INFLIGHT_SLOTS - 1))
}

#[inline(always)]
pub fn find(address: Address<'_>) -> Option<Place<Occupied, Vacant>> {
    let bucket = inflight_bucket(address.low_half());
    let address = address.typed();
    let keys = INFLIGHT_KEYS.get_ptr_mut(bucket)?;
    for way in 0..WAYS {
        let key = key(keys, way);
        // SAFETY: a pointer into a map value.
        if unsafe { read_volatile(key) } == address {
            let io = entry(bucket, way)?;
            return Some(Place::Occupied(Occupied { key, io }));
        }
    }
    Some(Place::Vacant(Vacant {
        address,
        bucket,
        keys,
    }))
}

impl super::Occupied for Occupied {
    #[inline(always)]
    fn io(&self) -> *mut Inflight {
        self.io
    }

    /// The disk is cleared too: the user half, which reads the table meanwhile, takes a slot
    /// that is claimed again for empty until it is filled.
    ///
    /// A store and no exchange: on x86, the only architecture that the user half is built for,
    /// what was read before cannot be read after it.
    #[inline(always)]
    fn free(self) {
        // SAFETY: pointers into map values; the slot is ours until the second store.
        unsafe {
            write_volatile(&raw mut (*self.io).disk, 0);
            write_volatile(self.key, 0);
        }
    }
}

impl super::Vacant for Vacant {
    #[inline(always)]
    fn fill(self, io: impl FnOnce() -> Inflight) -> bool {
        for way in 0..WAYS {
            let key = key(self.keys, way);
            // SAFETY: a pointer into a map value.
            if unsafe { read_volatile(key) } != 0 {
                continue;
            }
            // SAFETY: as above.
            let (_, claimed) = unsafe {
                atomic_cxchg::<u64, { AtomicOrdering::SeqCst }, { AtomicOrdering::SeqCst }>(
                    key,
                    0,
                    self.address,
                )
            };
            if claimed {
                if let Some(entry) = entry(self.bucket, way) {
                    // SAFETY: as above; the slot is ours now.
                    unsafe { entry.write(io()) };
                }
                return true;
            }
        }
        false
    }
}

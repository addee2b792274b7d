//! Set-associative table in two arrays: addresses in buckets of eight, a cache line each, and one
//! cache line a slot for what is known of the I/O. A slot is claimed by a compare-and-exchange of
//! its address from 0 and freed by an exchange back.
//!
//! Against a BPF hash map this saves a helper call, a lock and an allocation each way.

use core::intrinsics::{AtomicOrdering, atomic_cxchg, atomic_xchg};
use tracer_common::{INFLIGHT_SLOTS, INFLIGHT_WAYS, Inflight, inflight_bucket};

use super::{Inserted, Table};
use crate::maps::{INFLIGHT, INFLIGHT_KEYS, KeyBucket};

/// The table of kernels from 5.12 on.
pub struct Slots;

const WAYS: usize = INFLIGHT_WAYS as usize;

#[inline(always)]
fn key(bucket: *mut KeyBucket, way: usize) -> *mut u64 {
    // SAFETY: `way` is inside the bucket, which lives as long as the map.
    unsafe { &raw mut (*bucket)[way] }
}

#[inline(always)]
fn entry(bucket: u32, way: usize) -> Option<*mut Inflight> {
    INFLIGHT.get_ptr_mut((bucket * INFLIGHT_WAYS + way as u32) & (INFLIGHT_SLOTS - 1))
}

/// The bucket's keys and the way that holds an address.
#[inline(always)]
fn find(address: u64) -> Option<(*mut u64, *mut Inflight)> {
    let bucket = inflight_bucket(address);
    let keys = INFLIGHT_KEYS.get_ptr_mut(bucket)?;
    for way in 0..WAYS {
        let key = key(keys, way);
        // SAFETY: a pointer into a map value.
        if unsafe { core::ptr::read_volatile(key) } == address {
            return Some((key, entry(bucket, way)?));
        }
    }
    None
}

impl Table for Slots {
    const LOGS: bool = true;

    #[inline(always)]
    fn insert(&self, address: u64, io: &Inflight) -> Inserted {
        if let Some((_, entry)) = find(address) {
            // SAFETY: a pointer into a map value; nobody else works on this address.
            unsafe { entry.write(*io) };
            return Inserted::Overwrote;
        }
        let bucket = inflight_bucket(address);
        let Some(keys) = INFLIGHT_KEYS.get_ptr_mut(bucket) else {
            return Inserted::Full;
        };
        for way in 0..WAYS {
            let key = key(keys, way);
            // SAFETY: a pointer into a map value.
            if unsafe { core::ptr::read_volatile(key) } != 0 {
                continue;
            }
            // SAFETY: as above.
            let (_, claimed) = unsafe {
                atomic_cxchg::<u64, { AtomicOrdering::SeqCst }, { AtomicOrdering::SeqCst }>(
                    key, 0, address,
                )
            };
            if claimed {
                if let Some(entry) = entry(bucket, way) {
                    // SAFETY: as above; the slot is ours now.
                    unsafe { entry.write(*io) };
                }
                return Inserted::New;
            }
        }
        Inserted::Full
    }

    #[inline(always)]
    fn get(&self, address: u64) -> Option<*mut Inflight> {
        find(address).map(|(_, entry)| entry)
    }

    #[inline(always)]
    fn remove(&self, address: u64, use_entry: impl FnOnce(&Inflight)) -> bool {
        let Some((key, entry)) = find(address) else {
            return false;
        };
        // SAFETY: a pointer into a map value; nobody else works on this address.
        use_entry(unsafe { &*entry });
        // An exchange, not a store: what was read must be read before the slot is free.
        // SAFETY: as above.
        unsafe { atomic_xchg::<u64, { AtomicOrdering::SeqCst }>(key, 0) };
        true
    }
}

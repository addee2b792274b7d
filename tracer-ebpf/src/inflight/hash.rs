//! BPF hash map, for kernels before 5.12.

use tracer_common::Inflight;

use super::{Inserted, Table};
use crate::maps::INFLIGHT_HASH;

/// The table of kernels before 5.12.
pub struct Hash;

impl Table for Hash {
    const LOGS: bool = false;

    #[inline(always)]
    fn insert(&self, address: u64, io: &Inflight) -> Inserted {
        if let Some(entry) = INFLIGHT_HASH.get_ptr_mut(address) {
            // SAFETY: a pointer into a map value; nobody else works on this address.
            unsafe { entry.write(*io) };
            return Inserted::Overwrote;
        }
        match INFLIGHT_HASH.insert(address, io, 0) {
            Ok(()) => Inserted::New,
            Err(_) => Inserted::Full,
        }
    }

    #[inline(always)]
    fn get(&self, address: u64) -> Option<*mut Inflight> {
        INFLIGHT_HASH.get_ptr_mut(address)
    }

    #[inline(always)]
    fn remove(&self, address: u64, use_entry: impl FnOnce(&Inflight)) -> bool {
        let Some(entry) = INFLIGHT_HASH.get_ptr(address) else {
            return false;
        };
        // SAFETY: a pointer into a map value; nobody else works on this address.
        use_entry(unsafe { &*entry });
        let _ = INFLIGHT_HASH.remove(address);
        true
    }
}

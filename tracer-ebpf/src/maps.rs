//! Every map. The big arrays are mmapable: the user half reads them without a system call an
//! entry, and their values start on a page, so that a 64-byte value is a cache line.
//!
//! The user half shrinks the maps that are not used on its kernel.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    macros::map,
    maps::{Array, HashMap, RingBuf},
};
use tracer_common::{
    CALL_SLOTS, DiskCounters, FILTER_BUCKETS, FILTER_WAYS, FilterSlot, INFLIGHT_BUCKETS,
    INFLIGHT_SLOTS, INFLIGHT_WAYS, Inflight, IoRecord, RingHead, names::HOOKS,
};

/// A bucket of the disk filter.
pub type FilterBucket = [FilterSlot; FILTER_WAYS as usize];
/// A bucket of the in-flight table's addresses; 0 is a free slot.
pub type KeyBucket = [u64; INFLIGHT_WAYS as usize];

#[map]
pub static FILTER: Array<FilterBucket> = Array::with_max_entries(FILTER_BUCKETS, BPF_F_MMAPABLE);

#[map]
pub static INFLIGHT_KEYS: Array<KeyBucket> =
    Array::with_max_entries(INFLIGHT_BUCKETS, BPF_F_MMAPABLE);

#[map]
pub static INFLIGHT: Array<Inflight> = Array::with_max_entries(INFLIGHT_SLOTS, BPF_F_MMAPABLE);

/// What each task last did in each of the hooks that ask, by the task's number: the address of the
/// bio or request while its call lasts. For copies of hooks only.
#[map]
pub static CALLS: Array<[u64; 4]> = Array::with_max_entries(CALL_SLOTS, 0);

/// Calls that copies of a hook did the work of, by CPU and hook; the user half sizes it. For
/// copies of hooks only.
#[map]
pub static RESCUED: Array<[u64; HOOKS]> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Kernels before 5.12 only.
#[map]
pub static INFLIGHT_HASH: HashMap<u64, Inflight> = HashMap::with_max_entries(INFLIGHT_SLOTS, 0);

/// `cpu * DISK_SLOTS + slot`; the user half sizes it. A plain array by CPU instead of a per-CPU
/// one: its lookup is inlined on every kernel.
#[map]
pub static COUNTERS: Array<DiskCounters> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// The rings, one after the other, CPU by CPU; the user half sizes it.
#[map]
pub static RECORDS: Array<IoRecord> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// By CPU; the user half sizes it.
#[map]
pub static RING_HEADS: Array<RingHead> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Kernels before 5.12 only; the user half sets the size.
#[map]
pub static SHARED_RING: RingBuf = RingBuf::with_byte_size(16 * 1024 * 1024, 0);

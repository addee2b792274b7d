//! The one record an I/O, and exact counters of what has none.

use aya_ebpf::helpers::{bpf_get_smp_processor_id, bpf_ktime_get_ns};
use core::intrinsics::{AtomicOrdering, atomic_xadd};
use tracer_common::{DiskCounters, DiskId, Inflight, OpClass, record::origin};

use crate::{globals::DISK_SLOTS, maps::COUNTERS, platform::Platform};

/// This CPU's counters of a disk.
#[derive(Clone, Copy)]
pub struct Counters(*mut DiskCounters);

impl Counters {
    #[inline(always)]
    pub fn of(disk: DiskId, cpu: u32) -> Option<Self> {
        let slots = DISK_SLOTS.load();
        if disk.slot() >= slots {
            return None;
        }
        COUNTERS.get_ptr_mut(cpu * slots + disk.slot()).map(Self)
    }

    /// This CPU's counters of a disk, for the rare paths.
    #[inline(always)]
    pub fn here(disk: DiskId) -> Option<Self> {
        Self::of(disk, cpu())
    }

    #[inline(always)]
    pub fn submitted(self) {
        // SAFETY: the value lives as long as the map.
        add(unsafe { &raw mut (*self.0).submitted }, 1);
    }

    #[inline(always)]
    pub fn not_tracked(self) {
        // SAFETY: as above.
        add(unsafe { &raw mut (*self.0).not_tracked }, 1);
    }

    /// Whether no submission of the disk was refused on this CPU yet.
    #[inline(always)]
    pub fn is_first_refusal(self) -> bool {
        // SAFETY: as above.
        unsafe { core::ptr::read_volatile(&raw const (*self.0).not_tracked) == 0 }
    }

    #[inline(always)]
    pub fn without_start(self) {
        // SAFETY: as above.
        add(unsafe { &raw mut (*self.0).without_start }, 1);
    }

    #[inline(always)]
    pub fn overwritten(self) {
        // SAFETY: as above.
        add(unsafe { &raw mut (*self.0).overwritten }, 1);
    }

    /// Counts an I/O whose record found no room.
    #[inline(always)]
    fn lost(self, opf: u32, bytes: u32, failed: bool) {
        let class = OpClass::of(opf, bytes) as usize;
        // SAFETY: as above; a class is below 5, the length of both arrays.
        unsafe {
            add(&raw mut (*self.0).ring_lost, 1);
            add(&raw mut (*self.0).count[class], 1);
            add(&raw mut (*self.0).bytes[class], u64::from(bytes));
            if failed {
                add(&raw mut (*self.0).errors, 1);
            }
        }
    }
}

/// Adds without losing an update to an interrupt on the same CPU. Relaxed and without a use of
/// the old value it is `BPF_ADD` without `BPF_FETCH`, which 5.10 knows too.
#[inline(always)]
pub fn add(counter: *mut u64, value: u64) {
    // SAFETY: the callers pass a pointer into a map value.
    unsafe { atomic_xadd::<u64, u64, { AtomicOrdering::Relaxed }>(counter, value) };
}

#[inline(always)]
pub fn cpu() -> u32 {
    // SAFETY: helper without arguments.
    unsafe { bpf_get_smp_processor_id() as u32 }
}

#[inline(always)]
pub fn now_ns() -> u64 {
    // SAFETY: helper without arguments.
    unsafe { bpf_ktime_get_ns() }
}

/// Sends the record of a completed I/O, or counts it.
#[inline(always)]
pub fn completed<P: Platform>(io: &Inflight, end_ns: u64, status: u32) {
    let cpu = cpu();
    if P::send(io, end_ns, status, cpu) {
        return;
    }
    if let Some(counters) = Counters::of(DiskId(io.disk), cpu) {
        counters.lost(origin::opf(io.origin), io.bytes, status != 0);
    }
}

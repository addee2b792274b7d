//! The I/Os in flight, by the address of their bio or request.
//!
//! Two tables behind one trait: [`slots`] for kernels from 5.12 on, [`hash`] for older ones,
//! whose loader refuses an atomic compare-and-exchange even in dead code.

pub mod hash;
pub mod slots;

use aya_ebpf::{
    helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid},
    programs::BtfTracePointContext,
};
use aya_log_ebpf::warn;
use tracer_common::{COMM_LEN, DiskId, Inflight};

use crate::emit::Counters;

/// What became of an insertion.
pub enum Inserted {
    /// Into a free slot.
    New,
    /// Over an entry of the same address, whose completion was never seen.
    Overwrote,
    /// No room.
    Full,
}

/// A table of I/Os in flight. At most one hook works on one address at a time, since the block
/// layer hands a bio or request from one owner to the next.
pub trait Table {
    /// Whether its kernels take the programs with logging in them; those before 5.12 are spared
    /// what they need not verify.
    const LOGS: bool;

    /// Inserts an I/O, over an entry of the same address if there is one.
    fn insert(&self, address: u64, io: &Inflight) -> Inserted;

    /// The entry of an address.
    fn get(&self, address: u64) -> Option<*mut Inflight>;

    /// Hands the entry of an address to `use_entry` and then frees it; false without one.
    fn remove(&self, address: u64, use_entry: impl FnOnce(&Inflight)) -> bool;
}

/// The present task.
pub struct Submitter {
    pub tgid: u32,
    pub tid: u32,
    pub comm: [u8; COMM_LEN],
}

impl Submitter {
    #[inline(always)]
    pub fn current() -> Self {
        let pid_tgid = bpf_get_current_pid_tgid();
        Self {
            tgid: (pid_tgid >> 32) as u32,
            tid: pid_tgid as u32,
            comm: bpf_get_current_comm().unwrap_or([0; COMM_LEN]),
        }
    }
}

/// Inserts, and counts what that displaced or could not do. The first refusal of a disk on a
/// CPU is logged, where the table's kernels can log.
#[inline(always)]
pub fn insert<T: Table>(
    ctx: &BtfTracePointContext,
    table: &T,
    disk: DiskId,
    address: u64,
    io: &Inflight,
) {
    let inserted = table.insert(address, io);
    if matches!(inserted, Inserted::New) {
        return;
    }
    let Some(counters) = Counters::here(disk) else {
        return;
    };
    match inserted {
        Inserted::New => {}
        Inserted::Overwrote => counters.overwritten(),
        Inserted::Full => {
            if T::LOGS && counters.is_first_refusal() {
                warn!(
                    ctx,
                    "the table of I/Os in flight is full: disk {}",
                    disk.slot()
                );
            }
            counters.not_tracked();
        }
    }
}

//! What differs between kernels from 5.12 on ([`current`]) and older ones ([`legacy`]): how I/Os
//! in flight are kept, who the submitter is, and how records get out.
//!
//! The loader of a kernel before 5.12 refuses the atomic operations that the newer way stands
//! on even in dead code, so each program exists twice and the user half loads one of the two.

pub mod current;
pub mod legacy;
mod rings;
mod slots;

use aya_ebpf::programs::BtfTracePointContext;
use aya_log_ebpf::warn;
use tracer_common::{DiskId, Inflight, record::CommWords};

use crate::{emit::Counters, kernel::Address};

/// A kind of kernel.
pub trait Platform {
    /// Whether its kernels take the programs with logging in them; those before 5.12 are spared
    /// what they need not verify.
    const LOGS: bool;
    /// Whether its kernels may need copies of the hooks.
    const HAS_COPIES: bool;
    /// An entry of the table of I/Os in flight.
    type Occupied: Occupied;
    /// Room for one.
    type Vacant: Vacant;

    /// Looks an address up. At most one hook works on one address at a time, since the block
    /// layer hands a bio or request from one owner to the next. `None` when there is no table.
    fn find(address: Address<'_>) -> Option<Place<Self::Occupied, Self::Vacant>>;

    /// The present task.
    fn submitter() -> Submitter;

    /// Sends a record on this CPU; false when there is no room for it.
    fn send(io: &Inflight, end_ns: u64, status: u32, cpu: u32) -> bool;
}

/// Where an address belongs in the table of I/Os in flight.
pub enum Place<O, V> {
    Occupied(O),
    Vacant(V),
}

/// An entry of the table.
pub trait Occupied {
    /// A pointer into a map value.
    fn io(&self) -> *mut Inflight;
    /// Makes room; the entry must not be used any more.
    fn free(self);
}

/// Room in the table.
pub trait Vacant {
    /// Fills it; false when another I/O took the last of it.
    fn fill(self, io: impl FnOnce() -> Inflight) -> bool;
}

/// The present task.
pub struct Submitter {
    pub tgid: u32,
    pub tid: u32,
    pub comm: CommWords,
}

/// The entry of an address.
#[inline(always)]
pub fn entry<P: Platform>(address: Address<'_>) -> Option<P::Occupied> {
    match P::find(address)? {
        Place::Occupied(occupied) => Some(occupied),
        Place::Vacant(_) => None,
    }
}

/// Fills the place, and counts what that displaced or could not do. The first refusal of a disk
/// on a CPU is logged, where the kernels can log.
#[inline(always)]
pub fn insert<P: Platform>(
    ctx: &BtfTracePointContext,
    disk: DiskId,
    place: Option<Place<P::Occupied, P::Vacant>>,
    io: impl FnOnce() -> Inflight,
) {
    match place {
        Some(Place::Occupied(occupied)) => {
            // SAFETY: a pointer into a map value; nobody else works on this address.
            unsafe { occupied.io().write(io()) };
            if let Some(counters) = Counters::here(disk) {
                counters.overwritten();
            }
        }
        Some(Place::Vacant(vacant)) => {
            if !vacant.fill(io) {
                refused::<P>(ctx, disk);
            }
        }
        None => refused::<P>(ctx, disk),
    }
}

#[inline(always)]
fn refused<P: Platform>(ctx: &BtfTracePointContext, disk: DiskId) {
    let Some(counters) = Counters::here(disk) else {
        return;
    };
    if P::LOGS && counters.is_first_refusal() {
        warn!(
            ctx,
            "the table of I/Os in flight is full: disk {}",
            disk.slot()
        );
    }
    counters.not_tracked();
}

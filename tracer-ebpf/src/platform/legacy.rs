//! Kernels before 5.12: a BPF hash map, helpers, and a BPF ring buffer.

use aya_ebpf::helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid};
use tracer_common::{Inflight, IoRecord, SharedRecord, record::place};

use super::{Place, Platform, Submitter};
use crate::{
    kernel::Address,
    maps::{INFLIGHT_HASH, SHARED_RING},
};

/// Kernels before 5.12.
pub struct Legacy;

/// An entry of the hash map.
pub struct Occupied {
    address: u64,
    io: *mut Inflight,
}

/// An address that is not in the hash map.
pub struct Vacant {
    address: u64,
}

/// The ring's consumer looks at it every few milliseconds; a wake-up an I/O would cost more
/// than all the rest (`BPF_RB_NO_WAKEUP`).
const NO_WAKEUP: u64 = 1;

impl Platform for Legacy {
    const LOGS: bool = false;
    const HAS_COPIES: bool = false;
    type Occupied = Occupied;
    type Vacant = Vacant;

    #[inline(always)]
    fn find(address: Address<'_>) -> Option<Place<Self::Occupied, Self::Vacant>> {
        let address = address.number()?;
        Some(match INFLIGHT_HASH.get_ptr_mut(address) {
            Some(io) => Place::Occupied(Occupied { address, io }),
            None => Place::Vacant(Vacant { address }),
        })
    }

    #[inline(always)]
    fn submitter() -> Submitter {
        let pid_tgid = bpf_get_current_pid_tgid();
        let comm = bpf_get_current_comm().unwrap_or_default();
        Submitter {
            tgid: (pid_tgid >> 32) as u32,
            tid: pid_tgid as u32,
            // SAFETY: 16 bytes as two words; the record keeps their order in memory.
            comm: unsafe { core::mem::transmute::<[u8; 16], [u64; 2]>(comm) },
        }
    }

    #[inline(always)]
    fn send(io: &Inflight, end_ns: u64, status: u32, cpu: u32) -> bool {
        let Some(mut entry) = SHARED_RING.reserve::<SharedRecord>(0) else {
            return false;
        };
        entry.write(SharedRecord {
            io: IoRecord {
                start_ns: io.start_ns,
                issue_ns: io.issue_ns,
                end_ns,
                place: place::pack(io.sector, status),
                bytes: io.bytes,
                disk: io.disk,
                origin: io.origin,
                comm: io.comm,
            },
            cpu: cpu as u16,
            reserved: [0; 3],
        });
        entry.submit(NO_WAKEUP);
        true
    }
}

impl super::Occupied for Occupied {
    #[inline(always)]
    fn io(&self) -> *mut Inflight {
        self.io
    }

    #[inline(always)]
    fn free(self) {
        let _ = INFLIGHT_HASH.remove(self.address);
    }
}

impl super::Vacant for Vacant {
    #[inline(always)]
    fn fill(self, io: impl FnOnce() -> Inflight) -> bool {
        INFLIGHT_HASH.insert(self.address, io(), 0).is_ok()
    }
}

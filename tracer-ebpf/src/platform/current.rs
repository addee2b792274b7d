//! Kernels from 5.12 on.

use tracer_common::Inflight;

use super::{Place, Platform, Submitter, rings, slots};
use crate::kernel::{Address, Task};

/// Kernels from 5.12 on.
pub struct Current;

impl Platform for Current {
    const LOGS: bool = true;
    const HAS_COPIES: bool = true;
    type Occupied = slots::Occupied;
    type Vacant = slots::Vacant;

    #[inline(always)]
    fn find(address: Address<'_>) -> Option<Place<Self::Occupied, Self::Vacant>> {
        slots::find(address)
    }

    /// Loads from the task: against `bpf_get_current_pid_tgid` and `bpf_get_current_comm` it
    /// saves two calls and a `strscpy_pad`.
    #[inline(always)]
    fn submitter() -> Submitter {
        let task = Task::current();
        Submitter {
            tgid: task.tgid(),
            tid: task.tid(),
            comm: task.comm(),
        }
    }

    #[inline(always)]
    fn send(io: &Inflight, end_ns: u64, status: u32, cpu: u32) -> bool {
        rings::send(io, end_ns, status, cpu).is_some()
    }
}

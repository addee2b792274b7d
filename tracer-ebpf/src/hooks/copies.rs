//! Copies of a hook, for kernels that skip programs.
//!
//! From 7.0 on a task can be preempted inside a program on a tracepoint (include/linux/tracepoint.h
//! guards the call by `srcu_fast_notrace`, no longer by `preempt_notrace`), and until it runs again
//! the kernel skips that program for every other task on that CPU (`bpf_prog_get_recursion_context`
//! in `__bpf_trace_run`, kernel/trace/bpf_trace.c). Holding preemption off inside a program is of
//! no use: what is pending happens when it is given back, still inside. So the user half attaches
//! copies of each hook there. A copy has the same body and a recursion counter of its own, is
//! called after the one before by the same task, and does the work when all before it were
//! skipped. The work is missed only when every copy is skipped.
//!
//! What a copy knows of those before it:
//!
//! - **Submissions and issues** ([`is_first`]) happen in tasks, and a task is in one call of a
//!   hook at a time. So whoever comes first in a call writes the address into its task's slot of
//!   [`CALLS`]; the copies after it find it there and do nothing; the last clears it. Where the
//!   last was skipped the address stays, and misleads if the task's next call of that hook is of
//!   the same address and skips the first again: nobody works then, and the call is lost. Two
//!   tasks share a slot when their numbers are equal modulo 65,536; when both are in the same hook
//!   at once, a copy may do the work again.
//! - **Completions** ([`rescued`]) may interrupt each other, so that a task's slot would not do.
//!   But a bio or request is its owner's until the tracepoint returns: between two copies of one
//!   call no other hook works on its address, and the address cannot be used again. A completion
//!   frees the entry of its I/O and changes nothing else, so a copy that finds the entry was
//!   preceded by none that ran. A completion that leaves the entry (a part, or data whose flush is
//!   awaited) changes nothing at all, and doing it again is nothing. A copy that finds no entry
//!   cannot tell why, so only the first counts a completion without a start.
//! - **Requeues** set a mark; doing it again is nothing.
//!
//! Each copy that did what the ones before it were skipped for is counted by [`rescued`], and only
//! those: calls that the first was skipped for, less these, are what was lost. Completions of
//! disks that are not traced cannot be told and stay among them, so that is a bound from above.

use core::ptr::{read_volatile, write_volatile};

use tracer_common::CALL_SLOTS;

use crate::{
    emit,
    globals::LAST_COPY,
    kernel::{Address, Task},
    maps::{CALLS, RESCUED},
    platform::Platform,
};

pub use tracer_common::names::Hook;

/// Whether no copy before this one ran in this call: to be asked first, once, by each.
#[inline(always)]
pub fn is_first<P: Platform, const COPY: u32>(hook: Hook, address: Address<'_>) -> bool {
    if !P::HAS_COPIES || LAST_COPY.load() == 0 {
        return true;
    }
    let Some(slots) = CALLS.get_ptr_mut(Task::current().tid() & (CALL_SLOTS - 1)) else {
        return COPY == 0;
    };
    // SAFETY: a pointer into a map value, which has a place for each hook that asks.
    let slot = unsafe { &raw mut (*slots)[hook as usize] };
    // SAFETY: as above.
    let is_done = COPY != 0 && unsafe { read_volatile(slot) } == address.typed();
    if LAST_COPY.load() == COPY {
        // SAFETY: as above.
        unsafe { write_volatile(slot, 0) };
    } else if !is_done {
        // SAFETY: as above.
        unsafe { write_volatile(slot, address.typed()) };
    }
    if COPY != 0 && !is_done {
        rescued::<COPY>(hook);
    }
    !is_done
}

/// Counts a call whose work this copy did since all before it were skipped.
#[inline(always)]
pub fn rescued<const COPY: u32>(hook: Hook) {
    if COPY == 0 {
        return;
    }
    if let Some(counts) = RESCUED.get_ptr_mut(emit::cpu()) {
        // SAFETY: a pointer into a map value, which has a place for each hook.
        emit::add(unsafe { &raw mut (*counts)[hook as usize] }, 1);
    }
}

/// The time of a completion.
///
/// The first copy, which nearly always has work to do, reads the clock before it looks into the
/// table: the clock waits for the loads before it, which then are few. A later one reads it only
/// when there is work.
pub struct Moment<const COPY: u32>(u64);

impl<const COPY: u32> Moment<COPY> {
    #[inline(always)]
    pub fn begin() -> Self {
        Self(if COPY == 0 { emit::now_ns() } else { 0 })
    }

    #[inline(always)]
    pub fn ns(self) -> u64 {
        if COPY == 0 { self.0 } else { emit::now_ns() }
    }
}

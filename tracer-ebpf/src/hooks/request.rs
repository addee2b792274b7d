//! blk-mq disks: one I/O is one request, from `block_rq_insert` (skipped on direct issue) over
//! `block_rq_issue` to the `block_rq_complete` that completes its last byte.
//!
//! Three things make a request more than a pair of events (block/blk-flush.c, block/blk-mq.c):
//! - It may be requeued and inserted or issued again; the first issue counts.
//! - Its completion may come in parts; the request is done with the one that covers what remains.
//! - The flush machinery: a bare flush bio gets a request that is neither inserted nor issued
//!   and completes with zero bytes, while an internal request with operation `FLUSH` does the
//!   work; it is counted once, by the bio that `block_bio_queue` saw. A write with data and
//!   `PREFLUSH`, or with `FUA` on a disk that cannot do it, completes its data first and is
//!   closed by a second completion of zero bytes, after the flush.

use aya_ebpf::programs::BtfTracePointContext;
use tracer_common::{
    DiskId, Inflight, flag, op,
    record::{mark, origin, place},
};

use crate::{
    emit::{self, Counters},
    filter,
    hooks::copies::{self, Hook, Moment},
    kernel::Request,
    platform::{self, Occupied as _, Place, Platform},
};

/// Operations from here on are passthrough commands (`REQ_OP_SCSI_IN`, `REQ_OP_DRV_IN`...).
const FIRST_PASSTHROUGH_OP: u32 = 32;

const DURABLE: u32 = flag::PREFLUSH | flag::FUA;

/// Whether a request is the flush machinery's own, or no I/O on sectors.
#[inline(always)]
fn is_internal(cmd_flags: u32) -> bool {
    let op = cmd_flags & op::MASK;
    op == op::FLUSH || op >= FIRST_PASSTHROUGH_OP
}

/// A new entry for a request that is submitted now.
#[inline(always)]
fn submission<P: Platform>(
    request: &Request<'_>,
    disk: DiskId,
    cmd_flags: u32,
    now_ns: u64,
    issue_ns: u64,
) -> Inflight {
    let submitter = P::submitter();
    let allocated_ns = request.start_time_ns();
    let submitted_flags = request.bio_opf() & flag::KNOWN;
    let cleared = submitted_flags & !cmd_flags & DURABLE;
    Inflight {
        start_ns: if allocated_ns == 0 {
            now_ns
        } else {
            allocated_ns
        },
        issue_ns,
        sector: request.sector(),
        bytes: request.bytes(),
        disk: disk.0,
        origin: origin::pack(cmd_flags | submitted_flags, submitter.tgid, submitter.tid),
        marks: if cleared == 0 {
            0
        } else {
            mark::CLOSED_BY_FLUSH
        },
        comm: submitter.comm,
    }
}

/// `block_rq_insert`.
#[inline(always)]
pub fn insert<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let request = Request::submitted(ctx);
    if !copies::is_first::<P, COPY>(Hook::RqInsert, request.address()) {
        return;
    }
    let Some((disk, cmd_flags)) = of_interest(&request) else {
        return;
    };
    let now_ns = emit::now_ns();
    let found = P::find(request.address());
    if let Some(Place::Occupied(entry)) = &found {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        if unsafe { (*entry.io()).marks } & mark::REQUEUED != 0 {
            return;
        }
    }
    platform::insert::<P>(ctx, disk, found, || {
        submission::<P>(&request, disk, cmd_flags, now_ns, 0)
    });
}

/// `block_rq_issue`.
#[inline(always)]
pub fn issue<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let request = Request::submitted(ctx);
    if !copies::is_first::<P, COPY>(Hook::RqIssue, request.address()) {
        return;
    }
    let Some((disk, cmd_flags)) = of_interest(&request) else {
        return;
    };
    let now_ns = emit::now_ns();
    let found = P::find(request.address());
    if let Some(Place::Occupied(entry)) = &found {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        let io = unsafe { &mut *entry.io() };
        if io.issue_ns == 0 {
            // The request may have grown by merges since its insertion.
            io.issue_ns = now_ns;
            io.sector = request.sector();
            io.bytes = request.bytes();
            io.marks &= !mark::REQUEUED;
            return;
        }
        if io.marks & mark::REQUEUED != 0 {
            io.marks &= !mark::REQUEUED;
            return;
        }
    }
    platform::insert::<P>(ctx, disk, found, || {
        submission::<P>(&request, disk, cmd_flags, now_ns, now_ns)
    });
}

/// `block_rq_requeue`.
#[inline(always)]
pub fn requeue<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let request = Request::submitted(ctx);
    if of_interest(&request).is_none() {
        return;
    }
    if let Some(entry) = platform::entry::<P>(request.address()) {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        let io = unsafe { &mut *entry.io() };
        if io.marks & mark::REQUEUED == 0 {
            io.marks |= mark::REQUEUED;
            copies::rescued::<COPY>(Hook::RqRequeue);
        }
    }
}

/// `block_rq_complete`.
#[inline(always)]
pub fn complete<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let request = Request::completed(ctx);
    let Some((disk, cmd_flags)) = of_interest(&request) else {
        return;
    };
    let moment = Moment::<COPY>::begin();
    let status = status(ctx.arg::<i32>(1));
    let nr_bytes: u32 = ctx.arg(2);
    if let Some(entry) = platform::entry::<P>(request.address()) {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        let io = unsafe { &*entry.io() };
        if status == 0 {
            // The size of a request is what remains of it: `blk_update_request` (block/blk-mq.c)
            // takes off what completes after it called the tracepoint.
            let is_part = nr_bytes < request.bytes();
            let awaits_flush = nr_bytes != 0 && io.marks & mark::CLOSED_BY_FLUSH != 0;
            if is_part || awaits_flush {
                return;
            }
        }
        emit::completed::<P>(io, moment.ns(), status);
        entry.free();
        copies::rescued::<COPY>(Hook::RqComplete);
        return;
    }
    let bio_opf = request.bio_opf();
    if nr_bytes == 0 && bio_opf & flag::PREFLUSH != 0 {
        if let Some(entry) = platform::entry::<P>(request.bio_address()) {
            // SAFETY: as above.
            emit::completed::<P>(unsafe { &*entry.io() }, moment.ns(), status);
            entry.free();
            copies::rescued::<COPY>(Hook::RqComplete);
            return;
        }
    } else if nr_bytes < request.bytes() || bio_opf & !cmd_flags & DURABLE != 0 {
        // A part of a request that started before tracing; its last part is counted.
        return;
    }
    if COPY == 0
        && let Some(counters) = Counters::here(disk)
    {
        counters.without_start();
    }
}

/// Filter and operation: what every hook needs first.
#[inline(always)]
fn of_interest(request: &Request<'_>) -> Option<(DiskId, u32)> {
    let disk = filter::traced(request.disk())?;
    let cmd_flags = request.cmd_flags();
    if !disk.is_blk_mq() || is_internal(cmd_flags) {
        return None;
    }
    Some((disk, cmd_flags))
}

/// Largest errno that a record holds; those above mean nothing outside the kernel.
const MOST_ERRNO: u32 = 511;

/// The tracepoint passes a negative errno on older kernels and a `blk_status_t` on newer ones.
#[inline(always)]
fn status(error: i32) -> u32 {
    if error < 0 {
        place::STATUS_IS_ERRNO | error.unsigned_abs().min(MOST_ERRNO)
    } else {
        error as u32 & 0xff
    }
}

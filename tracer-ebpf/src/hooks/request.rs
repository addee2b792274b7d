//! blk-mq disks: one I/O is one request, from `block_rq_insert` (skipped on direct issue) over
//! `block_rq_issue` to the `block_rq_complete` that completes its last byte.
//!
//! Three things make a request more than a pair of events (block/blk-flush.c, block/blk-mq.c):
//! - It may be requeued and inserted or issued again; the first issue counts.
//! - Its completion may come in parts; the request is done when they sum to its size.
//! - The flush machinery: a bare flush bio gets a request that is neither inserted nor issued
//!   and completes with zero bytes, while an internal request with operation `FLUSH` does the
//!   work; it is counted once, by the bio that `block_bio_queue` saw. A write with data and
//!   `PREFLUSH`, or with `FUA` on a disk that cannot do it, completes its data first and is
//!   closed by a second completion of zero bytes, after the flush.

use aya_ebpf::programs::BtfTracePointContext;
use tracer_common::{DATA_DONE, DiskId, ERROR_IS_ERRNO, Inflight, flag, mark, op};

use crate::{
    emit::{self, Counters},
    filter,
    inflight::{self, Submitter, Table},
    kernel::Request,
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
fn submission(request: &Request<'_>, disk: DiskId, cmd_flags: u32, now_ns: u64) -> Inflight {
    let submitter = Submitter::current();
    let allocated_ns = request.start_time_ns();
    let bio_opf = request.bio_opf();
    let submitted_flags = bio_opf & flag::KNOWN;
    let cleared = submitted_flags & !cmd_flags & DURABLE;
    Inflight {
        start_ns: if allocated_ns == 0 {
            now_ns
        } else {
            allocated_ns
        },
        issue_ns: 0,
        sector: request.sector(),
        bytes: request.bytes(),
        opf: cmd_flags
            | submitted_flags
            | if cleared == 0 {
                0
            } else {
                mark::CLOSED_BY_FLUSH
            },
        disk: disk.0,
        done_bytes: 0,
        tgid: submitter.tgid,
        tid: submitter.tid,
        comm: submitter.comm,
    }
}

/// `block_rq_insert`.
#[inline(always)]
pub fn insert(ctx: &BtfTracePointContext, table: &impl Table) {
    let request = Request::submitted(ctx);
    let Some((disk, cmd_flags, address)) = of_interest(&request) else {
        return;
    };
    if requeued(table, address).is_some() {
        return;
    }
    let io = submission(&request, disk, cmd_flags, emit::now_ns());
    inflight::insert(ctx, table, disk, address, &io);
}

/// `block_rq_issue`.
#[inline(always)]
pub fn issue(ctx: &BtfTracePointContext, table: &impl Table) {
    let request = Request::submitted(ctx);
    let Some((disk, cmd_flags, address)) = of_interest(&request) else {
        return;
    };
    let now_ns = emit::now_ns();
    if let Some(entry) = table.get(address) {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        let io = unsafe { &mut *entry };
        if io.issue_ns == 0 {
            // The request may have grown by merges since its insertion.
            io.issue_ns = now_ns;
            io.sector = request.sector();
            io.bytes = request.bytes();
            io.opf &= !mark::REQUEUED;
            return;
        }
        if io.opf & mark::REQUEUED != 0 {
            io.opf &= !mark::REQUEUED;
            return;
        }
    }
    let mut io = submission(&request, disk, cmd_flags, now_ns);
    io.issue_ns = now_ns;
    inflight::insert(ctx, table, disk, address, &io);
}

/// `block_rq_requeue`.
#[inline(always)]
pub fn requeue(ctx: &BtfTracePointContext, table: &impl Table) {
    let request = Request::submitted(ctx);
    let Some((_, _, address)) = of_interest(&request) else {
        return;
    };
    if let Some(entry) = table.get(address) {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        unsafe { (*entry).opf |= mark::REQUEUED };
    }
}

/// `block_rq_complete`.
#[inline(always)]
pub fn complete(ctx: &BtfTracePointContext, table: &impl Table) {
    let request = Request::completed(ctx);
    let Some((disk, cmd_flags, address)) = of_interest(&request) else {
        return;
    };
    let status = status(ctx.arg::<i32>(1));
    let nr_bytes: u32 = ctx.arg(2);
    if let Some(entry) = table.get(address) {
        // SAFETY: a pointer into a map value; nobody else works on this address.
        let io = unsafe { &mut *entry };
        if io.done_bytes != DATA_DONE && status == 0 {
            let done_bytes = io.done_bytes.saturating_add(nr_bytes);
            if done_bytes < io.bytes {
                io.done_bytes = done_bytes;
                return;
            }
            if io.opf & mark::CLOSED_BY_FLUSH != 0 {
                io.done_bytes = DATA_DONE;
                return;
            }
        }
        table.remove(address, |io| emit::completed(io, status));
        return;
    }
    let bio_opf = request.bio_opf();
    if nr_bytes == 0 && bio_opf & flag::PREFLUSH != 0 {
        let Some(bio) = request.bio_address() else {
            return;
        };
        if table.remove(bio, |io| emit::completed(io, status)) {
            return;
        }
    } else if nr_bytes < request.bytes() || bio_opf & !cmd_flags & DURABLE != 0 {
        // A part of a request that started before tracing; its last part is counted.
        return;
    }
    if let Some(counters) = Counters::here(disk) {
        counters.without_start();
    }
}

/// Filter, operation and address: what every hook needs first.
#[inline(always)]
fn of_interest(request: &Request<'_>) -> Option<(DiskId, u32, u64)> {
    let disk = filter::traced(request.disk())?;
    let cmd_flags = request.cmd_flags();
    if !disk.is_blk_mq() || is_internal(cmd_flags) {
        return None;
    }
    Some((disk, cmd_flags, request.address()?))
}

/// The entry of a request that was requeued, and only then.
#[inline(always)]
fn requeued(table: &impl Table, address: u64) -> Option<*mut Inflight> {
    let entry = table.get(address)?;
    // SAFETY: a pointer into a map value; nobody else works on this address.
    (unsafe { (*entry).opf } & mark::REQUEUED != 0).then_some(entry)
}

/// The tracepoint passes a negative errno on older kernels and a `blk_status_t` on newer ones.
#[inline(always)]
fn status(error: i32) -> u16 {
    if error < 0 {
        ERROR_IS_ERRNO | error.unsigned_abs() as u16
    } else {
        error as u16
    }
}

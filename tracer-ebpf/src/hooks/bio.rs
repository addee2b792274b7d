//! Bio-mode disks: one I/O is one bio, from `block_bio_queue` to `block_bio_complete`.
//!
//! Of a blk-mq disk only two things are taken here: the number of bios submitted, and bare
//! flushes, which have no request of their own to insert or issue (see [`super::request`]).

use aya_ebpf::programs::BtfTracePointContext;
use tracer_common::{DiskId, Inflight, flag};

use crate::{
    emit::{self, Counters},
    filter,
    inflight::{self, Submitter, Table},
    kernel::Bio,
};

/// `block_bio_queue`.
#[inline(always)]
pub fn queue(ctx: &BtfTracePointContext, table: &impl Table) {
    let bio = Bio::queued(ctx);
    let Some(disk) = filter::traced(bio.disk()) else {
        return;
    };
    if let Some(counters) = Counters::here(disk) {
        counters.submitted();
    }
    let (opf, bytes) = (bio.opf(), bio.bytes());
    if disk.is_blk_mq() && !(bytes == 0 && opf & flag::PREFLUSH != 0) {
        return;
    }
    let Some(address) = bio.address() else {
        return;
    };
    let submitter = Submitter::current();
    let io = Inflight {
        start_ns: emit::now_ns(),
        issue_ns: 0,
        sector: bio.sector(),
        bytes,
        opf,
        disk: disk.0,
        done_bytes: 0,
        tgid: submitter.tgid,
        tid: submitter.tid,
        comm: submitter.comm,
    };
    inflight::insert(ctx, table, disk, address, &io);
}

/// `block_bio_complete`.
#[inline(always)]
pub fn complete(ctx: &BtfTracePointContext, table: &impl Table) {
    let bio = Bio::completed(ctx);
    let Some(disk) = filter::traced(bio.disk()) else {
        return;
    };
    if disk.is_blk_mq() {
        return;
    }
    let Some(address) = bio.address() else {
        return;
    };
    let found = table.remove(address, |io| emit::completed(io, bio.status()));
    if !found {
        without_start(disk);
    }
}

#[inline(always)]
fn without_start(disk: DiskId) {
    if let Some(counters) = Counters::here(disk) {
        counters.without_start();
    }
}

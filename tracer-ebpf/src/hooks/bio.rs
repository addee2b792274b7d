//! Bio-mode disks: one I/O is one bio, from `block_bio_queue` to `block_bio_complete`.
//!
//! Of a blk-mq disk only two things are taken here: the number of bios submitted, and bare
//! flushes, which have no request of their own to insert or issue (see [`super::request`]).

use aya_ebpf::programs::BtfTracePointContext;
use tracer_common::{DiskId, Inflight, flag, record::origin};

use crate::{
    emit::{self, Counters},
    filter,
    hooks::copies::{self, Hook, Moment},
    kernel::Bio,
    platform::{self, Occupied as _, Platform},
};

/// `block_bio_queue`.
#[inline(always)]
pub fn queue<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let bio = Bio::queued(ctx);
    if !copies::is_first::<P, COPY>(Hook::BioQueue, bio.address()) {
        return;
    }
    let Some(disk) = filter::traced(bio.disk()) else {
        return;
    };
    let (opf, bytes) = (bio.opf(), bio.bytes());
    if disk.is_blk_mq() {
        if let Some(counters) = Counters::here(disk) {
            counters.submitted();
        }
        if bytes != 0 || opf & flag::PREFLUSH == 0 {
            return;
        }
    }
    // Read before the table is: it waits for the loads before it, which then are few.
    let start_ns = emit::now_ns();
    platform::insert::<P>(ctx, disk, P::find(bio.address()), || {
        let submitter = P::submitter();
        Inflight {
            start_ns,
            issue_ns: 0,
            sector: bio.sector(),
            bytes,
            disk: disk.0,
            origin: origin::pack(opf, submitter.tgid, submitter.tid),
            marks: 0,
            comm: submitter.comm,
        }
    });
}

/// `block_bio_complete`.
#[inline(always)]
pub fn complete<P: Platform, const COPY: u32>(ctx: &BtfTracePointContext) {
    let bio = Bio::completed(ctx);
    let Some(disk) = filter::traced(bio.disk()) else {
        return;
    };
    if disk.is_blk_mq() {
        return;
    }
    let moment = Moment::<COPY>::begin();
    match platform::entry::<P>(bio.address()) {
        Some(entry) => {
            // SAFETY: a pointer into a map value; nobody else works on this address.
            emit::completed::<P>(unsafe { &*entry.io() }, moment.ns(), bio.status());
            entry.free();
            copies::rescued::<COPY>(Hook::BioComplete);
        }
        None if COPY == 0 => without_start(disk),
        None => {}
    }
}

#[inline(always)]
fn without_start(disk: DiskId) {
    if let Some(counters) = Counters::here(disk) {
        counters.without_start();
    }
}

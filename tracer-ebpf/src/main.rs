//! Kernel half of zvoltrace: BTF tracepoint programs on the block layer.
//!
//! Owns what happens once an I/O: filter by disk, remember the submission, make one record at
//! the completion, count what could not be done. It decides nothing else: offsets, signatures
//! and the set of disks come from the user half as constants and map entries.
//!
//! Each program exists twice, once for each kind of kernel (see [`platform`]); the user half
//! loads one of the two.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch, core_intrinsics)]
#![allow(
    internal_features,
    reason = "stable atomics offer no compare-and-exchange for the BPF targets"
)]

mod emit;
mod filter;
mod globals;
mod hooks;
mod kernel;
mod maps;
mod platform;

use aya_ebpf::{macros::btf_tracepoint, programs::BtfTracePointContext};

use crate::{
    hooks::{bio, request},
    platform::{current::Current, legacy::Legacy},
};

/// Makes the two programs of one tracepoint.
macro_rules! programs {
    ($function:literal, $current:ident, $legacy:ident, $module:ident::$body:ident) => {
        #[btf_tracepoint(function = $function)]
        pub fn $current(ctx: BtfTracePointContext) -> i32 {
            $module::$body::<Current>(&ctx);
            0
        }

        #[btf_tracepoint(function = $function)]
        pub fn $legacy(ctx: BtfTracePointContext) -> i32 {
            $module::$body::<Legacy>(&ctx);
            0
        }
    };
}

programs!("block_bio_queue", bio_queue, bio_queue_hash, bio::queue);
programs!(
    "block_bio_complete",
    bio_complete,
    bio_complete_hash,
    bio::complete
);
programs!(
    "block_rq_insert",
    rq_insert,
    rq_insert_hash,
    request::insert
);
programs!("block_rq_issue", rq_issue, rq_issue_hash, request::issue);
programs!(
    "block_rq_requeue",
    rq_requeue,
    rq_requeue_hash,
    request::requeue
);
programs!(
    "block_rq_complete",
    rq_complete,
    rq_complete_hash,
    request::complete
);

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

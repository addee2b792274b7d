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

/// Makes the programs of one tracepoint: for current kernels the first and its copies, for older
/// ones a single one.
macro_rules! programs {
    ($function:literal, $module:ident::$body:ident, [$($current:ident = $copy:literal),+], $legacy:ident) => {
        $(
            #[btf_tracepoint(function = $function)]
            pub fn $current(ctx: BtfTracePointContext) -> i32 {
                $module::$body::<Current, $copy>(&ctx);
                0
            }
        )+

        #[btf_tracepoint(function = $function)]
        pub fn $legacy(ctx: BtfTracePointContext) -> i32 {
            $module::$body::<Legacy, 0>(&ctx);
            0
        }
    };
}

programs!(
    "block_bio_queue",
    bio::queue,
    [bio_queue = 0, bio_queue_2 = 1],
    bio_queue_hash
);
programs!(
    "block_bio_complete",
    bio::complete,
    [bio_complete = 0, bio_complete_2 = 1],
    bio_complete_hash
);
programs!(
    "block_rq_insert",
    request::insert,
    [rq_insert = 0, rq_insert_2 = 1],
    rq_insert_hash
);
programs!(
    "block_rq_issue",
    request::issue,
    [rq_issue = 0, rq_issue_2 = 1],
    rq_issue_hash
);
programs!(
    "block_rq_requeue",
    request::requeue,
    [rq_requeue = 0, rq_requeue_2 = 1],
    rq_requeue_hash
);
programs!(
    "block_rq_complete",
    request::complete,
    [rq_complete = 0, rq_complete_2 = 1],
    rq_complete_hash
);

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

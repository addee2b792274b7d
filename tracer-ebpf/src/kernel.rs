//! The only loads from kernel memory.
//!
//! [`Bio`] and [`Request`] wrap the pointer that the tracepoint passed. A load is a plain
//! volatile read at `pointer + offset`: the verifier knows the pointer's BTF type and the
//! constant offset, checks that a member of that size lies there, and the JIT guards the read
//! (a null or stale pointer reads as 0).

use aya_ebpf::programs::BtfTracePointContext;
use core::arch::asm;

use aya_ebpf::{
    EbpfContext as _, Global,
    helpers::{bpf_get_current_task_btf, bpf_probe_read_kernel},
};
use tracer_common::{disk_number, flag, op, record::CommWords};

use crate::globals::{
    BIO_QUEUE_HAS_Q, BIO_TARGET_IS_BDEV, OFF_BDEV_DISK, OFF_BIO_OPF, OFF_BIO_SECTOR, OFF_BIO_SIZE,
    OFF_BIO_STATUS, OFF_BIO_TARGET, OFF_DISK_FIRST_MINOR, OFF_DISK_MAJOR, OFF_QUEUE_DISK,
    OFF_RQ_BIO, OFF_RQ_CMD_FLAGS, OFF_RQ_DATA_LEN, OFF_RQ_OWNER, OFF_RQ_SECTOR, OFF_RQ_START_TIME,
    OFF_TASK_COMM, OFF_TASK_PID, OFF_TASK_TGID, RQ_HAS_Q, RQ_OWNER_IS_QUEUE,
};

/// A typed kernel pointer, as the verifier sees it.
#[derive(Clone, Copy)]
struct Pointer(u64);

impl Pointer {
    #[inline(always)]
    fn load<T: Copy>(self, offset: &Global<u32>) -> T {
        let at = self.0 as usize + offset.load() as usize;
        // SAFETY: the verifier proved that a member of this size lies at the offset, and the
        // kernel's exception table turns a fault into a read of 0.
        unsafe { core::ptr::read_volatile(at as *const T) }
    }

    #[inline(always)]
    fn follow(self, offset: &Global<u32>) -> Self {
        Self(self.load(offset))
    }
}

/// [`tracer_common::disk_number`] of a disk.
#[inline(always)]
fn number(gendisk: Pointer) -> u64 {
    disk_number(
        gendisk.load(&OFF_DISK_MAJOR),
        gendisk.load(&OFF_DISK_FIRST_MINOR),
    )
}

/// The address of a bio or request, by which it is known while it is in flight.
#[derive(Clone, Copy)]
pub struct Address<'a> {
    ctx: &'a BtfTracePointContext,
    argument: usize,
    /// A member of the argument that holds it, else the argument itself does.
    member: Option<&'static Global<u32>>,
    pointer: Pointer,
}

impl Address<'_> {
    /// The address as the verifier sees it: a typed pointer, which can be compared and stored,
    /// but not calculated with.
    #[inline(always)]
    pub fn typed(self) -> u64 {
        self.pointer.0
    }

    /// Its low half, as a number: a 32-bit move makes a scalar of a pointer
    /// (`check_alu_op` in kernel/bpf/verifier.c). In assembly, since LLVM would calculate with
    /// the pointer itself where it knows that only the low half is used.
    #[inline(always)]
    pub fn low_half(self) -> u32 {
        let low: u64;
        // SAFETY: moves a register.
        unsafe {
            asm!("r2 = {pointer}", "w2 = w2", pointer = in(reg) self.pointer.0, out("r2") low,
                 options(pure, nomem, nostack));
        }
        low as u32
    }

    /// The address as a number, for the key of a hash map: read out of where it stands.
    #[inline(always)]
    pub fn number(self) -> Option<u64> {
        let arguments = self.ctx.as_ptr().cast::<u64>().cast_const();
        // SAFETY: the context of a BTF tracepoint is an array of u64 arguments.
        let argument = unsafe { bpf_probe_read_kernel(arguments.wrapping_add(self.argument)) };
        let argument: u64 = argument.ok()?;
        let Some(member) = self.member else {
            return Some(argument);
        };
        let at = argument.wrapping_add(u64::from(member.load()));
        // SAFETY: the helper checks the address.
        unsafe { bpf_probe_read_kernel(at as *const u64) }.ok()
    }
}

/// The present task (kernels from 5.11 on).
#[derive(Clone, Copy)]
pub struct Task(Pointer);

impl Task {
    #[inline(always)]
    pub fn current() -> Self {
        // SAFETY: helper without arguments.
        Self(Pointer(unsafe { bpf_get_current_task_btf() } as u64))
    }

    #[inline(always)]
    pub fn tid(self) -> u32 {
        self.0.load(&OFF_TASK_PID)
    }

    #[inline(always)]
    pub fn tgid(self) -> u32 {
        self.0.load(&OFF_TASK_TGID)
    }

    /// The name may be changed meanwhile: then the halves are of two names.
    #[inline(always)]
    pub fn comm(self) -> CommWords {
        let second = Pointer(self.0.0 + 8);
        [self.0.load(&OFF_TASK_COMM), second.load(&OFF_TASK_COMM)]
    }
}

/// Typed pointer in the first (0) or second (1) argument.
///
/// Each load is an instruction of its own in assembly. Written in Rust, LLVM folds the loads of
/// two branches into one at a variable offset, and the verifier takes the context at constant
/// offsets only ("dereference of modified ctx ptr", 5.10).
#[inline(always)]
fn pointer(ctx: &BtfTracePointContext, n: usize) -> Pointer {
    let value: u64;
    let context = ctx.as_ptr();
    if n == 0 {
        // SAFETY: reads the first argument of the context.
        unsafe {
            asm!("{value} = *(u64 *)({context} + 0)", value = out(reg) value,
                 context = in(reg) context, options(nostack));
        }
    } else {
        // SAFETY: reads the second argument; the verifier checks that there is one wherever
        // this branch is taken.
        unsafe {
            asm!("{value} = *(u64 *)({context} + 8)", value = out(reg) value,
                 context = in(reg) context, options(nostack));
        }
    }
    Pointer(value)
}

/// A bio and its place among the tracepoint's arguments.
pub struct Bio<'a> {
    ctx: &'a BtfTracePointContext,
    argument: usize,
    pointer: Pointer,
}

impl<'a> Bio<'a> {
    /// The bio of `block_bio_queue`.
    #[inline(always)]
    pub fn queued(ctx: &'a BtfTracePointContext) -> Self {
        if BIO_QUEUE_HAS_Q.load() == 0 {
            Self::at(ctx, 0)
        } else {
            Self::at(ctx, 1)
        }
    }

    /// The bio of `block_bio_complete`.
    #[inline(always)]
    pub fn completed(ctx: &'a BtfTracePointContext) -> Self {
        Self::at(ctx, 1)
    }

    #[inline(always)]
    fn at(ctx: &'a BtfTracePointContext, argument: usize) -> Self {
        let pointer = pointer(ctx, argument);
        Self {
            ctx,
            argument,
            pointer,
        }
    }

    /// The disk, also for a bio on a partition.
    #[inline(always)]
    pub fn disk(&self) -> u64 {
        let target = self.pointer.follow(&OFF_BIO_TARGET);
        if BIO_TARGET_IS_BDEV.load() == 0 {
            number(target)
        } else {
            number(target.follow(&OFF_BDEV_DISK))
        }
    }

    #[inline(always)]
    pub fn address(&self) -> Address<'a> {
        Address {
            ctx: self.ctx,
            argument: self.argument,
            member: None,
            pointer: self.pointer,
        }
    }

    #[inline(always)]
    pub fn opf(&self) -> u32 {
        self.pointer.load::<u32>(&OFF_BIO_OPF) & (op::MASK | flag::KNOWN)
    }

    #[inline(always)]
    pub fn sector(&self) -> u64 {
        self.pointer.load(&OFF_BIO_SECTOR)
    }

    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.pointer.load(&OFF_BIO_SIZE)
    }

    /// `blk_status_t`.
    #[inline(always)]
    pub fn status(&self) -> u32 {
        u32::from(self.pointer.load::<u8>(&OFF_BIO_STATUS))
    }
}

/// A request and its place among the tracepoint's arguments.
pub struct Request<'a> {
    ctx: &'a BtfTracePointContext,
    argument: usize,
    pointer: Pointer,
}

impl<'a> Request<'a> {
    /// The request of `block_rq_insert`, `block_rq_issue` and `block_rq_requeue`.
    #[inline(always)]
    pub fn submitted(ctx: &'a BtfTracePointContext) -> Self {
        if RQ_HAS_Q.load() == 0 {
            Self::at(ctx, 0)
        } else {
            Self::at(ctx, 1)
        }
    }

    /// The request of `block_rq_complete`.
    #[inline(always)]
    pub fn completed(ctx: &'a BtfTracePointContext) -> Self {
        Self::at(ctx, 0)
    }

    #[inline(always)]
    fn at(ctx: &'a BtfTracePointContext, argument: usize) -> Self {
        let pointer = pointer(ctx, argument);
        Self {
            ctx,
            argument,
            pointer,
        }
    }

    #[inline(always)]
    pub fn disk(&self) -> u64 {
        let owner = self.pointer.follow(&OFF_RQ_OWNER);
        if RQ_OWNER_IS_QUEUE.load() == 0 {
            number(owner)
        } else {
            number(owner.follow(&OFF_QUEUE_DISK))
        }
    }

    #[inline(always)]
    pub fn address(&self) -> Address<'a> {
        Address {
            ctx: self.ctx,
            argument: self.argument,
            member: None,
            pointer: self.pointer,
        }
    }

    #[inline(always)]
    pub fn cmd_flags(&self) -> u32 {
        self.pointer.load::<u32>(&OFF_RQ_CMD_FLAGS) & (op::MASK | flag::KNOWN)
    }

    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.pointer.load(&OFF_RQ_DATA_LEN)
    }

    #[inline(always)]
    pub fn sector(&self) -> u64 {
        self.pointer.load(&OFF_RQ_SECTOR)
    }

    /// When the request was allocated, ns; 0 when the queue keeps no statistics.
    #[inline(always)]
    pub fn start_time_ns(&self) -> u64 {
        self.pointer.load(&OFF_RQ_START_TIME)
    }

    /// `bi_opf` of the request's first bio: the flags as submitted. The flush machinery clears
    /// `PREFLUSH` and `FUA` in `cmd_flags` (`blk_insert_flush`). 0 without a bio.
    #[inline(always)]
    pub fn bio_opf(&self) -> u32 {
        let bio = self.pointer.follow(&OFF_RQ_BIO);
        bio.load::<u32>(&OFF_BIO_OPF) & (op::MASK | flag::KNOWN)
    }

    /// Address of the request's first bio; 0 without one.
    #[inline(always)]
    pub fn bio_address(&self) -> Address<'a> {
        Address {
            ctx: self.ctx,
            argument: self.argument,
            member: Some(&OFF_RQ_BIO),
            pointer: self.pointer.follow(&OFF_RQ_BIO),
        }
    }
}

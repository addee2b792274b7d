//! One trace record: its decoded form and its codes, and its encoding in version 7.
//!
//! Codes: the kernel's `include/uapi/linux/blktrace_api.h`.

use crate::event::{Comm, Flags, Op};
use tracer_common::{COMM_LEN, flag, op};

/// Magic of a record; the low byte is the version.
pub(super) const MAGIC: u32 = 0x6561_7400;
/// `REQ_OP_DRV_IN` and `REQ_OP_DRV_OUT` (`include/linux/blk_types.h`): what a passthrough
/// request carries as its operation.
const OP_DRV_IN: u8 = 34;
const OP_DRV_OUT: u8 = 35;

/// Categories of a record, the high half of `action` (`enum blktrace_cat`), shifted down.
pub(super) mod category {
    pub(in super::super) const READ: u32 = 1;
    pub(in super::super) const WRITE: u32 = 1 << 1;
    pub(in super::super) const FLUSH: u32 = 1 << 2;
    pub(in super::super) const SYNC: u32 = 1 << 3;
    pub(in super::super) const QUEUE: u32 = 1 << 4;
    pub(in super::super) const REQUEUE: u32 = 1 << 5;
    pub(in super::super) const ISSUE: u32 = 1 << 6;
    pub(in super::super) const COMPLETE: u32 = 1 << 7;
    pub(in super::super) const FS: u32 = 1 << 8;
    pub(in super::super) const PC: u32 = 1 << 9;
    pub(in super::super) const NOTIFY: u32 = 1 << 10;
    pub(in super::super) const AHEAD: u32 = 1 << 11;
    pub(in super::super) const META: u32 = 1 << 12;
    pub(in super::super) const DISCARD: u32 = 1 << 13;
    pub(in super::super) const FUA: u32 = 1 << 15;
    /// Version 8 only; version 7 shows a write of zeroes as a plain write.
    pub(in super::super) const WRITE_ZEROES: u32 = 1 << 22;
}

/// What happened, the low half of `action` (`enum blktrace_act`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Q: a bio is queued.
    Queue,
    /// M: a bio or request is merged at the end of a request.
    BackMerge,
    /// F: merged at the front.
    FrontMerge,
    /// G: a request is allocated.
    GetRequest,
    /// R: a request is given back to the queue.
    Requeue,
    /// D: a request goes to the driver.
    Issue,
    /// C: a bio (bio mode) or a part of a request or all of it completes.
    Complete,
    /// I: a request goes to the scheduler.
    Insert,
    /// X: a bio is split.
    Split,
    /// A: a bio is remapped from another device.
    Remap,
    /// Notes: `PROCESS`, `TIMESTAMP`, `MESSAGE`.
    Notify,
    /// Anything that starts or ends no I/O: plug, unplug, sleep, bounce, abort, driver data.
    Other,
}

impl Action {
    pub(super) fn of(code: u64) -> Self {
        match code & 0xff {
            1 => Self::Queue,
            2 => Self::BackMerge,
            3 => Self::FrontMerge,
            4 => Self::GetRequest,
            6 => Self::Requeue,
            7 => Self::Issue,
            8 => Self::Complete,
            12 => Self::Insert,
            13 => Self::Split,
            15 => Self::Remap,
            _ => Self::Other,
        }
    }

    /// The letter that blkparse prints.
    #[must_use]
    pub fn of_letter(letter: &str) -> Option<Self> {
        Some(match letter {
            "Q" => Self::Queue,
            "M" => Self::BackMerge,
            "F" => Self::FrontMerge,
            "G" => Self::GetRequest,
            "R" => Self::Requeue,
            "D" => Self::Issue,
            "C" => Self::Complete,
            "I" => Self::Insert,
            "X" => Self::Split,
            "A" => Self::Remap,
            "m" => Self::Notify,
            "S" | "P" | "U" | "UT" | "T" | "B" | "W" | "ZP" | "ZU" => Self::Other,
            _ => return None,
        })
    }

    /// Code and own category, as the kernel's `BLK_TA_*` combine them.
    const fn code(self) -> u32 {
        let (code, own) = match self {
            Self::Queue => (1, category::QUEUE),
            Self::BackMerge => (2, category::QUEUE),
            Self::FrontMerge => (3, category::QUEUE),
            Self::GetRequest => (4, category::QUEUE),
            Self::Requeue => (6, category::REQUEUE),
            Self::Issue => (7, category::ISSUE),
            Self::Complete => (8, category::COMPLETE),
            Self::Insert => (12, category::QUEUE),
            Self::Split => (13, 0),
            Self::Remap => (15, category::QUEUE),
            Self::Notify => (0, category::NOTIFY),
            Self::Other => (9, category::QUEUE),
        };
        code | own << 16
    }
}

/// What the payload says, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nothing.
    #[default]
    None,
    /// Command name of the record's pid.
    Process(Comm),
    /// Wall-clock time of the record, nanoseconds since the Unix epoch.
    WallClock(i64),
}

/// A decoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, on the clock of the trace, ns.
    pub time_ns: u64,
    /// First sector (512 B), from the start of the disk.
    pub sector: u64,
    /// Bytes.
    pub bytes: u32,
    /// What happened.
    pub action: Action,
    /// Categories (operation and flags).
    pub(super) categories: u32,
    /// Thread that ran; the submitter's only for `Queue`.
    pub pid: u32,
    /// Major and minor number.
    pub device: (u32, u32),
    /// CPU it was recorded on.
    pub cpu: u32,
    /// Positive errno of a completion, 0 without error.
    pub errno: u16,
    /// Payload.
    pub payload: Payload,
}

impl Record {
    /// Whether every bit of `mask` is set among the categories.
    pub(super) const fn is(&self, mask: u32) -> bool {
        self.categories & mask == mask
    }

    /// First byte behind the I/O, in sectors; what stays the same while an I/O advances.
    #[must_use]
    pub const fn end_sector(&self) -> u64 {
        self.sector.saturating_add((self.bytes >> 9) as u64)
    }

    /// The operation and flags in the form of `bi_opf`.
    #[must_use]
    pub fn opf(&self) -> u32 {
        let operation = if self.is(category::PC) {
            u32::from(if self.is(category::WRITE) {
                OP_DRV_OUT
            } else {
                OP_DRV_IN
            })
        } else if self.is(category::DISCARD) {
            op::DISCARD
        } else if self.is(category::WRITE_ZEROES) {
            op::WRITE_ZEROES
        } else if self.is(category::WRITE) {
            op::WRITE
        } else if self.is(category::FLUSH) {
            op::FLUSH
        } else {
            op::READ
        };
        let flags = [
            (category::SYNC, flag::SYNC),
            (category::META, flag::META),
            (category::FUA, flag::FUA),
            (category::FLUSH, flag::PREFLUSH),
            (category::AHEAD, flag::RAHEAD),
        ];
        flags
            .into_iter()
            .filter(|(bit, _)| self.is(*bit))
            .fold(operation, |opf, (_, flag)| opf | flag)
    }

    /// Categories of an operation with flags, as `__blk_add_trace` sets them
    /// (`kernel/trace/blktrace.c`): version 7 has none for secure erase (a discard) and for
    /// write zeroes (a write).
    pub(super) fn categories_of(operation: Op, flags: Flags) -> u32 {
        let operation = match operation {
            Op::Flush => category::WRITE | category::FLUSH | category::FS,
            Op::Write | Op::WriteZeroes => category::WRITE | category::FS,
            Op::Discard | Op::SecureErase => category::WRITE | category::DISCARD | category::FS,
            Op::Unknown(OP_DRV_OUT) => category::WRITE | category::PC,
            Op::Unknown(OP_DRV_IN) => category::READ | category::PC,
            // Odd operations move data to the device (`op_is_write`).
            Op::Unknown(n) if n & 1 == 1 => category::WRITE | category::FS,
            Op::Read | Op::Unknown(_) => category::READ | category::FS,
        };
        [
            (flag::SYNC, category::SYNC),
            (flag::META, category::META),
            (flag::FUA, category::FUA),
            (flag::PREFLUSH, category::FLUSH),
            (flag::RAHEAD, category::AHEAD),
        ]
        .into_iter()
        .filter(|(flag, _)| flags.has(*flag))
        .fold(operation, |all, (_, bit)| all | bit)
    }

    /// Appends the record in version 7, little-endian, with its payload.
    pub(super) fn encode_v7(&self, sequence: u32, into: &mut Vec<u8>) {
        let mut payload = [0_u8; COMM_LEN];
        let (note, payload_bytes) = match self.payload {
            Payload::None => (0, 0_u16),
            Payload::Process(comm) => {
                payload = comm.0;
                (0, 16)
            }
            Payload::WallClock(unix_ns) => {
                let seconds = unix_ns.div_euclid(1_000_000_000);
                let nanos = unix_ns.rem_euclid(1_000_000_000);
                // u32 seconds in the format: the year 2106.
                payload[..4].copy_from_slice(&low_u32(seconds).to_le_bytes());
                payload[4..8].copy_from_slice(&low_u32(nanos).to_le_bytes());
                (1, 8)
            }
        };
        let action = note | self.action.code() | (self.categories & 0xffff) << 16;
        let error = if self.errno == 0 {
            0
        } else {
            self.errno.wrapping_neg()
        };
        let (major, minor) = self.device;
        into.extend_from_slice(&(MAGIC | 7).to_le_bytes());
        into.extend_from_slice(&sequence.to_le_bytes());
        into.extend_from_slice(&self.time_ns.to_le_bytes());
        into.extend_from_slice(&self.sector.to_le_bytes());
        into.extend_from_slice(&self.bytes.to_le_bytes());
        into.extend_from_slice(&action.to_le_bytes());
        into.extend_from_slice(&self.pid.to_le_bytes());
        into.extend_from_slice(&(major << 20 | minor & 0xf_ffff).to_le_bytes());
        into.extend_from_slice(&self.cpu.to_le_bytes());
        into.extend_from_slice(&error.to_le_bytes());
        into.extend_from_slice(&payload_bytes.to_le_bytes());
        into.extend_from_slice(&payload[..usize::from(payload_bytes)]);
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fields of the format"
)]
fn low_u32(value: i64) -> u32 {
    value as u32
}

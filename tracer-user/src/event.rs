//! The decoded event: one completed I/O, whatever source it came from.
//!
//! Sources turn their own records into [`Event`]; everything behind them (analysis, recording,
//! export) knows only this form.

use tracer_common::{COMM_LEN, OpClass, flag, op};

/// Identity of a device within one capture: the index of its [`crate::input::Device`] in order
/// of arrival. A kernel number that is used again gets a new identity.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct DeviceId(pub u32);

/// What an I/O asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read.
    Read,
    /// Write with data.
    Write,
    /// Bare flush: a write without data and with `PREFLUSH`, or the request form of it.
    Flush,
    /// Discard (trim).
    Discard,
    /// Secure erase.
    SecureErase,
    /// Write zeroes.
    WriteZeroes,
    /// An operation this version does not know, by its number.
    Unknown(u8),
}

/// Flags of an I/O, restricted to the bits whose place is known ([`flag::KNOWN`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u32);

impl Flags {
    /// Keeps the known flag bits of a `bi_opf` or `cmd_flags`.
    #[must_use]
    pub const fn from_opf(opf: u32) -> Self {
        Self(opf & flag::KNOWN)
    }

    /// The bits, at their place in `bi_opf`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether every bit of `mask` (see [`flag`]) is set.
    #[must_use]
    pub const fn has(self, mask: u32) -> bool {
        self.0 & mask == mask
    }
}

/// Command name of a submitter as the kernel keeps it: up to 15 bytes, NUL-padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Comm(pub [u8; COMM_LEN]);

impl Comm {
    /// Takes the first 15 bytes of a name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; COMM_LEN];
        for (to, from) in bytes[..COMM_LEN - 1].iter_mut().zip(name.bytes()) {
            *to = from;
        }
        Self(bytes)
    }

    /// The name, with what is not UTF-8 or not printable replaced.
    #[must_use]
    pub fn to_text(self) -> String {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(COMM_LEN);
        String::from_utf8_lossy(&self.0[..end])
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect()
    }

    /// Whether the name is a kernel worker's, which submits on behalf of somebody else: the
    /// submitter is then not attributable.
    #[must_use]
    pub fn is_kernel_worker(self) -> bool {
        self.0.starts_with(b"kworker/")
    }
}

/// One completed I/O: a bio on a bio-mode disk, a request on a blk-mq disk.
///
/// Sizes and flags are those of submission. Times are on one monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Device the I/O went to; a partition's I/O bears the disk.
    pub device: DeviceId,
    /// Operation.
    pub op: Op,
    /// Flags.
    pub flags: Flags,
    /// Submission.
    pub start_ns: u64,
    /// First issue to the driver on a blk-mq disk; `None` where there is none or it is unknown.
    pub issue_ns: Option<u64>,
    /// Completion. May lie before `start_ns` in a damaged recording: see [`Event::latency_ns`].
    pub end_ns: u64,
    /// First byte, counted from the start of the disk.
    pub offset_bytes: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// 0, or a positive errno.
    pub errno: u16,
    /// CPU that saw the completion.
    pub cpu: u16,
    /// Process of the submitter.
    pub pid: u32,
    /// Thread of the submitter.
    pub tid: u32,
    /// Command name of the submitter.
    pub comm: Comm,
}

impl Op {
    /// Decodes the operation of a `bi_opf` or `cmd_flags`; a write without data is a flush.
    #[must_use]
    pub const fn from_opf(opf: u32, bytes: u32) -> Self {
        match opf & op::MASK {
            op::READ => Self::Read,
            op::WRITE if bytes == 0 => Self::Flush,
            op::WRITE => Self::Write,
            op::FLUSH => Self::Flush,
            op::DISCARD => Self::Discard,
            op::SECURE_ERASE => Self::SecureErase,
            op::WRITE_ZEROES => Self::WriteZeroes,
            #[allow(clippy::cast_possible_truncation)] // masked to eight bits
            other => Self::Unknown(other as u8),
        }
    }

    /// The class under which the I/O is counted.
    #[must_use]
    pub const fn class(self) -> OpClass {
        match self {
            Self::Read => OpClass::Read,
            Self::Write => OpClass::Write,
            Self::Flush => OpClass::Flush,
            Self::Discard | Self::SecureErase => OpClass::Discard,
            Self::WriteZeroes | Self::Unknown(_) => OpClass::Other,
        }
    }
}

impl Event {
    /// Submission to completion in nanoseconds; `None` when the completion is stamped before
    /// the start (a time inversion, counted apart and never in a histogram).
    #[must_use]
    pub const fn latency_ns(&self) -> Option<u64> {
        self.end_ns.checked_sub(self.start_ns)
    }

    /// Whether a write asks for durability: `FUA`, or `PREFLUSH` with data. The `SYNC` flag
    /// alone is a hint that ZFS ignores.
    #[must_use]
    pub const fn is_durable_write(&self) -> bool {
        matches!(self.op, Op::Write)
            && (self.flags.has(flag::FUA) || self.flags.has(flag::PREFLUSH))
    }

    /// First byte behind the I/O.
    #[must_use]
    pub const fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_hint_alone_is_not_durable() {
        let mut event = Event {
            device: DeviceId(0),
            op: Op::Write,
            flags: Flags::from_opf(op::WRITE | flag::SYNC | flag::IDLE),
            start_ns: 10,
            issue_ns: None,
            end_ns: 30,
            offset_bytes: 0,
            bytes: 4096,
            errno: 0,
            cpu: 0,
            pid: 1,
            tid: 1,
            comm: Comm::new("fio"),
        };
        assert!(!event.is_durable_write());
        event.flags = Flags::from_opf(flag::SYNC | flag::FUA);
        assert!(event.is_durable_write());
        event.flags = Flags::from_opf(flag::PREFLUSH);
        assert!(event.is_durable_write());
        event.op = Op::Flush;
        assert!(!event.is_durable_write(), "a bare flush is no write");
    }

    #[test]
    fn a_completion_before_its_start_has_no_latency() {
        let comm = Comm::new("a name that is far too long");
        assert_eq!(comm.to_text(), "a name that is ");
        assert!(Comm::new("kworker/u8:1").is_kernel_worker());
        assert!(!Comm::new("jbd2/zd0-8").is_kernel_worker());
        assert_eq!(Op::from_opf(7, 4096), Op::Unknown(7));
    }
}

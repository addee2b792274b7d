//! The bytes of a record in protocol versions 7 and 8, in either byte order.
//!
//! Layout: the kernel's `include/uapi/linux/blktrace_api.h` (`blk_io_trace`; version 8 is
//! `blk_io_trace2`, from 6.19).

use crate::event::Comm;
use tracer_common::COMM_LEN;

use super::record::{Action, MAGIC, Payload, Record, category};

/// `blk_io_trace`.
pub(super) const HEADER_V7_BYTES: usize = 48;
/// `blk_io_trace2`.
const HEADER_V8_BYTES: usize = 64;

/// `__BLK_TA_CGROUP`: a cgroup id precedes the payload.
const ACTION_CGROUP: u64 = 0x100;

/// Version and byte order of a trace: the same for all records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Version 7, little-endian.
    V7Little,
    /// Version 7, big-endian.
    V7Big,
    /// Version 8, little-endian.
    V8Little,
    /// Version 8, big-endian.
    V8Big,
}

/// What the first four bytes of a record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magic {
    /// A record that can be decoded.
    Known(Layout),
    /// A blktrace record of another protocol version.
    OtherVersion(u8),
    /// No blktrace record.
    Foreign,
}

impl Magic {
    pub(super) fn of(first: [u8; 4]) -> Self {
        let of = |magic: u32, v7, v8| {
            let version = magic.to_le_bytes()[0];
            let known = match version {
                7 => Self::Known(v7),
                8 => Self::Known(v8),
                other => Self::OtherVersion(other),
            };
            (magic & 0xffff_ff00 == MAGIC).then_some(known)
        };
        of(
            u32::from_le_bytes(first),
            Layout::V7Little,
            Layout::V8Little,
        )
        .or_else(|| of(u32::from_be_bytes(first), Layout::V7Big, Layout::V8Big))
        .unwrap_or(Self::Foreign)
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V7Little => "version 7, little-endian",
            Self::V7Big => "version 7, big-endian",
            Self::V8Little => "version 8, little-endian",
            Self::V8Big => "version 8, big-endian",
        })
    }
}

impl Layout {
    /// Decodes the record at the start of `bytes`: the record and its length, or the length
    /// that is needed when `bytes` are too few.
    #[inline]
    pub(super) fn decode(self, bytes: &[u8]) -> Result<(Record, usize), usize> {
        match self {
            Self::V7Little => decode_v7::<false>(bytes),
            Self::V7Big => decode_v7::<true>(bytes),
            Self::V8Little => decode_v8::<false>(bytes),
            Self::V8Big => decode_v8::<true>(bytes),
        }
    }
}

/// The fields in which the versions differ.
struct Own {
    action: u64,
    pid: u32,
    device: u32,
    cpu: u32,
    error: u16,
    payload_bytes: u16,
}

#[inline]
fn decode_v7<const BIG: bool>(bytes: &[u8]) -> Result<(Record, usize), usize> {
    let header: &[u8; HEADER_V7_BYTES] = bytes.first_chunk().ok_or(HEADER_V7_BYTES)?;
    let own = Own {
        action: u32_at::<BIG>(header, 28).into(),
        pid: u32_at::<BIG>(header, 32),
        device: u32_at::<BIG>(header, 36),
        cpu: u32_at::<BIG>(header, 40),
        error: u16_at::<BIG>(header, 44),
        payload_bytes: u16_at::<BIG>(header, 46),
    };
    decode::<BIG, HEADER_V7_BYTES>(bytes, header, &own)
}

#[inline]
fn decode_v8<const BIG: bool>(bytes: &[u8]) -> Result<(Record, usize), usize> {
    let header: &[u8; HEADER_V8_BYTES] = bytes.first_chunk().ok_or(HEADER_V8_BYTES)?;
    let own = Own {
        action: u64_at::<BIG>(header, 32),
        pid: u32_at::<BIG>(header, 28),
        device: u32_at::<BIG>(header, 40),
        cpu: u32_at::<BIG>(header, 44),
        error: u16_at::<BIG>(header, 48),
        payload_bytes: u16_at::<BIG>(header, 50),
    };
    decode::<BIG, HEADER_V8_BYTES>(bytes, header, &own)
}

#[inline]
fn decode<const BIG: bool, const HEADER: usize>(
    bytes: &[u8],
    header: &[u8; HEADER],
    own: &Own,
) -> Result<(Record, usize), usize> {
    let total = HEADER + usize::from(own.payload_bytes);
    if bytes.len() < total {
        return Err(total);
    }
    #[allow(clippy::cast_possible_truncation, reason = "categories end at bit 38")]
    let categories = (own.action >> 16) as u32;
    let (action, payload) = if categories & category::NOTIFY == 0 {
        (Action::of(own.action), Payload::None)
    } else {
        let skipped = if own.action & ACTION_CGROUP == 0 {
            0
        } else {
            8
        };
        let payload = bytes.get(HEADER + skipped..total).unwrap_or_default();
        (Action::Notify, note::<BIG>(own.action & 0xff, payload))
    };
    let record = Record {
        time_ns: u64_at::<BIG>(header, 8),
        sector: u64_at::<BIG>(header, 16),
        bytes: u32_at::<BIG>(header, 24),
        action,
        categories,
        pid: own.pid,
        device: (own.device >> 20, own.device & 0xf_ffff),
        cpu: own.cpu,
        // The kernel stores the low half of a negative errno.
        errno: own.error.cast_signed().unsigned_abs(),
        payload,
    };
    Ok((record, total))
}

fn note<const BIG: bool>(code: u64, payload: &[u8]) -> Payload {
    match (code, payload.first_chunk()) {
        (0, _) => {
            let mut comm = Comm::default();
            let length = payload.len().min(COMM_LEN - 1);
            comm.0[..length].copy_from_slice(&payload[..length]);
            Payload::Process(comm)
        }
        (1, Some(stamp)) => {
            let stamp: &[u8; 8] = stamp;
            let seconds = i64::from(u32_at::<BIG>(stamp, 0));
            let nanos = i64::from(u32_at::<BIG>(stamp, 4));
            Payload::WallClock(seconds * 1_000_000_000 + nanos)
        }
        _ => Payload::None,
    }
}

// Offsets are constants, so that the bounds checks disappear.

#[inline]
fn u16_at<const BIG: bool>(from: &[u8], at: usize) -> u16 {
    let bytes = [from[at], from[at + 1]];
    if BIG {
        u16::from_be_bytes(bytes)
    } else {
        u16::from_le_bytes(bytes)
    }
}

#[inline]
fn u32_at<const BIG: bool>(from: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&from[at..at + 4]);
    if BIG {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

#[inline]
fn u64_at<const BIG: bool>(from: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&from[at..at + 8]);
    if BIG {
        u64::from_be_bytes(bytes)
    } else {
        u64::from_le_bytes(bytes)
    }
}

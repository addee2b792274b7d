//! Ring records -> events.

use tracer_common::{
    DiskId, Inflight, IoRecord, SharedRecord,
    record::{CommWords, origin, place},
};

use super::{slots::Slots, status};
use crate::event::{Comm, Event, Flags, Op};

/// [`Inflight`] as aya wants map values to be marked.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct InflightValue(pub(super) Inflight);

// SAFETY: integers without padding, any bit pattern is valid (asserted in tracer-common).
unsafe impl aya::Pod for InflightValue {}

/// The record in an item of the BPF ring buffer; `None` when its length is wrong.
pub(super) fn shared(bytes: &[u8]) -> Option<SharedRecord> {
    if bytes.len() != size_of::<SharedRecord>() {
        return None;
    }
    // SAFETY: the length is that of the record, which is integers without padding.
    Some(unsafe { bytes.as_ptr().cast::<SharedRecord>().read_unaligned() })
}

/// Decodes a record that completed on `cpu`; `None` when its disk was never given out.
pub(super) fn event(record: &IoRecord, cpu: u16, slots: &Slots) -> Option<Event> {
    let opf = origin::opf(record.origin);
    Some(Event {
        device: slots.device(DiskId(record.disk))?,
        op: Op::from_opf(opf, record.bytes),
        flags: Flags::from_opf(opf),
        start_ns: record.start_ns,
        issue_ns: (record.issue_ns != 0).then_some(record.issue_ns),
        end_ns: record.end_ns,
        offset_bytes: place::sector(record.place).saturating_mul(512),
        bytes: record.bytes,
        errno: status::errno(place::status(record.place)),
        cpu,
        pid: origin::tgid(record.origin),
        tid: origin::tid(record.origin),
        comm: comm(record.comm),
    })
}

/// A command name; what the kernel left behind its end is cleared, so that equal names are
/// equal bytes.
fn comm(words: CommWords) -> Comm {
    let (first, ended) = up_to_nul(words[0]);
    let second = if ended { 0 } else { up_to_nul(words[1]).0 };
    let mut bytes = [0; tracer_common::COMM_LEN];
    bytes[..8].copy_from_slice(&first.to_ne_bytes());
    bytes[8..].copy_from_slice(&second.to_ne_bytes());
    Comm(bytes)
}

/// The bytes of a little-endian word before its first zero byte, and whether it has one.
fn up_to_nul(word: u64) -> (u64, bool) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The lowest bit set is the top bit of the first zero byte (Bit Twiddling Hacks,
    // "Determine if a word has a zero byte").
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    if zeros == 0 {
        return (word, false);
    }
    let before = zeros.trailing_zeros() & !7;
    (word & ((1_u64 << before) - 1), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DeviceId;
    use tracer_common::{flag, op};

    fn words(name: [u8; 16]) -> CommWords {
        let word = |at: usize| u64::from_ne_bytes(name[at..at + 8].try_into().unwrap());
        [word(0), word(8)]
    }

    #[test]
    fn a_record_becomes_an_event_unless_its_disk_is_not_known() {
        let mut slots = Slots::new(8);
        let (disk, _) = slots.assign(DeviceId(7), false, |_| false).unwrap();
        let record = IoRecord {
            start_ns: 5,
            end_ns: 9,
            place: place::pack((1 << 54) - 1, 10),
            bytes: u32::MAX,
            origin: origin::pack(op::DISCARD | flag::SYNC | 1 << 25, 3, 4),
            disk: disk.0,
            ..IoRecord::default()
        };
        let event = super::event(&record, 9, &slots).unwrap();
        assert_eq!(event.device, DeviceId(7));
        assert_eq!((event.op, event.bytes), (Op::Discard, u32::MAX));
        assert_eq!(event.offset_bytes, ((1 << 54) - 1) * 512);
        assert_eq!(event.flags.bits(), flag::SYNC);
        assert_eq!((event.pid, event.tid, event.issue_ns), (3, 4, None));
        assert_eq!((event.errno, event.cpu), (5, 9));
        assert!(super::event(&record, 9, &Slots::new(8)).is_none());
    }

    #[test]
    fn a_name_ends_at_its_first_nul_whatever_follows() {
        let cases: [(&[u8; 16], &[u8; 16]); 4] = [
            (b"fio\0left-overs\0\0", b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"),
            (b"kworker/\0abcdef\0", b"kworker/\0\0\0\0\0\0\0\0"),
            (b"a-name-of-15-ch\0", b"a-name-of-15-ch\0"),
            (
                b"\x01\xff\x80\0\x01\0\0\0\x01\0\0\0\0\0\0\0",
                b"\x01\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0",
            ),
        ];
        for (given, kept) in cases {
            assert_eq!(comm(words(*given)).0, *kept);
        }
    }

    #[test]
    fn an_item_of_another_length_is_no_record() {
        assert!(shared(&[0; 72]).is_some());
        assert!(shared(&[0; 64]).is_none() && shared(&[]).is_none());
    }
}

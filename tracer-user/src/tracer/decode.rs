//! Ring records -> events.

use tracer_common::{DiskId, Inflight, IoRecord};

use super::{slots::Slots, status};
use crate::event::{Comm, Event, Flags, Op};

/// [`Inflight`] as aya wants map values to be marked.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct InflightValue(pub(super) Inflight);

// SAFETY: integers without padding, any bit pattern is valid (asserted in tracer-common).
unsafe impl aya::Pod for InflightValue {}

/// Decodes a record; `None` when its length is wrong or its disk was never given out.
pub(super) fn event(bytes: &[u8], slots: &Slots) -> Option<Event> {
    if bytes.len() != size_of::<IoRecord>() {
        return None;
    }
    // SAFETY: the length is that of the record, which is integers without padding.
    let record: IoRecord = unsafe { bytes.as_ptr().cast::<IoRecord>().read_unaligned() };
    Some(Event {
        device: slots.device(DiskId(record.disk))?,
        op: Op::from_opf(record.opf, record.bytes),
        flags: Flags::from_opf(record.opf),
        start_ns: record.start_ns,
        issue_ns: (record.issue_ns != 0).then_some(record.issue_ns),
        end_ns: record.end_ns,
        offset_bytes: record.sector.saturating_mul(512),
        bytes: record.bytes,
        errno: status::errno(record.status),
        cpu: record.cpu,
        pid: record.tgid,
        tid: record.tid,
        comm: Comm(record.comm),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DeviceId;
    use tracer_common::{flag, op};

    fn bytes_of(record: &IoRecord) -> Vec<u8> {
        let at = std::ptr::from_ref(record).cast::<u8>();
        // SAFETY: a record is plain bytes.
        unsafe { std::slice::from_raw_parts(at, size_of::<IoRecord>()) }.to_vec()
    }

    #[test]
    fn a_record_becomes_an_event_and_a_wrong_length_does_not() {
        let mut slots = Slots::new(8);
        let (disk, _) = slots.assign(DeviceId(7), false, |_| false).unwrap();
        let record = IoRecord {
            start_ns: 5,
            end_ns: 9,
            sector: u64::MAX / 512,
            bytes: u32::MAX,
            opf: op::DISCARD | flag::SYNC | 1 << 25,
            disk: disk.0,
            tgid: 3,
            tid: 4,
            ..IoRecord::default()
        };
        let bytes = bytes_of(&record);
        let event = super::event(&bytes, &slots).unwrap();
        assert_eq!(event.device, DeviceId(7));
        assert_eq!((event.op, event.bytes), (Op::Discard, u32::MAX));
        assert_eq!(event.flags.bits(), flag::SYNC);
        assert_eq!((event.pid, event.tid, event.issue_ns), (3, 4, None));
        assert!(super::event(&bytes[1..], &slots).is_none());
        assert!(super::event(&bytes, &Slots::new(8)).is_none());
    }
}

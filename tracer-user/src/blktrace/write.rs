//! Writes blktrace files of version 7: an [`Event`] becomes the records that the kernel would
//! have written for it, as far as an event tells.
//!
//! The file is one that blkparse, blkrawverify, btt and fio accept, which rules some things:
//! every record bears the CPU of the file's suffix (0), or blkrawverify rejects it and blkparse
//! passes over it; no two records share a nanosecond, or blkrawverify calls it a regression of
//! time; and since fio replays a queued flush with data as a bare sync, a write with a preflush
//! is queued as a flush and a write one nanosecond later, which the reader takes for one.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::{
    event::{Comm, Event, Flags, Op},
    input::Mode,
};
use tracer_common::flag;

use super::record::{Action, Payload, Record, category};

/// CPU of every record, and the suffix of the file.
const CPU: u32 = 0;
/// Command names that are remembered as written; beyond it they are written again.
const MAX_COMMS: usize = 1 << 16;

/// Calls `put` with the records of an event, the first at its start and the last at its end.
pub(super) fn records_of(
    event: &Event,
    device: (u32, u32),
    mode: Mode,
    mut put: impl FnMut(Record),
) {
    let categories = Record::categories_of(event.op, event.flags);
    let record = |action, time_ns| Record {
        time_ns,
        sector: event.offset_bytes / 512,
        bytes: event.bytes,
        action,
        categories,
        pid: event.tid,
        device,
        cpu: CPU,
        errno: 0,
        payload: Payload::None,
    };
    let queue = record(Action::Queue, event.start_ns);
    let is_passthrough = queue.is(category::PC);
    if event.op == Op::Write && event.flags.has(flag::PREFLUSH) {
        // Both at one instant, so that nothing is sorted between them; written, they are one
        // nanosecond apart.
        let flush = Record {
            bytes: 0,
            time_ns: event.start_ns.saturating_sub(1),
            ..queue
        };
        put(flush);
        let flags = Flags::from_opf(event.flags.bits() & !flag::PREFLUSH);
        let categories = Record::categories_of(event.op, flags);
        put(Record {
            categories,
            time_ns: flush.time_ns,
            ..queue
        });
    } else if !is_passthrough {
        // No bio of a passthrough request is ever queued, and fio would replay one as data.
        put(queue);
    }
    if mode == Mode::BlkMq || is_passthrough {
        put(record(Action::GetRequest, event.start_ns));
        // A bare flush is never issued itself. Any other request was, and when nobody saw it,
        // no later than when it was submitted counts: its queue time is then zero.
        if event.op != Op::Flush {
            put(record(
                Action::Issue,
                event.issue_ns.unwrap_or(event.start_ns),
            ));
        }
    }
    put(Record {
        errno: event.errno,
        ..record(Action::Complete, event.end_ns)
    });
}

/// Writes records in the order in which they come.
pub struct TraceWriter<W> {
    out: W,
    /// Whether times are made distinct.
    distinct: bool,
    /// Latest time of a record as it came, and as it was written.
    last_ns: Option<(u64, u64)>,
    sequence: u32,
    comms: FxHashMap<u32, Comm>,
    bytes: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// A trace that begins. `out` should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            distinct: true,
            ..Self::exact(out)
        }
    }

    /// A trace with the times as they are, not fit for blkrawverify.
    pub(super) fn exact(out: W) -> Self {
        Self {
            out,
            distinct: false,
            last_ns: None,
            sequence: 0,
            comms: FxHashMap::default(),
            bytes: Vec::new(),
        }
    }

    /// Writes the note that ties the clock of the trace to the wall clock.
    ///
    /// # Errors
    /// When the output fails.
    pub fn wall_clock(&mut self, time_ns: u64, unix_ns: i64, device: (u32, u32)) -> io::Result<()> {
        self.put(&note(time_ns, 0, device, Payload::WallClock(unix_ns)), 0)
    }

    /// Writes a record, and before it the command name of its pid when that is new.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&mut self, record: &Record, comm: Comm) -> io::Result<()> {
        if comm != Comm::default() && self.comms.get(&record.pid) != Some(&comm) {
            if self.comms.len() >= MAX_COMMS {
                self.comms.clear();
            }
            self.comms.insert(record.pid, comm);
            self.put(
                &note(
                    record.time_ns,
                    record.pid,
                    record.device,
                    Payload::Process(comm),
                ),
                0,
            )?;
        }
        // Kernels number the records of a CPU from 1; notes have no number.
        self.sequence = self.sequence.wrapping_add(1);
        self.put(record, self.sequence)
    }

    /// Ends the trace and hands back the output, flushed.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, record: &Record, sequence: u32) -> io::Result<()> {
        self.bytes.clear();
        let time_ns = match record.action {
            Action::Notify => record.time_ns,
            _ => self.distinct_time(record.time_ns),
        };
        Record { time_ns, ..*record }.encode_v7(sequence, &mut self.bytes);
        self.out.write_all(&self.bytes)
    }

    fn distinct_time(&mut self, time_ns: u64) -> u64 {
        match self.last_ns {
            _ if !self.distinct => time_ns,
            // A completion before its start, which stays one.
            Some((came, _)) if time_ns < came => time_ns,
            before => {
                let least = before.map_or(0, |(_, written)| written.saturating_add(1));
                let written = time_ns.max(least);
                self.last_ns = Some((time_ns, written));
                written
            }
        }
    }
}

fn note(time_ns: u64, pid: u32, device: (u32, u32), payload: Payload) -> Record {
    Record {
        time_ns,
        sector: 0,
        bytes: 0,
        action: Action::Notify,
        categories: 0,
        pid,
        device,
        cpu: CPU,
        errno: 0,
        payload,
    }
}

//! What a completion completes: bios, requests, parts of either, or nothing that was seen.

use crate::event::{DeviceId, Event, Flags, Op};
use tracer_common::flag;

use super::{
    super::super::{
        inflight::{Io, Kind},
        record::Record,
    },
    DeviceState,
};

/// Completions without a start that are kept, in case their start is stamped after them.
const MAX_ORPHANS: usize = 4096;
/// Second completions of the flush machinery that are awaited.
const MAX_SECOND: usize = 4096;
/// How far the clocks of two CPUs may disagree; on one CPU time does not run back. Beyond it
/// a completion before its start is that of another I/O.
const MAX_SKEW_NS: u64 = 100_000;

impl DeviceState {
    pub(super) fn complete(&mut self, record: &Record, done: &Io) {
        let paired = if done.kind == Kind::InternalFlush {
            if let Some(issue) = self.own_flush_issued.take() {
                self.own_flush_done = Some(issue);
            }
            true
        } else if !self.request_seen {
            self.complete_bio(record, done)
        } else if done.kind == Kind::Write && record.bytes == 0 {
            self.complete_flush(record, done)
        } else {
            self.complete_request(record, done)
        };
        if !paired {
            self.counters.without_start += 1;
            if self.orphans.len() == MAX_ORPHANS {
                self.orphans.pop_front();
            }
            self.orphans.push_back(*record);
        }
    }

    fn complete_bio(&mut self, record: &Record, done: &Io) -> bool {
        let Io {
            kind,
            at_sector,
            end_sector,
            start_ns: now_ns,
            ..
        } = *done;
        let bios = &mut self.bios;
        if kind.is_passthrough() {
            return self.complete_passthrough(record, done);
        }
        // As it was queued, or with the driver's iterator advanced to its end.
        let whole = bios
            .take_ending(kind, end_sector, now_ns, |bio| {
                bio.at_sector == at_sector && bio.bytes == record.bytes
            })
            .or_else(|| {
                let advanced = record.bytes == 0 || record.errno != 0;
                bios.take_ending(kind, end_sector, now_ns, |bio| {
                    advanced && bio.at_sector < at_sector
                })
            });
        if let Some(bio) = whole {
            self.emit(&bio, record);
            return true;
        }
        // Requests whose own records were left out of the trace: several bios at once...
        self.chain.clear();
        bios.take_chain(kind, at_sector, end_sector, &mut self.chain);
        if !self.chain.is_empty() {
            for bio in std::mem::take(&mut self.chain) {
                self.emit(&bio, record);
            }
            return true;
        }
        // ...or a piece of one.
        let Some(mut bio) = bios.take_containing(kind, at_sector, end_sector) else {
            return false;
        };
        bio.done_bytes = bio.done_bytes.saturating_add(record.bytes);
        bio.errno = bio.errno.max(record.errno);
        if bio.done_bytes >= bio.bytes {
            self.emit(&bio, record);
        } else {
            bios.insert(bio);
        }
        true
    }

    fn complete_request(&mut self, record: &Record, done: &Io) -> bool {
        let Io {
            kind,
            at_sector,
            end_sector,
            start_ns: now_ns,
            ..
        } = *done;
        if kind.is_passthrough() {
            return self.complete_passthrough(record, done);
        }
        let requests = if self.issue_seen {
            &mut self.issued
        } else {
            &mut self.waiting
        };
        let whole = requests
            .take_ending(kind, end_sector, now_ns, |request| {
                request.at_sector == at_sector
            })
            .or_else(|| {
                requests.take_ending(kind, end_sector, now_ns, |request| request.bytes > 0)
            });
        if let Some(request) = whole {
            self.emit(&request, record);
            return true;
        }
        let Some(mut request) = requests.take_at(kind, at_sector) else {
            return false;
        };
        request.errno = request.errno.max(record.errno);
        if request.end_sector <= end_sector {
            self.emit(&request, record);
        } else {
            request.at_sector = end_sector;
            requests.insert(request);
        }
        true
    }

    fn complete_passthrough(&mut self, record: &Record, done: &Io) -> bool {
        let requests = if self.issue_seen {
            &mut self.issued
        } else if self.request_seen {
            &mut self.waiting
        } else {
            &mut self.bios
        };
        let now_ns = record.time_ns;
        let request = requests
            .take_ending(done.kind, 0, now_ns, |request| {
                request.bytes == record.bytes
            })
            .or_else(|| requests.take_ending(done.kind, 0, now_ns, |_| true));
        if let Some(request) = &request {
            self.emit(request, record);
        }
        request.is_some()
    }

    /// An empty completion of a write on a blk-mq disk: a bare flush, which is never issued
    /// itself, or the end of a write that had a preflush.
    fn complete_flush(&mut self, record: &Record, done: &Io) -> bool {
        let empty = |io: &Io| io.bytes == 0;
        let Io {
            kind,
            end_sector,
            start_ns: now_ns,
            ..
        } = *done;
        let flush = self
            .waiting
            .take_ending(kind, end_sector, now_ns, empty)
            .or_else(|| self.bios.take_ending(kind, end_sector, now_ns, empty))
            .or_else(|| self.issued.take_ending(kind, end_sector, now_ns, empty));
        if let Some(mut flush) = flush {
            flush.opf |= flag::PREFLUSH;
            self.emit(&flush, record);
            return true;
        }
        if let Some(at) = self
            .second
            .iter()
            .position(|sector| *sector == record.sector)
        {
            self.second.remove(at);
            return true;
        }
        if self.queue_seen {
            return false;
        }
        // Without queue records the start of a flush is unknown; the closest is the issue of
        // the block layer's own flush. A flush has no place, so any other sector is the end
        // of a write.
        match self.own_flush_done {
            Some(own) if record.sector == 0 => {
                let mut flush = *done;
                flush.start_ns = own.time_ns;
                flush.opf |= flag::PREFLUSH;
                self.emit(&flush, record);
                true
            }
            _ => record.sector != 0,
        }
    }

    fn emit(&mut self, io: &Io, completion: &Record) {
        if io.completes_twice {
            if self.second.len() == MAX_SECOND {
                self.second.pop_front();
            }
            self.second.push_back(io.sector);
        }
        let errno = if completion.errno == 0 {
            io.errno
        } else {
            completion.errno
        };
        let event = Event {
            device: DeviceId(0),
            op: Op::from_opf(io.opf, io.bytes),
            flags: Flags::from_opf(io.opf),
            start_ns: io.start_ns,
            issue_ns: io.issue_ns,
            end_ns: completion.time_ns,
            offset_bytes: io.sector.saturating_mul(512),
            bytes: io.bytes,
            errno,
            cpu: u16::try_from(completion.cpu).unwrap_or(u16::MAX),
            pid: io.pid,
            tid: io.pid,
            comm: io.comm,
        };
        let class = event.op.class() as usize;
        self.counters.count[class] += 1;
        self.counters.bytes[class] += u64::from(event.bytes);
        self.counters.errors += u64::from(errno != 0);
        self.completed.push(event);
    }

    /// At the end: a start without completion takes a completion that was stamped shortly
    /// before it. That is a time inversion, which the analysis counts apart.
    pub(in super::super) fn resolve_inversions(&mut self) {
        for completion in std::mem::take(&mut self.orphans) {
            let (kind, end) = (Kind::of(&completion), completion.end_sector());
            let from = completion.time_ns;
            let set = match (self.issue_seen, self.request_seen) {
                (true, _) => &mut self.issued,
                (false, true) => &mut self.waiting,
                (false, false) => &mut self.bios,
            };
            let started = set.take_ending(kind, end, from, |io| {
                let begun = io.issue_ns.unwrap_or(io.start_ns);
                io.cpu != completion.cpu
                    && io.at_sector == completion.sector
                    && io.bytes == completion.bytes
                    && (1..=MAX_SKEW_NS).contains(&begun.saturating_sub(from))
            });
            if let Some(io) = started {
                self.counters.without_start -= 1;
                self.emit(&io, &completion);
            }
        }
    }
}

//! Pairing on one device.
//!
//! Three sets: bios that wait for a request (or, in bio mode, for their completion), requests
//! that wait to be issued, and requests that the driver has.

use std::collections::VecDeque;

use crate::{
    event::{Comm, DeviceId, Event, Flags, Op},
    input::Mode,
};
use tracer_common::{DiskCounters, flag};

use super::super::{
    inflight::{InFlight, Io, Kind},
    record::{Action, Record},
};
use super::DeviceCounts;

/// Completions without a start that are kept, in case their start is stamped after them.
const MAX_ORPHANS: usize = 4096;
/// Second completions of the flush machinery that are awaited.
const MAX_SECOND: usize = 4096;
/// How far the clocks of two CPUs may disagree; on one CPU time does not run back. Beyond it
/// a completion before its start is that of another I/O.
const MAX_SKEW_NS: u64 = 100_000;

/// Whether the record's pid is the submitter's, or the best that a subset of actions tells.
pub(super) const fn names_submitter(action: Action) -> bool {
    matches!(
        action,
        Action::Queue | Action::GetRequest | Action::Insert | Action::Issue
    )
}

#[derive(Debug)]
pub(super) struct DeviceState {
    number: (u32, u32),
    id: Option<DeviceId>,
    bios: InFlight,
    waiting: InFlight,
    issued: InFlight,
    queue_seen: bool,
    request_seen: bool,
    issue_seen: bool,
    /// A bare flush queued a moment ago, to be told from the preflush of the write behind it.
    last_flush: Option<(Record, u64)>,
    /// The block layer's own flush: issued, and its last issue that has completed.
    own_flush_issued: Option<Record>,
    own_flush_done: Option<Record>,
    /// Sectors of preflush writes of which the final, empty completion is still to come.
    second: VecDeque<u64>,
    orphans: VecDeque<Record>,
    counters: DiskCounters,
    /// Events not yet collected; their device is set by the collector.
    pub(super) completed: Vec<Event>,
    chain: Vec<Io>,
}

impl DeviceState {
    pub(super) fn new(number: (u32, u32)) -> Self {
        Self {
            number,
            id: None,
            bios: InFlight::default(),
            waiting: InFlight::default(),
            issued: InFlight::default(),
            queue_seen: false,
            request_seen: false,
            issue_seen: false,
            last_flush: None,
            own_flush_issued: None,
            own_flush_done: None,
            second: VecDeque::new(),
            orphans: VecDeque::new(),
            counters: DiskCounters::default(),
            completed: Vec::new(),
            chain: Vec::new(),
        }
    }

    pub(super) fn id(&self) -> Option<DeviceId> {
        self.id
    }

    pub(super) fn announce(&mut self, id: DeviceId) -> (u32, u32) {
        self.id = Some(id);
        self.number
    }

    pub(super) fn mode(&self) -> Mode {
        if self.request_seen {
            Mode::BlkMq
        } else {
            Mode::Bio
        }
    }

    pub(super) fn in_flight(&self) -> u64 {
        (self.bios.len() + self.waiting.len() + self.issued.len()) as u64
    }

    fn sets(&self) -> [&InFlight; 3] {
        [&self.bios, &self.waiting, &self.issued]
    }

    pub(super) fn orders(&self) -> impl Iterator<Item = u64> {
        self.sets()
            .into_iter()
            .flat_map(InFlight::iter)
            .map(|io| io.order)
    }

    pub(super) fn forget_before(&mut self, order: u64) -> u64 {
        let sets = [&mut self.bios, &mut self.waiting, &mut self.issued];
        let forgotten = sets.into_iter().map(|set| set.forget_before(order)).sum();
        self.counters.overwritten += forgotten;
        forgotten
    }

    pub(super) fn counts(&self, now_ns: u64) -> Option<DeviceCounts> {
        let starts = self
            .sets()
            .into_iter()
            .flat_map(InFlight::iter)
            .map(|io| io.start_ns);
        Some(DeviceCounts {
            device: self.id?,
            counters: self.counters,
            outstanding: self.in_flight(),
            oldest_ns: starts.min().map_or(0, |start| now_ns.saturating_sub(start)),
        })
    }

    /// Takes a record; returns whether an I/O completed.
    pub(super) fn feed(&mut self, record: &Record, comm: Comm, order: u64) -> bool {
        let io = Io::new(record, comm, order);
        match record.action {
            Action::Queue => self.queue(record, io),
            Action::GetRequest | Action::Insert => {
                self.request_seen = true;
                if io.kind != Kind::InternalFlush {
                    // A new request takes its bio; one that waits at the same place is another.
                    let request = self.gather(io, record.action == Action::Insert);
                    self.waiting.insert(request);
                }
            }
            Action::BackMerge | Action::FrontMerge => self.merge(record, io),
            Action::Issue => self.issue(record, io),
            Action::Requeue => self.requeue(&io),
            Action::Complete => self.complete(record, &io),
            // A split's and a remap's I/O is the one that was queued; notes go elsewhere.
            Action::Split | Action::Remap | Action::Notify | Action::Other => {}
        }
        !self.completed.is_empty()
    }

    fn queue(&mut self, record: &Record, mut bio: Io) {
        self.queue_seen = true;
        self.counters.submitted += 1;
        if let Some((flush, order)) = self.last_flush.take()
            && is_preflush_of(&flush, record)
        {
            // The preflush of this write, written apart by `export`: one I/O.
            self.bios.remove(bio.kind, flush.end_sector(), order);
            self.counters.submitted -= 1;
            bio.opf |= flag::PREFLUSH;
        }
        if record.bytes == 0 && bio.opf & flag::PREFLUSH != 0 {
            self.last_flush = Some((*record, bio.order));
        }
        self.bios.insert(bio);
    }

    /// Turns the bios (and the waiting requests) that lie where a request lies into that
    /// request: the first one submitted it.
    fn gather(&mut self, mut request: Io, with_waiting: bool) -> Io {
        let Io {
            kind,
            at_sector: from,
            end_sector: to,
            start_ns: now_ns,
            ..
        } = request;
        let mut sets = [
            Some(&mut self.waiting).filter(|_| with_waiting),
            Some(&mut self.bios),
        ];
        let sets = sets.iter_mut().flatten();
        if request.bytes == 0 || kind.is_passthrough() {
            let same = |io: &Io| io.bytes == request.bytes;
            let first = sets
                .into_iter()
                .find_map(|set| set.take_ending(kind, to, now_ns, same));
            if let Some(first) = first {
                inherit(&mut request, &first);
            }
            return request;
        }
        self.chain.clear();
        let mut reached = from;
        for set in sets {
            set.take_chain(kind, reached, to, &mut self.chain);
            reached = self.chain.last().map_or(from, |io| io.end_sector);
        }
        if let Some(first) = self.chain.iter().min_by_key(|io| io.start_ns) {
            inherit(&mut request, first);
        }
        if reached < to
            && let Some(mut bio) = self.bios.take_containing(kind, reached, to)
        {
            // A piece of a larger bio.
            if reached == from {
                inherit(&mut request, &bio);
            }
            if bio.end_sector > to {
                bio.at_sector = to;
                self.bios.insert(bio);
            }
        }
        request
    }

    fn merge(&mut self, record: &Record, io: Io) {
        self.request_seen = true;
        let Io {
            kind,
            at_sector,
            end_sector,
            start_ns: now_ns,
            ..
        } = io;
        let same = |other: &Io| other.at_sector == at_sector;
        let merged = self
            .bios
            .take_ending(kind, end_sector, now_ns, same)
            .or_else(|| self.waiting.take_ending(kind, end_sector, now_ns, same));
        let other = if record.action == Action::BackMerge {
            self.waiting
                .take_ending(kind, at_sector, now_ns, |other| other.bytes > 0)
        } else {
            self.waiting.take_at(kind, end_sector)
        };
        match (merged, other) {
            (merged, Some(mut request)) => {
                request.at_sector = request.at_sector.min(at_sector);
                request.end_sector = request.end_sector.max(end_sector);
                request.sector = request.at_sector;
                request.bytes = request.bytes.saturating_add(io.bytes);
                if let Some(merged) = merged.filter(|merged| merged.start_ns < request.start_ns) {
                    request.start_ns = merged.start_ns;
                }
                self.waiting.insert(request);
            }
            // The request was never seen: keep the I/O for the issue to find.
            (Some(merged), None) => self.waiting.insert(merged),
            (None, None) => {}
        }
    }

    fn issue(&mut self, record: &Record, io: Io) {
        self.request_seen = true;
        if io.kind == Kind::InternalFlush {
            self.own_flush_issued = Some(*record);
            return;
        }
        self.issue_seen = true;
        let again = |other: &Io| other.requeued && other.at_sector == io.at_sector;
        if let Some(mut first) = self
            .issued
            .take_ending(io.kind, io.end_sector, io.start_ns, again)
        {
            first.requeued = false;
            self.issued.insert(first);
            return;
        }
        let issued_opf = io.opf;
        let mut request = self.gather(io, true);
        request.issue_ns = Some(record.time_ns);
        // `blk_insert_flush` takes PREFLUSH, and FUA from a disk without it, away from the
        // request and completes the original once more when all of its steps are done.
        let machinery = flag::PREFLUSH | flag::FUA;
        request.completes_twice = request.bytes > 0 && request.opf & !issued_opf & machinery != 0;
        self.issued.insert(request);
    }

    fn requeue(&mut self, io: &Io) {
        self.request_seen = true;
        let issued = |other: &Io| !other.requeued && other.at_sector == io.at_sector;
        if let Some(mut request) =
            self.issued
                .take_ending(io.kind, io.end_sector, io.start_ns, issued)
        {
            request.requeued = true;
            self.issued.insert(request);
        }
    }

    fn complete(&mut self, record: &Record, done: &Io) {
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
    pub(super) fn resolve_inversions(&mut self) {
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

/// Whether a bare flush and the write queued right behind it are one write with a preflush.
/// The kernel never queues both within a nanosecond; `export` does, for fio.
fn is_preflush_of(flush: &Record, write: &Record) -> bool {
    write.bytes > 0
        && Kind::of(write) == Kind::Write
        && write.time_ns.saturating_sub(flush.time_ns) <= 1
        && (flush.sector, flush.pid, flush.cpu) == (write.sector, write.pid, write.cpu)
}

/// The submission of a request is that of its first bio: time, flags and submitter.
fn inherit(request: &mut Io, first: &Io) {
    request.start_ns = first.start_ns;
    request.opf |= first.opf;
    request.pid = first.pid;
    request.comm = first.comm;
}

//! Pairing on one device.
//!
//! Three sets: bios that wait for a request (or, in bio mode, for their completion), requests
//! that wait to be issued, and requests that the driver has.

mod complete;

use std::collections::VecDeque;

use crate::{
    event::{Comm, DeviceId, Event},
    input::Mode,
};
use tracer_common::{DiskCounters, flag};

use super::super::{
    inflight::{InFlight, Io, Kind},
    record::{Action, Record},
};
use super::DeviceCounts;

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

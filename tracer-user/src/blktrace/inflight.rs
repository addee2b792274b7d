//! I/Os in flight, found by where they end.
//!
//! An I/O's end stays the same while it advances: a partial completion moves its start, a
//! driver that advances `bi_iter` (zram, md, dm) completes a bio at its end with 0 bytes, a
//! requeue keeps what is left. So the key is (kind, end), never the start. Several I/Os may
//! share a key; the order of arrival tells them apart. A passthrough request has no place: all
//! of a kind share the key 0.

use std::{
    collections::{BTreeMap, btree_map},
    iter, mem, slice,
};

use crate::event::Comm;

use super::record::{Record, category};

/// Direction and kind: a completion never matches a start of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Read,
    Write,
    Discard,
    WriteZeroes,
    PassthroughIn,
    PassthroughOut,
    /// The block layer's own flush request (`blk_kick_flush` in `block/blk-flush.c`): no
    /// data, no direction.
    InternalFlush,
}

impl Kind {
    pub(super) const fn of(record: &Record) -> Self {
        if record.is(category::PC) {
            if record.is(category::WRITE) {
                Self::PassthroughOut
            } else {
                Self::PassthroughIn
            }
        } else if record.is(category::DISCARD) {
            Self::Discard
        } else if record.is(category::WRITE_ZEROES) {
            Self::WriteZeroes
        } else if record.is(category::WRITE) {
            Self::Write
        } else if record.is(category::FLUSH) && record.bytes == 0 {
            Self::InternalFlush
        } else {
            Self::Read
        }
    }

    pub(super) const fn is_passthrough(self) -> bool {
        matches!(self, Self::PassthroughIn | Self::PassthroughOut)
    }
}

/// An I/O in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub(super) kind: Kind,
    /// First sector that has not completed yet.
    pub(super) at_sector: u64,
    /// First sector behind it.
    pub(super) end_sector: u64,
    /// First sector at submission.
    pub(super) sector: u64,
    /// Bytes at submission.
    pub(super) bytes: u32,
    /// Bytes completed in pieces that did not come in order (split bios).
    pub(super) done_bytes: u32,
    /// Operation and flags, all records of the I/O taken together.
    pub(super) opf: u32,
    pub(super) start_ns: u64,
    pub(super) issue_ns: Option<u64>,
    /// Errno of a partial completion.
    pub(super) errno: u16,
    /// Given back to the queue, so the next issue is the same I/O.
    pub(super) requeued: bool,
    /// The flush machinery completes it a second time, with 0 bytes.
    pub(super) completes_twice: bool,
    /// CPU of the last record that started it.
    pub(super) cpu: u32,
    pub(super) pid: u32,
    pub(super) comm: Comm,
    /// Number in order of arrival.
    pub(super) order: u64,
}

impl Io {
    pub(super) fn new(record: &Record, comm: Comm, order: u64) -> Self {
        let kind = Kind::of(record);
        Self {
            kind,
            at_sector: record.sector,
            end_sector: if kind.is_passthrough() {
                0
            } else {
                record.end_sector()
            },
            sector: record.sector,
            bytes: record.bytes,
            done_bytes: 0,
            opf: record.opf(),
            start_ns: record.time_ns,
            issue_ns: None,
            errno: 0,
            requeued: false,
            completes_twice: false,
            cpu: record.cpu,
            pid: record.pid,
            comm,
            order,
        }
    }

    #[inline]
    fn key(&self) -> Key {
        (self.kind, self.end_sector, self.order)
    }
}

type Key = (Kind, u64, u64);

/// A set of [`Io`]s in order of their keys. A search looks at a bounded number of neighbours.
#[derive(Debug)]
pub(super) struct InFlight(Set);

/// Few are searched faster in a sorted list than in a tree, and a guest seldom has many.
#[derive(Debug)]
enum Set {
    Few(Vec<Io>),
    Many(BTreeMap<Key, Io>),
}

/// Where a list becomes a tree, and a tree a list again.
const MANY: usize = 64;
const FEW: usize = 16;

/// Neighbours that a search by overlap looks at. I/Os in flight seldom overlap at all.
const NEIGHBOURS: usize = 32;

/// Of several I/Os with one key the oldest completes first, unless it has been waiting this
/// many times longer than the newest: then its completion was probably lost, and taking it
/// would give every later I/O at that place a false latency.
const LOST_FACTOR: u64 = 4;

impl Default for InFlight {
    fn default() -> Self {
        Self(Set::Few(Vec::new()))
    }
}

/// I/Os of a set, in order of their keys.
enum Ios<'a> {
    Few(slice::Iter<'a, Io>),
    Many(btree_map::Range<'a, Key, Io>),
}

impl<'a> Iterator for Ios<'a> {
    type Item = &'a Io;

    #[inline]
    fn next(&mut self) -> Option<&'a Io> {
        match self {
            Self::Few(ios) => ios.next(),
            Self::Many(ios) => ios.next().map(|(_, io)| io),
        }
    }
}

impl DoubleEndedIterator for Ios<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(ios) => ios.next_back(),
            Self::Many(ios) => ios.next_back().map(|(_, io)| io),
        }
    }
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            Set::Few(ios) => ios.len(),
            Set::Many(ios) => ios.len(),
        }
    }

    pub(super) fn insert(&mut self, io: Io) {
        match &mut self.0 {
            Set::Few(ios) if ios.len() < MANY => {
                let at = ios.partition_point(|other| other.key() < io.key());
                ios.insert(at, io);
            }
            Set::Few(ios) => {
                let mut many: BTreeMap<_, _> = ios.drain(..).map(|io| (io.key(), io)).collect();
                many.insert(io.key(), io);
                self.0 = Set::Many(many);
            }
            Set::Many(ios) => {
                ios.insert(io.key(), io);
            }
        }
    }

    fn take(&mut self, key: Key) -> Option<Io> {
        match &mut self.0 {
            Set::Few(ios) => {
                let at = ios.binary_search_by_key(&key, Io::key).ok()?;
                Some(ios.remove(at))
            }
            Set::Many(ios) => {
                let io = ios.remove(&key);
                if ios.len() <= FEW {
                    self.0 = Set::Few(mem::take(ios).into_values().collect());
                }
                io
            }
        }
    }

    /// The I/Os of a kind that end from `from` to `to`.
    #[inline]
    fn ending(&self, kind: Kind, from: u64, to: u64) -> Ios<'_> {
        let (least, most) = ((kind, from, 0), (kind, to, u64::MAX));
        match &self.0 {
            Set::Few(ios) => {
                let behind = &ios[ios.partition_point(|io| io.key() < least)..];
                // The range is short: going through it beats another search.
                let length = behind.iter().take_while(|io| io.key() <= most).count();
                Ios::Few(behind[..length].iter())
            }
            Set::Many(ios) => Ios::Many(ios.range(least..=most)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Io> {
        match &self.0 {
            Set::Few(ios) => Ios::Few(ios.iter()),
            Set::Many(ios) => Ios::Many(ios.range(..)),
        }
    }

    /// Removes everything that arrived before `order` and returns how many that were.
    pub(super) fn forget_before(&mut self, order: u64) -> u64 {
        let before = self.len();
        match &mut self.0 {
            Set::Few(ios) => ios.retain(|io| io.order >= order),
            Set::Many(ios) => ios.retain(|_, io| io.order >= order),
        }
        (before - self.len()) as u64
    }

    /// Removes the I/O of this order of arrival.
    pub(super) fn remove(&mut self, kind: Kind, end_sector: u64, order: u64) {
        self.take((kind, end_sector, order));
    }

    /// Takes the I/O that `wanted` accepts among those of a kind that end at `end_sector`.
    pub(super) fn take_ending(
        &mut self,
        kind: Kind,
        end_sector: u64,
        now_ns: u64,
        wanted: impl Fn(&Io) -> bool,
    ) -> Option<Io> {
        let is_same = |io: &Io| io.kind == kind && io.end_sector == end_sector;
        if let Set::Few(ios) = &mut self.0 {
            let at = ios.partition_point(|io| io.key() < (kind, end_sector, 0));
            let first = ios.get(at).filter(|io| is_same(io))?;
            // Nearly always the only one.
            if !ios.get(at + 1).is_some_and(is_same) {
                return wanted(first).then(|| ios.remove(at));
            }
        }
        let mut same_key = self.ending(kind, end_sector, end_sector);
        let first = same_key.next()?;
        let io = match same_key.next_back() {
            None => Some(first).filter(|io| wanted(io))?,
            Some(last) => {
                let newest = Some(last).filter(|io| wanted(io));
                let mut older = iter::once(first).chain(same_key).take(NEIGHBOURS);
                likelier(older.find(|io| wanted(io)), newest, now_ns)?
            }
        };
        let key = io.key();
        self.take(key)
    }

    /// Takes the I/Os that lie one behind the other from `from` up to `to`, each once.
    pub(super) fn take_chain(&mut self, kind: Kind, from: u64, to: u64, chain: &mut Vec<Io>) {
        let mut at = from;
        while at < to {
            let next = self
                .ending(kind, at + 1, to)
                .take(NEIGHBOURS)
                .find(|io| io.at_sector == at)
                .map(Io::key);
            let Some(io) = next.and_then(|key| self.take(key)) else {
                return;
            };
            at = io.end_sector;
            chain.push(io);
        }
    }

    /// Takes the I/O that begins at `from` or before and ends at `to` or behind.
    pub(super) fn take_containing(&mut self, kind: Kind, from: u64, to: u64) -> Option<Io> {
        let key = self
            .ending(kind, to, u64::MAX)
            .take(NEIGHBOURS)
            .find(|io| io.at_sector <= from && io.at_sector < io.end_sector)?
            .key();
        self.take(key)
    }

    /// Takes the I/O that waits at exactly `at`, wherever it ends.
    pub(super) fn take_at(&mut self, kind: Kind, at: u64) -> Option<Io> {
        let key = self
            .ending(kind, at.saturating_add(1), u64::MAX)
            .take(NEIGHBOURS)
            .find(|io| io.at_sector == at)?
            .key();
        self.take(key)
    }
}

/// Which of the oldest and the newest I/O with one key a completion belongs to.
fn likelier<'a>(oldest: Option<&'a Io>, newest: Option<&'a Io>, now_ns: u64) -> Option<&'a Io> {
    let (Some(old), Some(new)) = (oldest, newest) else {
        return oldest.or(newest);
    };
    let age = |io: &Io| now_ns.saturating_sub(io.issue_ns.unwrap_or(io.start_ns));
    let limit = age(new).saturating_mul(LOST_FACTOR);
    let lost = limit > 0 && age(old) > limit;
    Some(if lost { new } else { old })
}

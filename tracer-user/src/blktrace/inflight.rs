//! I/Os in flight, found by where they end.
//!
//! An I/O's end stays the same while it advances: a partial completion moves its start, a
//! driver that advances `bi_iter` (zram, md, dm) completes a bio at its end with 0 bytes, a
//! requeue keeps what is left. So the key is (kind, end), never the start. Several I/Os may
//! share a key; the order of arrival tells them apart. A passthrough request has no place: all
//! of a kind share the key 0.

use std::collections::BTreeMap;

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
}

type Key = (Kind, u64, u64);

/// A set of [`Io`]s. A search looks at a bounded number of neighbours.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    ios: BTreeMap<Key, Io>,
}

/// Neighbours that a search by overlap looks at. I/Os in flight seldom overlap at all.
const NEIGHBOURS: usize = 32;

/// Of several I/Os with one key the oldest completes first, unless it has been waiting this
/// many times longer than the newest: then its completion was probably lost, and taking it
/// would give every later I/O at that place a false latency.
const LOST_FACTOR: u64 = 4;

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.ios.len()
    }

    pub(super) fn insert(&mut self, io: Io) {
        self.ios.insert((io.kind, io.end_sector, io.order), io);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Io> {
        self.ios.values()
    }

    /// Removes everything that arrived before `order` and returns how many that were.
    pub(super) fn forget_before(&mut self, order: u64) -> u64 {
        let before = self.ios.len();
        self.ios.retain(|_, io| io.order >= order);
        (before - self.ios.len()) as u64
    }

    /// Removes the I/O of this order of arrival.
    pub(super) fn remove(&mut self, kind: Kind, end_sector: u64, order: u64) {
        self.take((kind, end_sector, order));
    }

    fn take(&mut self, key: Key) -> Option<Io> {
        self.ios.remove(&key)
    }

    /// Takes the I/O that `wanted` accepts among those of a kind that end at `end_sector`.
    pub(super) fn take_ending(
        &mut self,
        kind: Kind,
        end_sector: u64,
        now_ns: u64,
        wanted: impl Fn(&Io) -> bool,
    ) -> Option<Io> {
        let range = (kind, end_sector, 0)..=(kind, end_sector, u64::MAX);
        let mut same_key = self.ios.range(range);
        let newest = same_key.next_back().filter(|(_, io)| wanted(io));
        let oldest = same_key.take(NEIGHBOURS).find(|(_, io)| wanted(io));
        let key = match (oldest, newest) {
            (Some((oldest_key, oldest)), Some((newest_key, newest))) => {
                let age = |io: &Io| now_ns.saturating_sub(io.issue_ns.unwrap_or(io.start_ns));
                let limit = age(newest).saturating_mul(LOST_FACTOR);
                if limit > 0 && age(oldest) > limit {
                    *newest_key
                } else {
                    *oldest_key
                }
            }
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (None, None) => return None,
        };
        self.take(key)
    }

    /// Takes the I/Os that lie one behind the other from `from` up to `to`, each once.
    pub(super) fn take_chain(&mut self, kind: Kind, from: u64, to: u64, chain: &mut Vec<Io>) {
        let mut at = from;
        while at < to {
            let next = self
                .ios
                .range((kind, at + 1, 0)..=(kind, to, u64::MAX))
                .take(NEIGHBOURS)
                .find(|(_, io)| io.at_sector == at)
                .map(|(key, _)| *key);
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
            .ios
            .range((kind, to, 0)..=(kind, u64::MAX, u64::MAX))
            .take(NEIGHBOURS)
            .find(|(_, io)| io.at_sector <= from && io.at_sector < io.end_sector)
            .map(|(key, _)| *key)?;
        self.take(key)
    }

    /// Takes the I/O that waits at exactly `at`, wherever it ends.
    pub(super) fn take_at(&mut self, kind: Kind, at: u64) -> Option<Io> {
        let key = self
            .ios
            .range((kind, at.saturating_add(1), 0)..=(kind, u64::MAX, u64::MAX))
            .take(NEIGHBOURS)
            .find(|(_, io)| io.at_sector == at)
            .map(|(key, _)| *key)?;
        self.take(key)
    }
}

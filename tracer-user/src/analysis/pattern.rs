//! The pattern of one device's reads and writes: streams, blocks, groups, working set.
//!
//! Owns what issue and report call axes: everything that needs an I/O's place. Created with
//! the first I/O of its direction, so an idle device costs nothing.

use tracer_common::flag;

use super::{
    amplification::Amplifier, groups::Bounds, latency::Distribution, spread::Spread,
    streams::Streams,
};
use crate::event::Event;

/// Size of a page, and so of the bios that the page cache of the host submits.
pub(super) const PAGE_BYTES: u32 = 4096;

/// What reads look like.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    pub(super) streams: Streams,
    pub(super) spread: Spread,
}

/// What writes look like.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    pub(super) streams: Streams,
    pub(super) amplifier: Amplifier,
    /// Writes of one page without the IDLE flag, which direct I/O carries.
    pub(super) pages_not_direct: u64,
    /// Times of the durable ones.
    pub(super) durable: Distribution,
}

impl Reads {
    pub(super) fn new() -> Self {
        Self {
            streams: Streams::new(),
            spread: Spread::default(),
        }
    }

    pub(super) fn record(&mut self, event: &Event) {
        self.streams
            .record(event.offset_bytes, event.bytes, event.start_ns);
        self.spread.record(event.offset_bytes, event.bytes);
    }
}

impl Writes {
    pub(super) fn new(amplifier: Amplifier, latency_digits: u8) -> Self {
        Self {
            streams: Streams::new(),
            amplifier,
            pages_not_direct: 0,
            durable: Distribution::new(latency_digits),
        }
    }

    pub(super) fn record(&mut self, event: &Event, bounds: &Bounds) {
        self.streams
            .record(event.offset_bytes, event.bytes, event.start_ns);
        self.amplifier
            .record(event.end_ns, event.offset_bytes, event.bytes, bounds);
        self.pages_not_direct +=
            u64::from(event.bytes == PAGE_BYTES && !event.flags.has(flag::IDLE));
        if event.is_durable_write()
            && let Some(ns) = event.latency_ns()
        {
            self.durable.record(ns);
        }
    }
}

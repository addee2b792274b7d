//! Which I/Os are shown: conditions that must all be met.
//!
//! Owns the conditions and how each is written on a command line. An error says what was
//! given, what is wrong with it and what is right.

use std::ops::Range;

use globset::{GlobBuilder, GlobMatcher};

use crate::{
    event::{Event, Op},
    recording::words::{all_flag_words, comm_text, parse_flag, parse_op},
};

/// Conditions on an I/O; the default lets every I/O through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Operations, any of them; empty for all.
    pub ops: Vec<Op>,
    /// Flags that must be set and that must not be.
    pub flags: FlagCondition,
    /// Shortest latency, ns. An I/O whose latency is not known (the clock ran backwards) does
    /// not meet it.
    pub min_latency_ns: Option<u64>,
    /// Smallest size, bytes.
    pub min_bytes: Option<u64>,
    /// Bytes of the disk of which the I/O touches at least one (its first one, when it has no
    /// length).
    pub offsets: Option<Range<u64>>,
    /// Processes, any of them; empty for all.
    pub pids: Vec<u32>,
    /// Command names, any of them; empty for all.
    pub comms: Vec<CommPattern>,
}

/// Flags, by their bits (see [`tracer_common::flag`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagCondition {
    /// All of them must be set.
    pub set: u32,
    /// None of them may be set.
    pub clear: u32,
}

/// A command name or a glob of names.
#[derive(Clone, Debug)]
pub struct CommPattern(GlobMatcher);

impl Filter {
    /// Whether an I/O meets every condition.
    #[must_use]
    pub fn passes(&self, event: &Event) -> bool {
        let flags = event.flags.bits();
        let any_of = |listed: bool, empty: bool| empty || listed;
        any_of(self.ops.contains(&event.op), self.ops.is_empty())
            && flags & self.flags.set == self.flags.set
            && flags & self.flags.clear == 0
            && self
                .min_latency_ns
                .is_none_or(|least| event.latency_ns().is_some_and(|ns| ns >= least))
            && self
                .min_bytes
                .is_none_or(|least| u64::from(event.bytes) >= least)
            && self
                .offsets
                .as_ref()
                .is_none_or(|range| touches(event, range))
            && any_of(self.pids.contains(&event.pid), self.pids.is_empty())
            && (self.comms.is_empty() || {
                let comm = comm_text(event.comm);
                self.comms.iter().any(|pattern| pattern.0.is_match(&comm))
            })
    }
}

fn touches(event: &Event, range: &Range<u64>) -> bool {
    let end = event.end_bytes().max(event.offset_bytes.saturating_add(1));
    event.offset_bytes < range.end && end > range.start
}

/// Reads an operation: a word of the recording, or `trim` for `discard`.
///
/// # Errors
/// What is wrong, for a message.
pub fn op(text: &str) -> Result<Op, String> {
    match text {
        "trim" => Some(Op::Discard),
        word => parse_op(word),
    }
    .ok_or_else(|| {
        "not an operation: read, write, flush, discard, secure-erase or write-zeroes".to_owned()
    })
}

/// Reads flags: words joined by commas, each with a leading `!` when it must not be set, as in
/// `fua` or `preflush,!sync`.
///
/// # Errors
/// What is wrong, for a message.
pub fn flags(text: &str) -> Result<FlagCondition, String> {
    let mut condition = FlagCondition::default();
    for word in text.split(',') {
        let (word, to) = match word.strip_prefix('!') {
            Some(word) => (word, &mut condition.clear),
            None => (word, &mut condition.set),
        };
        *to |= parse_flag(word).ok_or_else(|| {
            let known: Vec<_> = all_flag_words().collect();
            format!("no flag `{word}`: there are {}", known.join(", "))
        })?;
    }
    if condition.set & condition.clear != 0 {
        return Err("a flag cannot be set and not set".to_owned());
    }
    Ok(condition)
}

/// Reads a range of a disk, `FROM-TO` in bytes or binary units, as in `0-1G`; without `TO` up
/// to the end. `TO` is the first byte behind it.
///
/// # Errors
/// What is wrong, for a message.
pub fn offset_range(text: &str) -> Result<Range<u64>, String> {
    let wrong =
        || "not a range: write FROM-TO with sizes, as in 0-1G, or 10G- to the end".to_owned();
    let size = |text: &str| {
        let sizes = parse_size::Config::new().with_binary();
        sizes.parse_size(text.trim()).map_err(|_| wrong())
    };
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let range = size(from)?..if to.trim().is_empty() {
        u64::MAX
    } else {
        size(to)?
    };
    if range.is_empty() {
        return Err("an empty range: its end must lie behind its beginning".to_owned());
    }
    Ok(range)
}

/// Reads a command name, or a glob such as `iou-wrk-*`.
///
/// # Errors
/// What is wrong, for a message.
pub fn comm(text: &str) -> Result<CommPattern, String> {
    let glob = GlobBuilder::new(text).build();
    glob.map(|glob| CommPattern(glob.compile_matcher()))
        .map_err(|error| format!("not a command name or glob: {error}"))
}

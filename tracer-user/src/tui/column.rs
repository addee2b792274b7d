//! Columns of the table of zvols: what is sorted by, and which rows are seen in which order.

use std::cmp::{Ordering, Reverse};

use super::{
    snapshot::{Row, STUCK_NS, Snapshot},
    state::State,
};
use crate::report::model::Severity;

/// A column of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// Dataset, or the device when it has none.
    Name,
    /// Block size.
    Block,
    /// Reads a second.
    ReadIops,
    /// Bytes read a second.
    ReadBytes,
    /// Writes a second.
    WriteIops,
    /// Bytes written a second.
    WriteBytes,
    /// The most frequent exact size of writes.
    WriteSize,
    /// Median latency of writes.
    WriteP50,
    /// 99th percentile of writes.
    #[default]
    WriteP99,
    /// Longest write.
    WriteMax,
    /// Flushes a second.
    Flushes,
    /// 99th percentile of flushes.
    FlushP99,
    /// I/Os in flight.
    InFlight,
    /// Age of the oldest I/O in flight.
    Oldest,
    /// Verdict.
    Verdict,
}

impl Column {
    /// All, from left to right.
    pub const ALL: [Self; 15] = [
        Self::Name,
        Self::Block,
        Self::ReadIops,
        Self::ReadBytes,
        Self::WriteIops,
        Self::WriteBytes,
        Self::WriteSize,
        Self::WriteP50,
        Self::WriteP99,
        Self::WriteMax,
        Self::Flushes,
        Self::FlushP99,
        Self::InFlight,
        Self::Oldest,
        Self::Verdict,
    ];

    /// The one to the right; the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// Order of two rows by this column, smallest first.
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        if self == Self::Name {
            return name(a).cmp(name(b));
        }
        self.number(a).cmp(&self.number(b))
    }

    /// What a row has in a column of numbers; less than 0 where it has nothing. Rates compare
    /// as counts, since all rows cover the same window.
    fn number(self, row: &Row) -> Option<u64> {
        let load = &row.load;
        match self {
            Self::Name => None,
            Self::Block => row.block_bytes,
            Self::ReadIops => Some(load.read.count),
            Self::ReadBytes => Some(load.read.bytes),
            Self::WriteIops => Some(load.write.count),
            Self::WriteBytes => Some(load.write.bytes),
            Self::WriteSize => load.dominant_write.map(|dominant| dominant.bytes),
            Self::WriteP50 => load.write.p50_ns,
            Self::WriteP99 => load.write.p99_ns.max(stuck_ns(row)),
            Self::WriteMax => load.write.max_ns.max(stuck_ns(row)),
            Self::Flushes => Some(load.flush.count),
            Self::FlushP99 => load.flush.p99_ns,
            Self::InFlight => Some(row.outstanding.count),
            Self::Oldest => Some(row.outstanding.oldest_ns),
            Self::Verdict => row.badge.map(|badge| match badge.severity {
                Severity::Ok => 0,
                Severity::Info => 1,
                Severity::Warning => 2,
                Severity::Critical => 3,
            }),
        }
    }
}

/// Age of an I/O that is stuck: though it never completed, its latency is at least that.
fn stuck_ns(row: &Row) -> Option<u64> {
    Some(row.outstanding.oldest_ns).filter(|ns| *ns >= STUCK_NS)
}

/// Dataset, or the device when there is none.
#[must_use]
pub fn name(row: &Row) -> &str {
    row.dataset.as_deref().unwrap_or(&row.device)
}

/// The rows that pass the filter, in the order that was chosen. Equal rows, and idle ones, by
/// bytes moved and then by name, so that they do not jump about.
#[must_use]
pub fn visible<'a>(state: &State, snapshot: &'a Snapshot) -> Vec<&'a Row> {
    let wanted = state.filter.to_lowercase();
    let mut rows: Vec<&Row> = snapshot
        .rows
        .iter()
        .filter(|row| wanted.is_empty() || matches(row, &wanted))
        .collect();
    let busy = |row: &Row| Reverse(row.load.read.bytes + row.load.write.bytes);
    rows.sort_by(|a, b| {
        let order = state.sort.column.compare(a, b);
        let order = if state.sort.descending {
            order.reverse()
        } else {
            order
        };
        order
            .then_with(|| busy(a).cmp(&busy(b)))
            .then_with(|| name(a).cmp(name(b)))
            .then_with(|| a.id.cmp(&b.id))
    });
    rows
}

fn matches(row: &Row, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&row.device) || row.dataset.as_deref().is_some_and(has)
}

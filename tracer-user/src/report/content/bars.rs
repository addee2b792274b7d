//! Distributions as bars: sizes (exact) and latencies (ranges), reads and writes side by side.

use std::collections::BTreeMap;

use super::super::{
    model::{LatencyBucket, OpStats, Ops},
    units::{count, duration, float, percent_of, size},
};

/// Sizes with a row of their own, for each operation; what is rarer shares one row.
const SIZES_SHOWN: usize = 8;
/// Rows of a latency distribution; a wider one gets coarser ranges.
const RANGES_SHOWN: u32 = 12;

/// A distribution of one or two operations over the same rows.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Bars {
    /// Operations, in the order of each row's bars.
    pub(in super::super) sides: Vec<&'static str>,
    /// Rows in the order of the axis.
    pub(in super::super) rows: Vec<BarRow>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct BarRow {
    /// Size or range.
    pub(in super::super) label: String,
    /// Whether this is the block size.
    pub(in super::super) is_block: bool,
    /// One for each side; `None` where nothing was seen.
    pub(in super::super) bars: Vec<Option<Bar>>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Bar {
    /// Exact count.
    pub(in super::super) count: String,
    /// Share of the operation.
    pub(in super::super) share: String,
    /// Length, 1 for the longest of its side.
    pub(in super::super) length: f64,
}

/// One operation's values by row.
struct Side<K> {
    name: &'static str,
    counts: BTreeMap<K, u64>,
}

/// A row of the size table: an exact size, or all that have no row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SizeRow {
    Exact(u64),
    Others,
}

/// Exact sizes of reads and writes; the block size, if any of it was seen, is marked.
pub(in super::super) fn sizes(ops: &Ops, block_bytes: Option<u64>) -> Bars {
    let sides: Vec<_> = with_io(ops)
        .map(|(name, stats)| {
            let mut counts = BTreeMap::new();
            for (place, size) in stats.sizes.iter().enumerate() {
                // One more costs no row, since it would stand alone among the others.
                let alone = stats.sizes.len() == SIZES_SHOWN + 1 && stats.sizes_rest.count == 0;
                let row = if place < SIZES_SHOWN || alone {
                    SizeRow::Exact(size.bytes)
                } else {
                    SizeRow::Others
                };
                *counts.entry(row).or_default() += size.count;
            }
            if stats.sizes_rest.count > 0 {
                *counts.entry(SizeRow::Others).or_default() += stats.sizes_rest.count;
            }
            Side { name, counts }
        })
        .collect();
    rows(
        &sides,
        |row| match row {
            SizeRow::Exact(bytes) => size(bytes),
            SizeRow::Others => "others".into(),
        },
        |row| block_bytes.is_some_and(|block| row == SizeRow::Exact(block)),
    )
}

/// Latencies of reads and writes in ranges of powers of two, coarser when they spread far.
pub(in super::super) fn latencies(ops: &Ops, unicode: bool) -> Bars {
    let sides: Vec<_> = with_io(ops)
        .map(|(name, stats)| (name, &stats.latency_histogram))
        .filter(|(_, buckets)| !buckets.is_empty())
        .collect();
    let exponents = || {
        sides
            .iter()
            .flat_map(|(_, buckets)| buckets.iter().map(exponent))
    };
    let lowest = exponents().min().unwrap_or(0);
    let highest = exponents().max().unwrap_or(0);
    let mut step = 1;
    while highest / step - lowest / step >= RANGES_SHOWN {
        step *= 2;
    }
    let sides: Vec<_> = sides
        .into_iter()
        .map(|(name, buckets)| {
            // Every range between the ends has a row, so that a gap is seen as a gap.
            let ranges = lowest / step..=highest / step;
            let mut counts: BTreeMap<u32, u64> = ranges.map(|range| (range, 0)).collect();
            for bucket in buckets {
                *counts.entry(exponent(bucket) / step).or_default() += bucket.count;
            }
            Side { name, counts }
        })
        .collect();
    let upper = |range: u32| {
        let end = 1_u64.checked_shl((range + 1) * step).unwrap_or(u64::MAX);
        format!("< {}", duration(end, unicode))
    };
    rows(&sides, upper, |_| false)
}

/// Position of a bucket on a scale of powers of two; the first holds all below 2 ns.
fn exponent(bucket: &LatencyBucket) -> u32 {
    // The first bucket of a histogram begins at 0: its place is next to the second one.
    let inside = if bucket.from_ns == 0 {
        bucket.to_ns.saturating_sub(1)
    } else {
        bucket.from_ns
    };
    inside.max(1).ilog2()
}

fn with_io(ops: &Ops) -> impl Iterator<Item = (&'static str, &OpStats)> {
    [("writes", &ops.write), ("reads", &ops.read)]
        .into_iter()
        .filter(|(_, stats)| stats.count > 0)
}

fn rows<K: Copy + Ord>(
    sides: &[Side<K>],
    label: impl Fn(K) -> String,
    is_block: impl Fn(K) -> bool,
) -> Bars {
    let mut keys: Vec<K> = sides
        .iter()
        .flat_map(|side| side.counts.keys().copied())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let scale: Vec<(u64, u64)> = sides
        .iter()
        .map(|side| {
            let longest = side.counts.values().copied().max().unwrap_or(0);
            (side.counts.values().sum(), longest)
        })
        .collect();
    let bar = |side: &Side<K>, &(total, longest): &(u64, u64), key: K| {
        let n = side.counts.get(&key).copied().filter(|n| *n > 0)?;
        Some(Bar {
            count: count(n),
            share: percent_of(n, total),
            length: float(n) / float(longest.max(1)),
        })
    };
    let rows = keys
        .into_iter()
        .map(|key| BarRow {
            label: label(key),
            is_block: is_block(key),
            bars: sides
                .iter()
                .zip(&scale)
                .map(|(side, scale)| bar(side, scale, key))
                .collect(),
        })
        .collect();
    Bars {
        sides: sides.iter().map(|side| side.name).collect(),
        rows,
    }
}

//! Distributions as bars: sizes (exact) and latencies (ranges), reads and writes side by side.

use std::collections::BTreeMap;

use super::super::{
    model::{LatencyBucket, Ops, Rest, SizeCount},
    units::{count, duration, float, percent_of, size},
};

/// Sizes with a row of their own, for each operation; what is rarer shares one row.
const SIZES_SHOWN: usize = 8;
/// Rows of a latency distribution; a wider one gets coarser ranges.
const RANGES_SHOWN: u32 = 12;

/// What bars are made of: one operation's sizes and latencies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution<'a> {
    /// Operation, in the plural.
    pub(crate) name: &'static str,
    /// Exact sizes, most frequent first.
    pub(crate) sizes: &'a [SizeCount],
    /// I/Os of all other sizes.
    pub(crate) sizes_rest: Rest,
    /// Latency by ranges, empty ones left out.
    pub(crate) latency: &'a [LatencyBucket],
}

/// Whether the block size has a row on the axis of sizes though no I/O was of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRow {
    /// Only if an I/O was.
    IfSeen,
    /// Always: it says on which side of it the sizes are.
    Always,
}

/// A distribution of some operations over the same rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bars {
    /// Operations, in the order of each row's bars.
    pub(crate) sides: Vec<&'static str>,
    /// Rows in the order of the axis.
    pub(crate) rows: Vec<BarRow>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarRow {
    /// Size or range.
    pub(crate) label: String,
    /// Whether this is the block size.
    pub(crate) is_block: bool,
    /// One for each side; `None` where nothing was seen.
    pub(crate) bars: Vec<Option<Bar>>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// Exact count.
    pub(crate) count: String,
    /// Share of the operation.
    pub(crate) share: String,
    /// Length, 1 for the longest of its side.
    pub(crate) length: f64,
}

/// Writes and reads of a device, those that there were.
pub(in super::super) fn distributions(ops: &Ops) -> Vec<Distribution<'_>> {
    [("writes", &ops.write), ("reads", &ops.read)]
        .into_iter()
        .filter(|(_, stats)| stats.count > 0)
        .map(|(name, stats)| Distribution {
            name,
            sizes: &stats.sizes,
            sizes_rest: stats.sizes_rest,
            latency: &stats.latency_histogram,
        })
        .collect()
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

/// Exact sizes; the block size is marked.
pub(crate) fn sizes(of: &[Distribution], block_bytes: Option<u64>, block_row: BlockRow) -> Bars {
    let sides: Vec<_> = of
        .iter()
        .map(|side| {
            let mut counts = BTreeMap::new();
            if let Some(bytes) = block_bytes.filter(|_| block_row == BlockRow::Always) {
                counts.insert(SizeRow::Exact(bytes), 0);
            }
            for (place, size) in side.sizes.iter().enumerate() {
                // One more costs no row, since it would stand alone among the others.
                let alone = side.sizes.len() == SIZES_SHOWN + 1 && side.sizes_rest.count == 0;
                let row = if place < SIZES_SHOWN || alone {
                    SizeRow::Exact(size.bytes)
                } else {
                    SizeRow::Others
                };
                *counts.entry(row).or_default() += size.count;
            }
            if side.sizes_rest.count > 0 {
                *counts.entry(SizeRow::Others).or_default() += side.sizes_rest.count;
            }
            Side {
                name: side.name,
                counts,
            }
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

/// Latencies in ranges of powers of two, coarser when they spread far.
pub(crate) fn latencies(of: &[Distribution], unicode: bool) -> Bars {
    let sides: Vec<_> = of.iter().filter(|side| !side.latency.is_empty()).collect();
    let exponents = || {
        sides
            .iter()
            .flat_map(|side| side.latency.iter().map(exponent))
    };
    let lowest = exponents().min().unwrap_or(0);
    let highest = exponents().max().unwrap_or(0);
    let mut step = 1;
    while highest / step - lowest / step >= RANGES_SHOWN {
        step *= 2;
    }
    let sides: Vec<_> = sides
        .into_iter()
        .map(|side| {
            // Every range between the ends has a row, so that a gap is seen as a gap.
            let ranges = lowest / step..=highest / step;
            let mut counts: BTreeMap<u32, u64> = ranges.map(|range| (range, 0)).collect();
            for bucket in side.latency {
                *counts.entry(exponent(bucket) / step).or_default() += bucket.count;
            }
            Side {
                name: side.name,
                counts,
            }
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

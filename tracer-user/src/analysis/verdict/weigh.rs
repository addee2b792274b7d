//! Which block size this workload would be best served by.
//!
//! Owns the cost of a candidate and the decision to recommend one. The cost is what the pool
//! must move for a byte of the guest: data blocks as they coalesce, with the space that the
//! layout makes of a block, blocks that are read since a write covers them in part, indirect
//! blocks, and a fixed price of each block. A candidate is
//! recommended only when it beats the present size by [`MARGIN`], or needs several times fewer
//! blocks for large sequential writes at no more cost; "keep it" is a common answer.

use super::{
    Facts,
    facts::share,
    thresholds::{
        BLOCK_OVERHEAD_BYTES, FEWER_BLOCKS, LARGE_WRITES_SHARE, LARGEST_RECOMMENDED, MARGIN,
        NEAR_BEST, READ_BEFORE_WRITE_SHARE, READ_TOLERANCE, READS_MATTER_SHARE, SEQUENTIAL_SHARE,
        SMALLEST_RECOMMENDED,
    },
};
use crate::{
    analysis::spread::block_shift,
    report::{
        model::Candidate,
        units::{factor, size},
    },
};

/// Size of an indirect block as it is allocated, for the space it takes on the layout.
const INDIRECT_ALLOCATED_BYTES: u64 = 48 << 10;

/// A block size and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Choice {
    pub(in crate::analysis) block_bytes: u64,
    /// Bytes for the pool to move per byte written by the guest, overhead included.
    pub(in crate::analysis) cost: f64,
}

/// The present size against the best of the candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Weighing {
    pub(in crate::analysis) present: Choice,
    pub(in crate::analysis) best: Choice,
    /// Whether the best is better enough to recommend it.
    pub(in crate::analysis) is_worth_it: bool,
}

impl Weighing {
    pub(in crate::analysis) fn recommended(&self) -> Option<u64> {
        self.is_worth_it.then_some(self.best.block_bytes)
    }

    /// The decision with its numbers.
    pub(in crate::analysis) fn sentence(&self) -> String {
        let (present, best) = (self.present, self.best);
        let present_size = size(present.block_bytes);
        if present.block_bytes == best.block_bytes {
            return format!(
                "keep {present_size}: of all candidates it costs least ({}) or near to it",
                factor(present.cost)
            );
        }
        let both = format!(
            "{present_size} costs {}, {} costs {} (data, blocks read first, \
             indirect blocks, and a price for each block)",
            factor(present.cost),
            size(best.block_bytes),
            factor(best.cost)
        );
        if self.is_worth_it {
            both
        } else {
            format!("keep {present_size}: {both}, too little to move for")
        }
    }
}

/// Weighs the candidates; `None` when the present size is unknown or nothing was written.
pub(in crate::analysis) fn weigh(facts: &Facts<'_>) -> Option<Weighing> {
    let present_bytes = facts.block_bytes()?;
    let candidates = facts.device.candidates.as_deref()?;
    let present = candidates
        .iter()
        .find(|candidate| candidate.block_bytes == present_bytes)
        .and_then(|candidate| choice(candidate, facts))?;
    let choices: Vec<Choice> = candidates
        .iter()
        .filter(|c| is_possible(c.block_bytes, facts) && !reads_suffer(c.block_bytes, facts))
        .filter_map(|candidate| choice(candidate, facts))
        .collect();
    let cheapest = choices.iter().map(|c| c.cost).fold(present.cost, f64::min);
    let largest_of = |wanted: &dyn Fn(&Choice) -> bool| {
        choices
            .iter()
            .filter(|choice| choice.cost <= cheapest * NEAR_BEST && wanted(choice))
            .max_by_key(|choice| choice.block_bytes)
            .copied()
    };
    let fewer = largest_of(&|choice| has_fewer_blocks(present, *choice, facts));
    let is_near = present.cost <= cheapest * NEAR_BEST;
    let best = match fewer {
        Some(fewer) => fewer,
        None if is_near => present,
        None => largest_of(&|_| true).unwrap_or(present),
    };
    Some(Weighing {
        present,
        best,
        is_worth_it: fewer.is_some() || present.cost >= best.cost * MARGIN,
    })
}

/// What every pool takes; a size below the sector would waste the rest of it.
fn is_possible(block_bytes: u64, facts: &Facts<'_>) -> bool {
    let sector = facts.insight.layout.map_or(0, |layout| 1 << layout.ashift);
    (SMALLEST_RECOMMENDED.max(sector)..=LARGEST_RECOMMENDED).contains(&block_bytes)
}

#[allow(clippy::cast_precision_loss, reason = "a block size is below 2^53")]
fn choice(candidate: &Candidate, facts: &Facts<'_>) -> Option<Choice> {
    let coalesced = candidate.coalesced?;
    let indirect_space = facts
        .insight
        .layout
        .map_or(1.0, |layout| layout.space(INDIRECT_ALLOCATED_BYTES).raw);
    let data = coalesced * candidate.space_raw.unwrap_or(1.0);
    let metadata = candidate.metadata.unwrap_or(0.0) * indirect_space;
    let read_first =
        coalesced * candidate.partial_write_share.unwrap_or(0.0) * READ_BEFORE_WRITE_SHARE;
    let blocks = coalesced / candidate.block_bytes as f64;
    Some(Choice {
        block_bytes: candidate.block_bytes,
        cost: data + read_first + metadata + blocks * BLOCK_OVERHEAD_BYTES,
    })
}

/// Large sequential writes gain by fewer blocks, whatever else is equal.
fn has_fewer_blocks(present: Choice, larger: Choice, facts: &Facts<'_>) -> bool {
    let Some(dominant) = facts.dominant else {
        return false;
    };
    larger.block_bytes >= present.block_bytes.saturating_mul(FEWER_BLOCKS)
        && larger.block_bytes <= dominant.bytes
        && dominant.share_bytes >= LARGE_WRITES_SHARE
        && larger.cost <= present.cost
        && share(facts.insight.writes.sequential, facts.insight.writes.ios) >= SEQUENTIAL_SHARE
}

/// Whether random reads would cost clearly more than at the present size.
fn reads_suffer(block_bytes: u64, facts: &Facts<'_>) -> bool {
    let (read, written) = (facts.device.ops.read.bytes, facts.device.ops.write.bytes);
    if share(read, read + written) < READS_MATTER_SHARE {
        return false;
    }
    match (
        read_cost(block_bytes, facts),
        facts
            .block_bytes()
            .and_then(|present| read_cost(present, facts)),
    ) {
        (Some(candidate), Some(present)) => candidate > present * READ_TOLERANCE,
        _ => false,
    }
}

/// Bytes to read per byte asked for: a stream reads each block once, everything else whole
/// blocks each time.
fn read_cost(block_bytes: u64, facts: &Facts<'_>) -> Option<f64> {
    let shift = block_shift(block_bytes)?;
    let spread = &facts.insight.read_spread;
    let reads = facts.insight.reads;
    let sequential = share(reads.sequential_bytes, reads.bytes);
    let whole_blocks = share(spread.blocks(shift) << shift, spread.bytes());
    Some(sequential + (1.0 - sequential) * whole_blocks)
}

//! Write amplification at the present block size and at every candidate.
//!
//! Owns the sums over a device's writes from which all block sizes follow in one pass, and
//! their form in the report. A factor is bytes / bytes written by the guest.

use super::{
    groups::{Bounds, WriteGroups},
    indirect::indirect_bytes,
    space::PoolLayout,
    spread::{Spread, block_shift},
    txg::TxgClock,
};
use crate::report::model::{Amplification, Candidate};

/// log2 of the largest granule that groups are counted in. Candidates below it make it smaller.
const GRANULE_SHIFT: u32 = 12;

/// The writes of one device as blocks of any size see them.
#[derive(Clone, Debug)]
pub(super) struct Amplifier {
    spread: Spread,
    groups: WriteGroups,
}

impl Amplifier {
    /// For a device with this block size, if it is known; `in_pool` when a pool's kstat may
    /// tell its transaction groups.
    pub(super) fn new(block_bytes: Option<u64>, candidates: &[u64], in_pool: bool) -> Self {
        let actual = block_bytes.and_then(block_shift);
        let smallest = candidates
            .iter()
            .filter_map(|bytes| block_shift(*bytes))
            .chain(actual)
            .fold(GRANULE_SHIFT, u32::min);
        Self {
            spread: Spread::default(),
            groups: WriteGroups::new(smallest, actual, in_pool),
        }
    }

    /// Takes a write that has data.
    pub(super) fn record(&mut self, end_ns: u64, offset: u64, bytes: u32, bounds: &Bounds) {
        self.spread.record(offset, bytes);
        self.groups.record(end_ns, offset, bytes, bounds);
    }

    pub(super) fn groups_mut(&mut self) -> &mut WriteGroups {
        &mut self.groups
    }

    pub(super) fn groups(&self) -> &WriteGroups {
        &self.groups
    }

    pub(super) fn spread(&self) -> &Spread {
        &self.spread
    }

    /// The same with the open group ended, as if the capture ended now.
    pub(super) fn finished(&self, clock: Option<&TxgClock>, bounds: &Bounds) -> Self {
        let mut finished = self.clone();
        finished.groups.finish(clock, bounds);
        finished
    }

    /// At the present block size; `None` when that is no size ZFS can have.
    pub(super) fn report(&self, block_bytes: u64, size_bytes: u64) -> Option<Amplification> {
        let at = self.at(block_bytes, size_bytes)?;
        Some(Amplification {
            worst_case: at.worst_case,
            coalesced: at.coalesced,
            metadata: at.metadata,
            txg_source: self.groups.source(),
        })
    }

    /// Every candidate that is a size ZFS can have, and the present size if it is none of them.
    pub(super) fn candidates(
        &self,
        candidates: &[u64],
        present: Option<u64>,
        size_bytes: u64,
        layout: Option<PoolLayout>,
    ) -> Vec<Candidate> {
        let mut sizes: Vec<u64> = candidates.iter().copied().chain(present).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
            .into_iter()
            .filter_map(|block_bytes| {
                let at = self.at(block_bytes, size_bytes)?;
                let space = layout.map(|layout| layout.space(block_bytes));
                Some(Candidate {
                    block_bytes,
                    worst_case: at.worst_case,
                    coalesced: at.coalesced,
                    metadata: at.metadata,
                    partial_write_share: at.partial_write_share,
                    space_raw: space.map(|s| s.raw),
                    space_used: space.map(|s| s.used),
                })
            })
            .collect()
    }

    fn at(&self, block_bytes: u64, size_bytes: u64) -> Option<At> {
        let shift = block_shift(block_bytes)?;
        let closed = self.groups.closed();
        let granule_shift = self.groups.granule_shift();
        let level = shift.checked_sub(granule_shift)? as usize;
        let blocks = closed.blocks.get(level)?;
        let metadata = indirect_bytes(blocks, shift, size_bytes);
        Some(At {
            worst_case: factor(self.spread.blocks(shift) << shift, self.spread.bytes()),
            coalesced: factor(blocks[0] << shift, closed.bytes),
            metadata: factor(metadata, closed.bytes),
            partial_write_share: factor(self.spread.partial(shift), self.spread.ios()),
        })
    }
}

struct At {
    worst_case: Option<f64>,
    coalesced: Option<f64>,
    metadata: Option<f64>,
    partial_write_share: Option<f64>,
}

#[allow(clippy::cast_precision_loss, reason = "factors for people")]
fn factor(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

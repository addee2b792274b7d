//! Distinct blocks in ever longer pieces of a stream of writes.
//!
//! Owns a binary counter of sorted pieces: two neighbours of equal rank are merged into one of
//! the next rank, as a merge sort does, and the blocks of every piece are counted. So one pass
//! tells how many blocks would be written were a transaction group as long as one piece, two,
//! four, and so on, up to all of them.

use super::dirty::{self, BlockCounts, LEVELS};

/// The stream cut into pieces of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    /// Distinct blocks, summed over the pieces.
    pub(super) blocks: BlockCounts,
    /// Sum of the squares of the pieces' lengths: their mean, weighted by length, is what a
    /// write finds itself in. Short pieces are left over at the end of a stream.
    pub(super) squares: f64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where it begins in the runs.
    start: usize,
    rank: usize,
    /// How much was pushed, whatever became one.
    length: f64,
}

/// Pieces of a stream. The runs lie in a vector of the caller's, one piece behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// Ranks fall.
    nodes: Vec<Piece>,
    /// By rank: pieces of `2^rank` of those that were pushed.
    rungs: Vec<Rung>,
}

impl Pieces {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How much was pushed.
    pub(super) fn length(&self) -> f64 {
        self.nodes.iter().map(|piece| piece.length).sum()
    }

    /// Takes the runs from an index to the end, compact and with these blocks, as a piece of
    /// this length.
    pub(super) fn push(
        &mut self,
        runs: &mut Vec<u64>,
        start: usize,
        length: f64,
        blocks: &BlockCounts,
    ) {
        let mut piece = Piece {
            start,
            rank: 0,
            length,
        };
        self.count(0, length, blocks);
        while let Some(before) = self.nodes.pop_if(|last| last.rank == piece.rank) {
            piece = Piece {
                start: before.start,
                rank: piece.rank + 1,
                length: before.length + piece.length,
            };
            dirty::compact(runs, piece.start);
            let blocks = dirty::counts(&runs[piece.start..]);
            self.count(piece.rank, piece.length, &blocks);
        }
        self.nodes.push(piece);
    }

    /// Merges all pieces into one, as far as they go.
    pub(super) fn squeeze(&mut self, runs: &mut Vec<u64>) {
        if self.nodes.len() < 2 {
            return;
        }
        let first_rank = self.nodes.first().map_or(0, |first| first.rank);
        // What is left over at a rank: the pieces of lower ranks, together.
        let mut rest: Option<(Piece, BlockCounts)> = None;
        for rank in 0..=first_rank {
            if let Some((piece, blocks)) = &rest {
                self.count(rank, piece.length, blocks);
            }
            if let Some(mut piece) = self.nodes.pop_if(|last| last.rank == rank) {
                if let Some((before, _)) = &rest {
                    piece.length += before.length;
                    dirty::compact(runs, piece.start);
                }
                rest = Some((piece, dirty::counts(&runs[piece.start..])));
            }
        }
        if let Some((piece, blocks)) = rest {
            let rank = first_rank + 1;
            self.count(rank, piece.length, &blocks);
            self.nodes.push(Piece { rank, ..piece });
        }
    }

    /// Merges all pieces and forgets them. Gives the rungs, of which the last is the whole;
    /// none without a piece.
    pub(super) fn fold(&mut self, runs: &mut Vec<u64>) -> Vec<Rung> {
        self.squeeze(runs);
        self.nodes.clear();
        std::mem::take(&mut self.rungs)
    }

    /// Says that so many runs before the first piece are gone.
    pub(super) fn move_up(&mut self, runs: usize) {
        for piece in &mut self.nodes {
            piece.start -= runs;
        }
    }

    fn count(&mut self, rank: usize, length: f64, blocks: &BlockCounts) {
        if self.rungs.len() <= rank {
            self.rungs.push(Rung::NONE);
        }
        self.rungs[rank].add(blocks, length * length);
    }
}

impl Rung {
    pub(super) const NONE: Self = Self {
        blocks: [0; LEVELS],
        squares: 0.0,
    };

    pub(super) fn add(&mut self, blocks: &BlockCounts, squares: f64) {
        for (sum, count) in self.blocks.iter_mut().zip(blocks) {
            *sum += count;
        }
        self.squares += squares;
    }
}

/// Sums two ladders rung by rung; the shorter one goes on with its last rung, which is its
/// whole.
pub(super) fn add_rungs(sum: &mut Vec<Rung>, more: &[Rung]) {
    let longest = sum.len().max(more.len());
    let whole = sum.last().copied().unwrap_or(Rung::NONE);
    sum.resize(longest, whole);
    for (rank, rung) in sum.iter_mut().enumerate() {
        if let Some(more) = more.get(rank).or(more.last()) {
            rung.add(&more.blocks, more.squares);
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "lengths of a few hundred")]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Distinct blocks of a level, summed over pieces of so many leaves, and squared lengths.
    fn by_hand(leaves: &[Vec<u64>], together: usize, level: usize) -> (u64, f64) {
        let pieces = leaves.chunks(together);
        let blocks = pieces.clone().map(|piece| {
            let all = piece.iter().flatten().map(|granule| granule >> level);
            all.collect::<HashSet<_>>().len() as u64
        });
        let squares = pieces.clone().map(|piece| {
            let length: usize = piece.iter().map(Vec::len).sum();
            (length * length) as f64
        });
        (blocks.sum(), squares.sum())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_rung_is_what_counting_by_hand_gives(
            leaves in prop::collection::vec(prop::collection::vec(0..500_u64, 1..20), 1..40),
        ) {
            let (mut pieces, mut runs) = (Pieces::default(), vec![u64::MAX]);
            for leaf in &leaves {
                let start = runs.len();
                for granule in leaf {
                    dirty::push(&mut runs, start, *granule, *granule);
                }
                dirty::compact(&mut runs, start);
                let blocks = dirty::counts(&runs[start..]);
                pieces.push(&mut runs, start, leaf.len() as f64, &blocks);
            }
            let rungs = pieces.fold(&mut runs);
            prop_assert!(pieces.is_empty());
            prop_assert_eq!(runs[0], u64::MAX, "what lies before is not touched");
            prop_assert_eq!(dirty::counts(&runs[1..]), rungs.last().unwrap().blocks);
            prop_assert_eq!(rungs.len(), leaves.len().next_power_of_two().ilog2() as usize + 1);
            for (rank, rung) in rungs.iter().enumerate() {
                for level in [0, 1, 5, 51] {
                    let found = (rung.blocks[level], rung.squares);
                    prop_assert_eq!(found, by_hand(&leaves, 1 << rank, level));
                }
            }
        }
    }

    #[test]
    fn a_shorter_ladder_goes_on_with_its_whole() {
        let rung = |blocks, squares| Rung {
            blocks: [blocks; LEVELS],
            squares,
        };
        let mut sum = Vec::new();
        add_rungs(&mut sum, &[rung(5, 1.0)]);
        add_rungs(&mut sum, &[rung(9, 3.0), rung(8, 2.0), rung(7, 1.0)]);
        add_rungs(&mut sum, &[rung(2, 1.0)]);
        assert_eq!(sum, [rung(16, 5.0), rung(15, 4.0), rung(14, 3.0)]);
    }
}

//! The rules, in the order in which they win among equal severities.

mod cause;
mod size;
mod volume;

use super::{Outcome, Rule};
use crate::report::model::Code;

/// Every rule.
pub(super) static RULES: &[Rule] = &[
    Rule {
        code: Code::KnownDefect,
        condition: "the ZFS version has a known defect, and the trace touches it: flushes, FUA \
                    writes or discards were seen",
        check: cause::known_defect,
    },
    Rule {
        code: Code::Idle,
        condition: "no I/O completed, and the dataset's own counters stood still",
        check: volume::idle,
    },
    Rule {
        code: Code::TooFewWrites,
        condition: "under 300 writes, and the device is not read-mostly",
        check: volume::too_few_writes,
    },
    Rule {
        code: Code::Misaligned,
        condition: "at least 90 % of the writes start off a block, nearly all by the same \
                    remainder, and aligned ones would touch fewer blocks",
        check: size::misaligned,
    },
    Rule {
        code: Code::PageCacheSplit,
        condition: "most writes are 4K, sequential (80 %), and lack the flag of direct I/O",
        check: cause::page_cache_split,
    },
    Rule {
        code: Code::WriteSmallerThanBlock,
        condition: "the dominant write is smaller than the block; what it costs, coalesced, \
                    decides the severity",
        check: size::write_smaller_than_block,
    },
    Rule {
        code: Code::WriteLargerThanBlock,
        condition: "the dominant write is larger than the block",
        check: size::write_larger_than_block,
    },
    Rule {
        code: Code::MixedSizes,
        condition: "no write size has half of the writes",
        check: size::mixed_sizes,
    },
    Rule {
        code: Code::FlushBound,
        condition: "at least 100 flushes or durable writes, half of the slowest 1 % of writes \
                    and flushes are theirs, and their p99 is at least 5 ms",
        check: cause::flush_bound,
    },
    Rule {
        code: Code::ReadMostly,
        condition: "at least 300 reads, and 90 % of reads and writes are reads",
        check: volume::read_mostly,
    },
    Rule {
        code: Code::BlockSizeUnknown,
        condition: "there is I/O and no block size to judge it against",
        check: volume::block_size_unknown,
    },
    Rule {
        code: Code::Fits,
        condition: "the dominant write is exactly one block",
        check: size::fits,
    },
    Rule {
        code: Code::StatisticsNotMaintained,
        condition: "no I/O was seen, though the dataset's own counters moved; or this ZFS version \
                    keeps no block statistics",
        check: volume::statistics_not_maintained,
    },
];

fn silent(why: impl Into<String>) -> Outcome {
    Outcome::Silent(why.into())
}

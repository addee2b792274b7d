//! Rules about write sizes against the block size.

use super::silent;
use crate::{
    analysis::verdict::{
        Facts, Fired, Outcome,
        advice::{keep_or_move, realign},
        facts::share,
        thresholds::{
            AMPLIFIES_BADLY, COALESCES, DOMINANT_SHARE, HEAVY_METADATA, MISALIGNED_SHARE,
        },
    },
    report::{
        model::{Severity, TxgSource},
        units::{count, factor, percent, size},
    },
};

/// Condition: at least 90 % of the writes start off a block, nearly all by one remainder, and
/// they would touch fewer blocks if they did not. Evidence: the remainder and the partition
/// that starts there. Silent for scattered offsets and for writes that lie inside a block.
pub(in crate::analysis::verdict) fn misaligned(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match facts.comparable() {
        Ok(pair) => pair,
        Err(why) => return silent(why),
    };
    let aligned = facts
        .device
        .alignment
        .and_then(|a| a.aligned_share)
        .unwrap_or(1.0);
    let numbers = format!("{} of the writes start on a block", percent(aligned));
    let Some(remainder) = facts.insight.remainder else {
        return silent(format!("{numbers}; the offsets share no remainder"));
    };
    // Writes up to a block lie inside one when they start on a multiple of their own size.
    let natural = dominant.bytes.min(block).max(4096);
    let off_by = remainder.bytes % natural.min(remainder.modulus);
    if 1.0 - aligned < MISALIGNED_SHARE || off_by == 0 || remainder.modulus < 4096 {
        return silent(format!(
            "{numbers}; remainder {} modulo {}",
            size(remainder.bytes),
            size(remainder.modulus)
        ));
    }
    let worst = facts.device.amplification.and_then(|a| a.worst_case);
    let mut evidence = vec![
        format!(
            "{numbers}; nearly all start {} behind a multiple of {}",
            size(remainder.bytes),
            size(remainder.modulus)
        ),
        match &facts.insight.partition {
            Some(partition) => format!(
                "partition {} starts at sector {}, which is that remainder",
                partition.name,
                count(partition.start_sector)
            ),
            None => "no partition that the host knows starts there: look inside the guest \
                     (partition table, LVM)"
                .to_owned(),
        },
        dominant.sentence(),
    ];
    evidence.extend(worst.map(|worst| {
        format!(
            "{} of {} writes cover a block in part; blocks touched are {} of the bytes written",
            count(facts.device.alignment.map_or(0, |a| a.partial_block_writes)),
            count(facts.writes()),
            factor(worst)
        )
    }));
    let culprit = facts.insight.partition.as_ref().map(|p| p.start_sector);
    let covers_blocks = dominant.bytes >= block;
    Outcome::Fired(Fired {
        severity: if covers_blocks || facts.coalesced().is_some_and(|c| c >= COALESCES) {
            Severity::Warning
        } else {
            Severity::Info
        },
        confidence: facts.confidence(),
        summary: match culprit {
            Some(sector) => format!(
                "writes do not start on blocks of {}: the partition starts at sector {}",
                size(block),
                count(sector)
            ),
            None => format!(
                "writes do not start on blocks of {}: all are off by {}",
                size(block),
                size(remainder.bytes)
            ),
        },
        evidence,
        advice: realign(block),
    })
}

/// What ZFS makes of the writes, in sentences.
fn amplification(facts: &Facts<'_>) -> Vec<String> {
    let Some(found) = facts.device.amplification else {
        return Vec::new();
    };
    let mut evidence = Vec::new();
    if let (Some(coalesced), Some(worst)) = (found.coalesced, found.worst_case) {
        let groups = match found.txg_source {
            TxgSource::Kstat => "as the pool's txgs kstat has them",
            TxgSource::Assumed => "assumed by zfs_txg_timeout",
        };
        let number = facts.insight.groups.groups;
        evidence.push(format!(
            "coalesced {} over {} transaction group{}, {groups}; worst case {}",
            factor(coalesced),
            count(number),
            if number == 1 { "" } else { "s" },
            factor(worst)
        ));
    }
    if let Some(metadata) = found.metadata.filter(|metadata| *metadata >= 0.005) {
        evidence.push(format!("indirect blocks add {}", factor(metadata)));
    }
    let in_part = facts.insight.groups.first_touched_in_part;
    if in_part > 0 {
        evidence.push(format!(
            "{} blocks were first written in part in their group: each is read before, unless \
             it is cached or a hole",
            count(in_part)
        ));
    }
    if facts.insight.groups.cut > 0 {
        evidence.push(format!(
            "{} groups were larger than the memory for them: coalesced is an upper bound",
            count(facts.insight.groups.cut)
        ));
    }
    evidence
}

/// The decision on the block size, as evidence.
fn weighed(facts: &Facts<'_>) -> Option<String> {
    facts.weighing.map(|weighing| weighing.sentence())
}

/// Condition: the dominant write is smaller than the block. What ZFS writes, coalesced, decides
/// the severity: under 1.5 times the bytes it is information, from 8 on and with a better
/// size at hand it is critical. Silent when no size dominates.
pub(in crate::analysis::verdict) fn write_smaller_than_block(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match facts.comparable() {
        Ok(pair) => pair,
        Err(why) => return silent(why),
    };
    let sizes = format!(
        "writes of {} on blocks of {}",
        size(dominant.bytes),
        size(block)
    );
    if dominant.bytes >= block {
        return silent(sizes);
    }
    let costs = facts.coalesced().unwrap_or(share(block, dominant.bytes));
    let has_better = facts.weighing.is_some_and(|w| w.is_worth_it);
    let severity = if costs < COALESCES {
        Severity::Info
    } else if costs >= AMPLIFIES_BADLY && has_better {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let summary = if severity == Severity::Info {
        format!(
            "{sizes}, but they coalesce: ZFS writes {} the bytes",
            factor(costs)
        )
    } else {
        format!("{sizes}: ZFS writes {} the bytes", factor(costs))
    };
    let mut evidence = vec![dominant.sentence()];
    evidence.extend(amplification(facts));
    evidence.extend(weighed(facts));
    Outcome::Fired(Fired {
        severity,
        confidence: facts.confidence(),
        summary,
        evidence,
        advice: keep_or_move(facts),
    })
}

/// Condition: the dominant write is larger than the block: it is split, and indirect blocks
/// grow. A warning only when another size is clearly better or indirect blocks are heavy.
pub(in crate::analysis::verdict) fn write_larger_than_block(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match facts.comparable() {
        Ok(pair) => pair,
        Err(why) => return silent(why),
    };
    let sizes = format!(
        "writes of {} on blocks of {}",
        size(dominant.bytes),
        size(block)
    );
    if dominant.bytes <= block {
        return silent(sizes);
    }
    let metadata = facts
        .device
        .amplification
        .and_then(|a| a.metadata)
        .unwrap_or(0.0);
    let is_costly = metadata >= HEAVY_METADATA && facts.weighing.is_some_and(|w| w.is_worth_it);
    let mut evidence = vec![dominant.sentence()];
    evidence.extend(amplification(facts));
    evidence.extend(weighed(facts));
    Outcome::Fired(Fired {
        severity: if is_costly {
            Severity::Warning
        } else {
            Severity::Info
        },
        confidence: facts.confidence(),
        summary: format!(
            "{sizes}: each write is {} blocks",
            count(dominant.bytes.div_ceil(block))
        ),
        evidence,
        advice: keep_or_move(facts),
    })
}

/// Condition: no size has half of the writes. What they cost together decides the severity.
pub(in crate::analysis::verdict) fn mixed_sizes(facts: &Facts<'_>) -> Outcome {
    if !facts.has_enough_writes() {
        return silent(format!("{} writes", count(facts.writes())));
    }
    let Some(dominant) = facts.dominant else {
        return silent("no write's size is known");
    };
    if dominant.share_count >= DOMINANT_SHARE {
        return silent(dominant.sentence());
    }
    let writes = &facts.device.ops.write;
    let mut evidence: Vec<String> = writes
        .sizes
        .iter()
        .take(3)
        .map(|s| {
            format!(
                "{} writes of {} ({})",
                count(s.count),
                size(s.bytes),
                percent(share(s.count, writes.count))
            )
        })
        .collect();
    evidence.extend(amplification(facts));
    evidence.extend(weighed(facts));
    let costs = facts.coalesced();
    let is_costly = costs.is_some_and(|c| c >= COALESCES);
    Outcome::Fired(Fired {
        severity: if is_costly {
            Severity::Warning
        } else {
            Severity::Info
        },
        confidence: facts.confidence(),
        summary: match costs.filter(|_| is_costly) {
            Some(costs) => format!(
                "no write size dominates, and ZFS writes {} the bytes",
                factor(costs)
            ),
            None => "no write size dominates".to_owned(),
        },
        evidence,
        advice: keep_or_move(facts),
    })
}

/// Condition: the dominant write is exactly one block. Silent otherwise; what makes it less
/// than ideal (misalignment, flushes) is a finding of its own.
pub(in crate::analysis::verdict) fn fits(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match facts.comparable() {
        Ok(pair) => pair,
        Err(why) => return silent(why),
    };
    if dominant.bytes != block {
        return silent(format!(
            "writes of {} on blocks of {}",
            size(dominant.bytes),
            size(block)
        ));
    }
    let mut evidence = vec![dominant.sentence()];
    evidence.extend(amplification(facts));
    evidence.extend(weighed(facts));
    Outcome::Fired(Fired {
        severity: Severity::Ok,
        confidence: facts.confidence(),
        summary: format!("the block size of {} fits the writes", size(block)),
        evidence,
        advice: keep_or_move(facts),
    })
}

//! The rules, in the order in which they win among equal severities.

use super::{
    Dominant, Facts, Fired, Outcome, Rule,
    facts::share,
    thresholds::{AMPLIFIES, AMPLIFIES_BADLY, DOMINANT_SHARE, MIN_WRITES, READ_MOSTLY_SHARE},
    words::{count, percent, size},
};
use crate::report::model::{Code, Confidence, Severity};

/// Every rule.
pub(super) static RULES: &[Rule] = &[
    Rule {
        code: Code::Idle,
        condition: "no I/O completed",
        check: idle,
    },
    Rule {
        code: Code::TooFewWrites,
        condition: "under 300 writes, and the device is not read-mostly",
        check: too_few_writes,
    },
    Rule {
        code: Code::WriteSmallerThanBlock,
        condition: "the dominant write is smaller than the block",
        check: write_smaller_than_block,
    },
    Rule {
        code: Code::WriteLargerThanBlock,
        condition: "the dominant write is larger than the block",
        check: write_larger_than_block,
    },
    Rule {
        code: Code::MixedSizes,
        condition: "no write size has half of the writes",
        check: mixed_sizes,
    },
    Rule {
        code: Code::ReadMostly,
        condition: "at least 300 reads, and 90 % of the I/Os are reads",
        check: read_mostly,
    },
    Rule {
        code: Code::BlockSizeUnknown,
        condition: "no block size to judge against",
        check: block_size_unknown,
    },
    Rule {
        code: Code::Fits,
        condition: "the dominant write is exactly one block",
        check: fits,
    },
];

fn silent(why: impl Into<String>) -> Outcome {
    Outcome::Silent(why.into())
}

fn idle(facts: &Facts<'_>) -> Outcome {
    match facts.completed() {
        0 => Outcome::Fired(Fired {
            severity: Severity::Ok,
            confidence: Confidence::High,
            summary: match facts.device.outstanding.count {
                0 => "idle: no I/O in this time".to_owned(),
                n => format!("no I/O completed, and {} are outstanding", count(n)),
            },
            evidence: Vec::new(),
            advice: Vec::new(),
        }),
        n => silent(format!("{} I/Os completed", count(n))),
    }
}

fn is_read_mostly(facts: &Facts<'_>) -> bool {
    facts.reads() >= MIN_WRITES && facts.read_share() >= READ_MOSTLY_SHARE
}

fn too_few_writes(facts: &Facts<'_>) -> Outcome {
    if facts.has_enough_writes() || facts.completed() == 0 || is_read_mostly(facts) {
        return silent(format!("{} writes", count(facts.writes())));
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: Confidence::High,
        summary: format!(
            "only {} writes: too few to conclude anything",
            count(facts.writes())
        ),
        evidence: vec![format!(
            "{} writes, {} are needed",
            count(facts.writes()),
            count(MIN_WRITES)
        )],
        advice: vec!["capture longer, or while the guest is busy".to_owned()],
    })
}

fn read_mostly(facts: &Facts<'_>) -> Outcome {
    let numbers = format!(
        "{} of {} I/Os are reads ({})",
        count(facts.reads()),
        count(facts.reads() + facts.writes()),
        percent(facts.read_share())
    );
    if !is_read_mostly(facts) {
        return silent(numbers);
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: facts.confidence(),
        summary: format!(
            "mostly reads ({}): the write size decides little here",
            percent(facts.read_share())
        ),
        evidence: vec![numbers],
        advice: Vec::new(),
    })
}

fn block_size_unknown(facts: &Facts<'_>) -> Outcome {
    if let Some(block) = facts.block_bytes() {
        return silent(format!("the block size is {}", size(block)));
    }
    if facts.completed() == 0 {
        return silent("no I/O");
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: Confidence::High,
        summary: "no block size to judge the writes against".to_owned(),
        evidence: Vec::new(),
        advice: vec!["give one with --block-size, 16K say".to_owned()],
    })
}

/// Block size and dominant write, when both are known well enough to compare.
fn comparable(facts: &Facts<'_>) -> Result<(u64, Dominant), String> {
    let Some(block) = facts.block_bytes() else {
        return Err("the block size is not known".to_owned());
    };
    if !facts.has_enough_writes() {
        return Err(format!("{} writes", count(facts.writes())));
    }
    match facts.dominant {
        Some(dominant) if dominant.share_count >= DOMINANT_SHARE => Ok((block, dominant)),
        Some(dominant) => Err(format!(
            "no size dominates: {} has {}",
            size(dominant.bytes),
            percent(dominant.share_count)
        )),
        None => Err("no write's size is known".to_owned()),
    }
}

fn dominant_evidence(dominant: &Dominant) -> String {
    format!(
        "{} of the writes are exactly {}, {} of the bytes",
        percent(dominant.share_count),
        size(dominant.bytes),
        percent(dominant.share_bytes)
    )
}

fn write_smaller_than_block(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match comparable(facts) {
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
    let ratio = share(block, dominant.bytes);
    let severity = match ratio {
        r if r >= AMPLIFIES_BADLY => Severity::Critical,
        r if r >= AMPLIFIES => Severity::Warning,
        _ => Severity::Info,
    };
    Outcome::Fired(Fired {
        severity,
        confidence: facts.confidence(),
        summary: format!("{sizes}: each may rewrite {ratio:.0} times its size"),
        evidence: vec![dominant_evidence(&dominant)],
        advice: Vec::new(),
    })
}

fn write_larger_than_block(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match comparable(facts) {
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
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: facts.confidence(),
        summary: format!(
            "{sizes}: each is split into {} blocks",
            dominant.bytes.div_ceil(block)
        ),
        evidence: vec![dominant_evidence(&dominant)],
        advice: Vec::new(),
    })
}

fn mixed_sizes(facts: &Facts<'_>) -> Outcome {
    if !facts.has_enough_writes() {
        return silent(format!("{} writes", count(facts.writes())));
    }
    let Some(dominant) = facts.dominant else {
        return silent("no write's size is known");
    };
    if dominant.share_count >= DOMINANT_SHARE {
        return silent(dominant_evidence(&dominant));
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: facts.confidence(),
        summary: "no write size dominates".to_owned(),
        evidence: facts
            .device
            .ops
            .write
            .sizes
            .iter()
            .take(3)
            .map(|s| format!("{} writes of {}", count(s.count), size(s.bytes)))
            .collect(),
        advice: Vec::new(),
    })
}

fn fits(facts: &Facts<'_>) -> Outcome {
    let (block, dominant) = match comparable(facts) {
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
    Outcome::Fired(Fired {
        severity: Severity::Ok,
        confidence: facts.confidence(),
        summary: format!("the block size of {} fits the writes", size(block)),
        evidence: vec![dominant_evidence(&dominant)],
        advice: Vec::new(),
    })
}

//! Rules about how much there is: nothing, too little, mostly reads.

use super::silent;
use crate::{
    analysis::verdict::{Facts, Fired, Outcome, thresholds::MIN_WRITES},
    host::Bears,
    report::{
        model::{Confidence, Severity},
        units::{count, percent, size},
    },
};

/// I/Os that the dataset's own counters show for the time of the capture.
fn counted_by_zfs(facts: &Facts<'_>) -> u64 {
    facts
        .insight
        .objset
        .as_ref()
        .map_or(0, |objset| objset.reads.saturating_add(objset.writes))
}

/// Condition: no I/O was seen, though the dataset's `objset` kstat moved; or the ZFS version is
/// known to keep no block statistics (for the record only: the trace does not use them).
pub(in crate::analysis::verdict) fn statistics_not_maintained(facts: &Facts<'_>) -> Outcome {
    let (seen, counted) = (facts.completed(), counted_by_zfs(facts));
    let defect = facts
        .insight
        .known_defects
        .iter()
        .find(|defect| defect.bears_on == Bears::Statistics);
    let is_unseen = seen == 0 && counted > 0;
    let numbers = format!(
        "{} I/Os passed the block tracepoints, ZFS counted {} for the dataset",
        count(seen),
        count(counted)
    );
    if !is_unseen && (defect.is_none() || seen == 0) {
        return silent(numbers);
    }
    let mut evidence = vec![numbers];
    evidence.extend(defect.map(|defect| format!("{} ({})", defect.what, defect.source)));
    Outcome::Fired(Fired {
        severity: if is_unseen {
            Severity::Warning
        } else {
            Severity::Ok
        },
        confidence: Confidence::High,
        summary: if is_unseen {
            "block statistics are not maintained for this zvol: it is not idle".to_owned()
        } else {
            "block statistics are not maintained: iostat shows zeros for this zvol".to_owned()
        },
        evidence,
        advice: vec![match defect {
            Some(defect) => defect.remedy.to_owned(),
            None => "judge this zvol by its objset kstat".to_owned(),
        }],
    })
}

/// Condition: no I/O completed. Silent when there was any, or when ZFS counted some.
pub(in crate::analysis::verdict) fn idle(facts: &Facts<'_>) -> Outcome {
    let (seen, counted) = (facts.completed(), counted_by_zfs(facts));
    if seen > 0 || counted > 0 {
        return silent(format!(
            "{} I/Os completed, {} counted by ZFS",
            count(seen),
            count(counted)
        ));
    }
    let outstanding = facts.device.outstanding.count;
    Outcome::Fired(Fired {
        severity: if outstanding == 0 {
            Severity::Ok
        } else {
            Severity::Warning
        },
        confidence: Confidence::High,
        summary: match outstanding {
            0 => "idle: no I/O in this time".to_owned(),
            n => format!("no I/O completed, and {} are outstanding", count(n)),
        },
        evidence: Vec::new(),
        advice: match outstanding {
            0 => Vec::new(),
            _ => vec!["look at the pool first: zpool status".to_owned()],
        },
    })
}

/// Condition: under 300 writes. Silent when there are enough, none at all, or when the device
/// is read-mostly.
pub(in crate::analysis::verdict) fn too_few_writes(facts: &Facts<'_>) -> Outcome {
    if facts.has_enough_writes() || facts.completed() == 0 || facts.is_read_mostly() {
        return silent(format!("{} writes", count(facts.writes())));
    }
    let writes = match facts.writes() {
        0 => "no write".to_owned(),
        1 => "only one write".to_owned(),
        n => format!("only {} writes", count(n)),
    };
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: Confidence::High,
        summary: format!("{writes}: too few to conclude anything"),
        evidence: vec![format!(
            "{} writes in this time; a conclusion needs {}",
            count(facts.writes()),
            count(MIN_WRITES)
        )],
        advice: vec!["capture longer, or while the guest is busy".to_owned()],
    })
}

/// Condition: at least 300 reads, and 90 % of reads and writes are reads.
pub(in crate::analysis::verdict) fn read_mostly(facts: &Facts<'_>) -> Outcome {
    let numbers = format!(
        "{} of {} reads and writes are reads ({})",
        count(facts.reads()),
        count(facts.reads() + facts.writes()),
        percent(facts.read_share())
    );
    if !facts.is_read_mostly() {
        return silent(numbers);
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: Confidence::High,
        summary: format!(
            "mostly reads ({}): the write size decides little here",
            percent(facts.read_share())
        ),
        evidence: vec![numbers],
        advice: vec!["look at cache hits and read latency before block sizes".to_owned()],
    })
}

/// Condition: there is I/O, and neither a zvol's volblocksize nor `--block-size` is known.
pub(in crate::analysis::verdict) fn block_size_unknown(facts: &Facts<'_>) -> Outcome {
    if let Some(block) = facts.block_bytes() {
        return silent(format!("the block size is {}", size(block)));
    }
    if facts.completed() == 0 {
        return silent("no I/O");
    }
    let mut evidence = vec!["the disk is no zvol, and --block-size was not given".to_owned()];
    evidence.extend(facts.dominant.map(|dominant| dominant.sentence()));
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: Confidence::High,
        summary: "no block size to judge the writes against".to_owned(),
        evidence,
        advice: vec!["give one with --block-size, 16K say; the candidates need none".to_owned()],
    })
}

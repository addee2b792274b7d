//! Rules about what stands behind the I/O: the host's page cache, flushes, ZFS itself.

use super::silent;
use crate::{
    analysis::verdict::{
        Facts, Fired, Outcome,
        facts::share,
        thresholds::{
            DOMINANT_SHARE, MIN_DURABLE, SEQUENTIAL_SHARE, SLOW_FLUSH_NS, TAIL_SHARE,
            VERY_SLOW_FLUSH_NS,
        },
    },
    host::{Bears, Defect},
    report::{
        model::{Confidence, Severity, SourceKind},
        units::{count, duration, percent, volume},
    },
};

/// Page of the host, and so the size of a bio from its page cache.
const PAGE_BYTES: u64 = 4096;

/// Condition: most writes are 4K, sequential, and lack the IDLE flag that direct I/O carries.
/// The 4K is then the host's page cache, whatever the writer asked for. Silent for blktrace
/// files, whose records do not carry the flag.
pub(in crate::analysis::verdict) fn page_cache_split(facts: &Facts<'_>) -> Outcome {
    if facts.insight.source == Some(SourceKind::Blktrace) {
        return silent("blktrace records do not carry the IDLE flag");
    }
    if !facts.has_enough_writes() {
        return silent(format!("{} writes", count(facts.writes())));
    }
    let sequential = facts.write_sequential_share();
    let pages = share(facts.insight.pages_not_direct, facts.insight.writes.ios);
    let numbers = format!(
        "{} of the writes are 4K without the flag of direct I/O; {} of all writes are sequential",
        percent(pages),
        percent(sequential)
    );
    let is_page = facts.dominant.is_some_and(|d| d.bytes == PAGE_BYTES);
    if !is_page || pages < DOMINANT_SHARE || sequential < SEQUENTIAL_SHARE {
        return silent(numbers);
    }
    Outcome::Fired(Fired {
        severity: Severity::Info,
        confidence: facts.confidence(),
        summary: "the 4K writes come from the host's page cache, one a page: the writer's own \
                  sizes are not visible"
            .to_owned(),
        evidence: vec![numbers],
        advice: vec![
            "use direct I/O: cache=none for a virtual disk, oflag=direct for dd; then capture \
             again"
                .to_owned(),
        ],
    })
}

/// Condition: at least 100 flushes or durable writes, the slowest 1 % of writes and flushes is
/// at least half theirs, and their p99 is at least 5 ms. Silent when only hints (`WS`) are
/// there: they are not durable.
pub(in crate::analysis::verdict) fn flush_bound(facts: &Facts<'_>) -> Outcome {
    let Some(tail) = facts.insight.tail else {
        return silent(format!(
            "no flush and no durable write ({} writes carry the sync hint only)",
            count(facts.device.sync.hinted)
        ));
    };
    let tail_share = share(tail.durable, tail.ios);
    let numbers = format!(
        "{} of the slowest 1 % of writes and flushes (from {} on) are flushes or durable writes; \
         their p99 is {}",
        percent(tail_share),
        duration(tail.from_ns, false),
        duration(tail.durable_p99_ns, false)
    );
    let is_bound = tail.all_durable >= MIN_DURABLE
        && tail_share >= TAIL_SHARE
        && tail.durable_p99_ns >= SLOW_FLUSH_NS;
    if !is_bound {
        return silent(format!("{} in all; {numbers}", count(tail.all_durable)));
    }
    let mut evidence = vec![
        numbers,
        format!(
            "{} flushes, {} durable writes (FUA or preflush with data)",
            count(facts.device.flush.count),
            count(facts.device.sync.durable_writes)
        ),
    ];
    evidence.extend(log_traffic(facts));
    Outcome::Fired(Fired {
        severity: if tail.durable_p99_ns >= VERY_SLOW_FLUSH_NS {
            Severity::Warning
        } else {
            Severity::Info
        },
        confidence: facts.confidence(),
        summary: format!(
            "flushes make the tail: p99 {}",
            duration(tail.durable_p99_ns, false)
        ),
        evidence,
        advice: vec![
            "a flush waits for the intent log: a SLOG on a fast disk with power-loss protection \
             shortens it, another block size does not"
                .to_owned(),
        ],
    })
}

/// What the dataset's kstat says of the intent log.
fn log_traffic(facts: &Facts<'_>) -> Option<String> {
    let objset = facts.insight.objset.as_ref()?;
    let commits = objset.zil_commit_count?;
    let bytes = objset.zil_itx_bytes.unwrap_or(0);
    Some(format!(
        "ZIL: {} commits, {} logged",
        count(commits),
        volume(bytes)
    ))
}

/// Condition: the host's ZFS version has a known defect, and the trace touches what it is
/// about: flushes on a bio-mode zvol; flushes, FUA writes or discards on a blk-mq one. Silent
/// without either.
pub(in crate::analysis::verdict) fn known_defect(facts: &Facts<'_>) -> Outcome {
    let device = facts.device;
    let touches = |defect: &&Defect| match defect.bears_on {
        Bears::BioFlush => device.flush.count + device.sync.preflush_with_data > 0,
        Bears::BlkMqFlush => {
            device.flush.count + device.sync.durable_writes + device.ops.discard.count > 0
        }
        Bears::Statistics => false,
    };
    let defects = &facts.insight.known_defects;
    let relevant: Vec<&Defect> = defects.iter().filter(touches).collect();
    let seen = format!(
        "seen: {} flushes, {} durable writes, {} discards",
        count(device.flush.count),
        count(device.sync.durable_writes),
        count(device.ops.discard.count)
    );
    if relevant.is_empty() {
        return silent(format!(
            "{} known defects of this ZFS version; {seen}",
            count(defects.len() as u64)
        ));
    }
    let mut evidence: Vec<String> = relevant
        .iter()
        .map(|defect| format!("{} ({})", defect.what, defect.source))
        .collect();
    evidence.push(seen);
    Outcome::Fired(Fired {
        severity: Severity::Critical,
        confidence: Confidence::High,
        summary: "this ZFS version has a known defect: what the guest made durable may not be"
            .to_owned(),
        evidence,
        advice: relevant
            .iter()
            .map(|defect| defect.remedy.to_owned())
            .collect(),
    })
}

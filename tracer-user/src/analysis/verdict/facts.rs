//! What the rules look at: the numbers of one device, named.

use super::{
    thresholds::{
        DOMINANT_SHARE, MIN_WRITES, READ_MOSTLY_SHARE, WRITES_FOR_HIGH_CONFIDENCE,
        WRITES_FOR_MEDIUM_CONFIDENCE,
    },
    weigh::{Weighing, weigh},
};
use crate::{
    analysis::insight::Insight,
    report::{
        model::{Capture, Confidence, DeviceReport, OpStats},
        units::{count, percent, size},
    },
};

/// The write size that most writes have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Dominant {
    pub(in crate::analysis) bytes: u64,
    /// Its share of the writes.
    pub(in crate::analysis) share_count: f64,
    /// Its share of the bytes written.
    pub(in crate::analysis) share_bytes: f64,
}

/// Facts of one device that rules judge by.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Facts<'a> {
    pub(super) device: &'a DeviceReport,
    pub(super) capture: &'a Capture,
    pub(super) insight: &'a Insight,
    pub(super) dominant: Option<Dominant>,
    pub(super) weighing: Option<Weighing>,
}

impl<'a> Facts<'a> {
    /// Facts from a device's report whose verdict is still to come.
    pub(in crate::analysis) fn new(
        device: &'a DeviceReport,
        capture: &'a Capture,
        insight: &'a Insight,
    ) -> Self {
        let mut facts = Self {
            device,
            capture,
            insight,
            dominant: dominant(&device.ops.write),
            weighing: None,
        };
        facts.weighing = weigh(&facts).filter(|_| facts.has_enough_writes());
        facts
    }

    pub(super) fn writes(&self) -> u64 {
        self.device.ops.write.count
    }

    pub(super) fn reads(&self) -> u64 {
        self.device.ops.read.count
    }

    pub(super) fn block_bytes(&self) -> Option<u64> {
        self.device.volblocksize_bytes.filter(|bytes| *bytes > 0)
    }

    pub(super) fn has_enough_writes(&self) -> bool {
        self.writes() >= MIN_WRITES
    }

    /// I/Os of every class, flushes included.
    pub(super) fn completed(&self) -> u64 {
        let ops = &self.device.ops;
        ops.read.count
            + ops.write.count
            + ops.discard.count
            + ops.other.count
            + self.device.flush.count
    }

    /// Share of reads among reads and writes; 0 without either.
    pub(super) fn read_share(&self) -> f64 {
        share(self.reads(), self.reads() + self.writes())
    }

    pub(super) fn is_read_mostly(&self) -> bool {
        self.reads() >= MIN_WRITES && self.read_share() >= READ_MOSTLY_SHARE
    }

    pub(super) fn write_sequential_share(&self) -> f64 {
        share(self.insight.writes.sequential, self.insight.writes.ios)
    }

    /// What ZFS writes to data blocks per byte; `None` before anything was written.
    pub(super) fn coalesced(&self) -> Option<f64> {
        self.device.amplification?.coalesced
    }

    /// Block size and dominant write, or why they cannot be compared.
    pub(super) fn comparable(&self) -> Result<(u64, Dominant), String> {
        let Some(block) = self.block_bytes() else {
            return Err("the block size is not known".to_owned());
        };
        if !self.has_enough_writes() {
            return Err(format!("{} writes", count(self.writes())));
        }
        match self.dominant {
            Some(dominant) if dominant.share_count >= DOMINANT_SHARE => Ok((block, dominant)),
            Some(dominant) => Err(format!(
                "no size dominates: {} has {} of the writes",
                size(dominant.bytes),
                percent(dominant.share_count)
            )),
            None => Err("no write's size is known".to_owned()),
        }
    }

    /// By the number of writes; a capture that is not complete never gets more than medium.
    pub(super) fn confidence(&self) -> Confidence {
        let by_count = match self.writes() {
            n if n >= WRITES_FOR_HIGH_CONFIDENCE => Confidence::High,
            n if n >= WRITES_FOR_MEDIUM_CONFIDENCE => Confidence::Medium,
            _ => Confidence::Low,
        };
        if self.capture.complete {
            by_count
        } else {
            by_count.min(Confidence::Medium)
        }
    }
}

impl Dominant {
    pub(super) fn sentence(&self) -> String {
        format!(
            "{} of the writes are exactly {}; they carry {} of the bytes",
            percent(self.share_count),
            size(self.bytes),
            percent(self.share_bytes)
        )
    }
}

/// Shares are of the writes whose size is known, so lost events do not thin them.
fn dominant(writes: &OpStats) -> Option<Dominant> {
    let most = writes.sizes.first()?;
    let count: u64 = writes.sizes.iter().map(|s| s.count).sum();
    let bytes: u64 = writes.sizes.iter().map(|s| s.count * s.bytes).sum();
    Some(Dominant {
        bytes: most.bytes,
        share_count: share(most.count, count + writes.sizes_rest.count),
        share_bytes: share(most.count * most.bytes, bytes + writes.sizes_rest.bytes),
    })
}

/// `part / whole`; 0 for an empty whole.
#[allow(clippy::cast_precision_loss, reason = "a share for people")]
pub(in crate::analysis) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

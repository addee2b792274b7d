//! What the rules look at: the numbers of one device, named.

use super::thresholds::{MIN_WRITES, WRITES_FOR_HIGH_CONFIDENCE, WRITES_FOR_MEDIUM_CONFIDENCE};
use crate::report::model::{Capture, Confidence, DeviceReport, OpStats};

/// The write size that most writes have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    /// Exact size.
    pub bytes: u64,
    /// Its share of the writes.
    pub share_count: f64,
    /// Its share of the bytes written.
    pub share_bytes: f64,
}

/// Facts of one device that rules judge by.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub(super) device: &'a DeviceReport,
    pub(super) capture: &'a Capture,
    pub(super) dominant: Option<Dominant>,
}

impl<'a> Facts<'a> {
    /// Facts from a device's report whose verdict is still to come.
    #[must_use]
    pub fn new(device: &'a DeviceReport, capture: &'a Capture) -> Self {
        Self {
            device,
            capture,
            dominant: dominant(&device.ops.write),
        }
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
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

//! The axes of a device in the report's form: concurrency, access, alignment, amplification.

use super::{
    Options,
    amplification::Amplifier,
    device::DeviceState,
    groups::Bounds,
    insight::Insight,
    space::PoolLayout,
    spread::{Spread, block_shift},
    streams::Sequentiality,
    txg::TxgClock,
    verdict::share,
};
use crate::report::model::{Access, Alignment, Amplification, Candidate, Concurrency, TxgSource};

/// What the axes need beside the device.
pub(super) struct AxesContext<'a> {
    pub(super) options: &'a Options,
    /// How long the device was there.
    pub(super) observed_ns: u64,
    pub(super) bounds: Bounds,
    pub(super) clock: Option<&'a TxgClock>,
    pub(super) layout: Option<PoolLayout>,
    /// Whether the group that is open counts as if it ended now. In a live view it does not,
    /// once another has ended: half a group would understate coalescing.
    pub(super) count_open_group: bool,
}

/// The axes.
pub(super) struct Axes {
    pub(super) concurrency: Concurrency,
    pub(super) access: Access,
    pub(super) alignment: Alignment,
    pub(super) amplification: Option<Amplification>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) insight: Insight,
}

impl DeviceState {
    pub(super) fn axes(&self, context: &AxesContext<'_>) -> Axes {
        let mut insight = Insight::of(self);
        let mut axes = Axes {
            concurrency: self.concurrency(context.observed_ns),
            access: Access::default(),
            alignment: Alignment::default(),
            amplification: self.no_amplification(),
            candidates: Vec::new(),
            insight: Insight::default(),
        };
        let Some(activity) = self.activity.as_deref() else {
            return axes;
        };
        let distinct = activity.touched.distinct();
        axes.access = Access {
            read_sequential_share: sequential_share(&insight.reads),
            write_sequential_share: sequential_share(&insight.writes),
            working_set_bytes: distinct.touched_bytes,
            working_set_error_share: distinct.error,
            rewritten_share: (insight.writes.bytes > 0).then(|| {
                let before = insight.writes.bytes.saturating_sub(distinct.written_bytes);
                share(before, insight.writes.bytes)
            }),
        };
        if let Some(writes) = activity.writes.as_deref() {
            axes.alignment = self.alignment(writes.amplifier.spread(), &insight);
            let finished = Self::finished(&writes.amplifier, context);
            let amplifier = finished.as_ref().unwrap_or(&writes.amplifier);
            let closed = amplifier.groups().closed();
            insight.groups.groups = closed.groups;
            insight.groups.first_touched_in_part = closed.first_touched_in_part;
            axes.amplification = self
                .device
                .volblocksize_bytes
                .and_then(|block| amplifier.report(block, self.device.size_bytes));
            axes.candidates = amplifier.candidates(
                &context.options.candidates,
                self.device.volblocksize_bytes,
                self.device.size_bytes,
                context.layout,
            );
        }
        axes.insight = insight;
        axes
    }

    fn finished(amplifier: &Amplifier, context: &AxesContext<'_>) -> Option<Amplifier> {
        let wanted = context.count_open_group || amplifier.groups().closed().groups == 0;
        (wanted && amplifier.groups().has_open())
            .then(|| amplifier.finished(context.clock, &context.bounds))
    }

    fn concurrency(&self, observed_ns: u64) -> Concurrency {
        let depth = self
            .activity
            .as_ref()
            .map(|activity| activity.in_flight.depth(observed_ns))
            .unwrap_or_default();
        Concurrency {
            mean: depth.mean,
            p50: depth.p50,
            p99: depth.p99,
            max: depth.max,
        }
    }

    /// Nulls for a device with a block size and without writes.
    fn no_amplification(&self) -> Option<Amplification> {
        self.device.volblocksize_bytes.map(|_| Amplification {
            worst_case: None,
            coalesced: None,
            metadata: None,
            txg_source: TxgSource::Assumed,
        })
    }

    fn alignment(&self, writes: &Spread, insight: &Insight) -> Alignment {
        let shift = self.device.volblocksize_bytes.and_then(block_shift);
        Alignment {
            aligned_share: shift.map(|shift| share(writes.aligned(shift), writes.ios())),
            constant_remainder_bytes: insight
                .remainder
                .map(|remainder| remainder.bytes)
                .filter(|bytes| *bytes != 0),
            partial_block_writes: shift.map_or(0, |shift| writes.partial(shift)),
        }
    }
}

/// `None` under two I/Os: nothing can continue anything.
fn sequential_share(found: &Sequentiality) -> Option<f64> {
    (found.ios >= 2).then(|| share(found.sequential, found.ios))
}

//! What rules need of a device beyond its report: numbers that have no key in the contract.

use tracer_common::OpClass;

use super::{
    device::DeviceState,
    latency::Distribution,
    pattern::Writes,
    space::PoolLayout,
    spread::{Remainder, Spread, block_shift},
    streams::Sequentiality,
};
use crate::{
    host::Defect,
    input::{Objset, Partition},
    report::model::SourceKind,
};

/// log2 of the modulus of a remainder when no block size is known: 4K.
const PAGE_SHIFT: u32 = 12;

/// The slowest I/Os among writes and flushes: who they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    /// 99th percentile of writes and flushes together, ns.
    pub(super) from_ns: u64,
    /// Writes and flushes at or above it.
    pub(super) ios: u64,
    /// Those among them that are flushes or durable writes.
    pub(super) durable: u64,
    /// Flushes and durable writes of the device.
    pub(super) all_durable: u64,
    /// Their 99th percentile, ns.
    pub(super) durable_p99_ns: u64,
}

/// Writes by transaction group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GroupFacts {
    pub(super) groups: u64,
    /// Blocks whose first write in a group covers them in part.
    pub(super) first_touched_in_part: u64,
    /// Groups counted in parts for lack of memory.
    pub(super) cut: u64,
}

/// Numbers behind a device's report.
#[derive(Clone, Debug, Default)]
pub(super) struct Insight {
    pub(super) source: Option<SourceKind>,
    pub(super) writes: Sequentiality,
    pub(super) reads: Sequentiality,
    /// Reads as blocks of each size see them.
    pub(super) read_spread: Spread,
    pub(super) remainder: Option<Remainder>,
    /// The partition whose start explains the remainder.
    pub(super) partition: Option<Partition>,
    /// Writes of one page without the flag of direct I/O.
    pub(super) pages_not_direct: u64,
    pub(super) groups: GroupFacts,
    pub(super) tail: Option<Tail>,
    /// What the dataset's kstat counted during the capture.
    pub(super) objset: Option<Objset>,
    pub(super) layout: Option<PoolLayout>,
    pub(super) known_defects: Vec<Defect>,
}

impl Insight {
    /// Everything that the device itself knows.
    pub(super) fn of(state: &DeviceState) -> Self {
        let Some(activity) = &state.activity else {
            return Self::default();
        };
        let writes = activity.writes.as_deref();
        let remainder = writes.and_then(|writes| remainder(writes, state));
        let groups = writes.map(|writes| writes.amplifier.groups().closed());
        Self {
            writes: writes
                .map(|w| w.streams.sequentiality())
                .unwrap_or_default(),
            reads: activity
                .reads
                .as_deref()
                .map(|r| r.streams.sequentiality())
                .unwrap_or_default(),
            read_spread: activity
                .reads
                .as_deref()
                .map(|r| r.spread.clone())
                .unwrap_or_default(),
            remainder,
            partition: remainder.and_then(|r| partition(&state.device.partitions, r)),
            pages_not_direct: writes.map_or(0, |w| w.pages_not_direct),
            groups: groups
                .map(|closed| GroupFacts {
                    groups: closed.groups,
                    first_touched_in_part: closed.first_touched_in_part,
                    cut: closed.cut,
                })
                .unwrap_or_default(),
            tail: tail(state),
            ..Self::default()
        }
    }
}

fn remainder(writes: &Writes, state: &DeviceState) -> Option<Remainder> {
    let shift = state
        .device
        .volblocksize_bytes
        .and_then(block_shift)
        .unwrap_or(PAGE_SHIFT);
    writes
        .amplifier
        .spread()
        .constant_remainder(shift.max(PAGE_SHIFT))
}

/// The partition that starts at this remainder, when the remainder is one.
fn partition(partitions: &[Partition], remainder: Remainder) -> Option<Partition> {
    partitions
        .iter()
        .find(|partition| {
            let start_bytes = partition.start_sector.saturating_mul(512);
            remainder.bytes != 0 && start_bytes % remainder.modulus == remainder.bytes
        })
        .cloned()
}

fn tail(state: &DeviceState) -> Option<Tail> {
    let activity = state.activity.as_deref()?;
    let mut durable: Distribution = activity.flush_latency.clone();
    if let Some(writes) = &activity.writes {
        durable.merge(&writes.durable);
    }
    if durable.count() == 0 {
        return None;
    }
    let mut all = activity.flush_latency.clone();
    if let Some(events) = state.events_of(OpClass::Write) {
        all.merge(&events.latency);
    }
    let from_ns = all.summary().p99?;
    Some(Tail {
        from_ns,
        ios: all.count_from(from_ns),
        durable: durable.count_from(from_ns),
        all_durable: durable.count(),
        durable_p99_ns: durable.summary().p99?,
    })
}

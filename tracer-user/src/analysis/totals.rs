//! Sums over all devices, each I/O counted once.
//!
//! When a traced device is stacked on another traced one (a dm device on a zvol), the same
//! I/O passes both. The sums then take it from the lowest traced device. A partition is never
//! a device of its own: its I/O bears the disk.

use std::collections::BTreeSet;

use tracer_common::OpClass;

use super::{
    device::DeviceState,
    op::{OpEvents, Phases, without_events},
};
use crate::{
    input::Device,
    report::model::{OpStats, Ops},
};

/// Whether a device's I/O passes another traced device as well; `names` are the traced ones'.
pub(crate) fn is_counted_below(device: &Device, names: &BTreeSet<&str>) -> bool {
    device
        .stacked_on
        .iter()
        .any(|below| *below != device.name && names.contains(below.as_str()))
}

/// Sums of all classes but flushes.
pub(super) fn totals(devices: &[DeviceState], latency_digits: u8) -> Ops {
    let names: BTreeSet<&str> = devices.iter().map(|d| d.device.name.as_str()).collect();
    let counted: Vec<&DeviceState> = devices
        .iter()
        .filter(|device| !is_counted_below(&device.device, &names))
        .collect();
    let all_split = !counted.is_empty()
        && counted
            .iter()
            .all(|device| device.phases() == Phases::QueueAndService);
    let phases = if all_split {
        Phases::QueueAndService
    } else {
        Phases::Whole
    };
    let sum = |class| sum_class(&counted, class, phases, latency_digits);
    Ops {
        read: sum(OpClass::Read),
        write: sum(OpClass::Write),
        discard: sum(OpClass::Discard),
        other: sum(OpClass::Other),
    }
}

fn sum_class(devices: &[&DeviceState], class: OpClass, phases: Phases, digits: u8) -> OpStats {
    let (mut count, mut bytes) = (0, 0);
    let mut sum: Option<OpEvents> = None;
    for device in devices {
        let (device_count, device_bytes) = device.volume(class);
        count += device_count;
        bytes += device_bytes;
        if let Some(events) = device.events_of(class) {
            sum.get_or_insert_with(|| OpEvents::new(digits))
                .merge(events);
        }
    }
    match sum {
        Some(events) => events.stats(count, bytes, phases),
        None => without_events(count, bytes, phases),
    }
}

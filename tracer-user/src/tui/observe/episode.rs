//! A part of the observed time as a capture of its own: "since the start" after a reset, and
//! captures in the background.
//!
//! It begins at a sample: what the kernel had counted until then is subtracted, and I/Os that
//! completed before are left out. One that was in flight at its beginning counts.

use rustc_hash::FxHashMap;
use tracer_common::DiskCounters;

use crate::{
    analysis::{Collector, Options},
    event::{DeviceId, Event},
    input::{Device, DeviceSample, Input, Lost, Sample, Start},
    report::model::SourceKind,
};

/// A collector that was given inputs from some moment on.
#[derive(Debug)]
pub(super) struct Episode {
    pub(super) collector: Collector,
    /// Devices in the order of the report.
    order: Vec<DeviceId>,
    /// Where it begins, capture clock.
    pub(super) from_ns: u64,
    counted: FxHashMap<DeviceId, DiskCounters>,
    lost: Lost,
}

impl Episode {
    /// From the first input on.
    pub(super) fn whole(options: Options, source: SourceKind) -> Self {
        Self {
            collector: Collector::new(options, source),
            order: Vec::new(),
            from_ns: 0,
            counted: FxHashMap::default(),
            lost: Lost::default(),
        }
    }

    /// From a sample on, or from `at_ns` when there was none. `devices` are there now.
    pub(super) fn begin<'a>(
        options: Options,
        source: SourceKind,
        start: &Start,
        at: &Sample,
        requested_ns: Option<u64>,
        devices: impl Iterator<Item = &'a Device>,
    ) -> Self {
        let later_ns = at.at_ns.saturating_sub(start.started_ns);
        let mut episode = Self {
            from_ns: at.at_ns,
            counted: at.devices.iter().map(|d| (d.device, d.counters)).collect(),
            lost: at.lost,
            ..Self::whole(options, source)
        };
        episode.feed(&Input::Start(Start {
            started_ns: at.at_ns,
            started_unix_ns: i64::try_from(later_ns).map_or(i64::MAX, |later| {
                start.started_unix_ns.saturating_add(later)
            }),
            requested_ns,
            ..start.clone()
        }));
        for device in devices {
            episode.feed(&Input::Appeared(Device {
                appeared_ns: None,
                ..device.clone()
            }));
        }
        episode.feed(&Input::Sample(at.clone()));
        episode
    }

    /// Takes the next input.
    pub(super) fn feed(&mut self, input: &Input) {
        match input {
            Input::Appeared(device) => {
                // Identities grow with arrival: only a repeated one is searched for.
                let is_last = self.order.last().is_none_or(|last| *last < device.id);
                if is_last || !self.order.contains(&device.id) {
                    self.order.push(device.id);
                }
                self.collector.feed(input);
            }
            Input::Events(events) if self.begins_within(events) => {
                let from_ns = self.from_ns;
                let events = events.iter().filter(|event| event.end_ns > from_ns);
                let events = events.copied().collect();
                self.collector.feed(&Input::Events(events));
            }
            Input::Sample(sample) if self.from_ns > 0 => {
                self.collector
                    .feed(&Input::Sample(self.since_begin(sample)));
            }
            other => self.collector.feed(other),
        }
    }

    fn begins_within(&self, events: &[Event]) -> bool {
        // They come device by device: any may be an early one.
        self.from_ns > 0 && events.iter().any(|event| event.end_ns <= self.from_ns)
    }

    fn since_begin(&self, sample: &Sample) -> Sample {
        let since = |device: &DeviceSample| {
            let counted = self.counted.get(&device.device);
            counted.map_or(*device, |then| device.since(then))
        };
        Sample {
            at_ns: sample.at_ns,
            devices: sample.devices.iter().map(since).collect(),
            lost: sample.lost.since(&self.lost),
        }
    }

    /// Devices in the order of the report.
    pub(super) fn devices(&self) -> &[DeviceId] {
        &self.order
    }
}

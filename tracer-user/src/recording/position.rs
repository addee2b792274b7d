//! Where a capture stands at one moment: what a part of a rotated recording has to repeat.
//!
//! Owns the bookkeeping from which a part begins (devices, exact counts so far) and the
//! arithmetic that makes a part read alone as consistent as a whole capture.

use tracer_common::{DiskCounters, OpClass};

use super::payload::{Control, Vanished};
use crate::{
    event::{DeviceId, Event},
    input::{Device, DeviceSample, Lost, Sample, Start},
};

/// What has been written so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    start: Option<Start>,
    devices: Vec<Seen>,
    last_sample: Sample,
    last_ns: u64,
}

#[derive(Clone, Debug)]
struct Seen {
    device: Device,
    vanished_ns: Option<u64>,
    /// Counts of the events written; only `count`, `bytes` and `errors` are used.
    written: DiskCounters,
}

impl Position {
    pub(crate) fn observe_event(&mut self, event: &Event) {
        self.last_ns = self.last_ns.max(event.end_ns);
        if let Some(seen) = self.devices.get_mut(event.device.0 as usize) {
            let class = event.op.class() as usize;
            seen.written.count[class] += 1;
            seen.written.bytes[class] += u64::from(event.bytes);
            seen.written.errors += u64::from(event.errno != 0);
        }
    }

    pub(crate) fn observe_control(&mut self, control: &Control) {
        self.last_ns = self.last_ns.max(control.at_ns().unwrap_or(0));
        match control {
            Control::Start(start, _) => self.start = Some(start.clone()),
            Control::Appeared(device) => self.devices.push(Seen {
                device: device.clone(),
                vanished_ns: None,
                written: DiskCounters::default(),
            }),
            Control::Changed(device) => {
                if let Some(seen) = self.devices.get_mut(device.id.0 as usize) {
                    seen.device = device.clone();
                }
            }
            Control::Vanished(vanished) => {
                if let Some(seen) = self.devices.get_mut(vanished.device.0 as usize) {
                    seen.vanished_ns = Some(vanished.at_ns);
                }
            }
            Control::Sample(sample) => self.last_sample = sample.clone(),
            Control::Pools(_) | Control::End(_) | Control::PartEnd(_) => {}
        }
    }

    /// The counters at this very row: a part's events and the difference of the counters at
    /// its two ends agree.
    ///
    /// The last sample is up to a second away from the row. What the events written so far
    /// tell is exact, unless some were lost: then the sample is the nearer one. `submitted`
    /// and the losses are the sample's.
    pub(crate) fn boundary(&self) -> Sample {
        let sampled = |id: DeviceId| {
            let sample = self.last_sample.devices.iter().find(|s| s.device == id);
            sample.copied().unwrap_or(DeviceSample {
                device: id,
                counters: DiskCounters::default(),
                outstanding: 0,
                oldest_ns: 0,
            })
        };
        let mut devices: Vec<_> = self.devices.iter().map(|s| sampled(s.device.id)).collect();
        for (sample, seen) in devices.iter_mut().zip(&self.devices) {
            let counters = &mut sample.counters;
            if counters.ring_lost == 0 && self.last_sample.lost == Lost::default() {
                counters.count = seen.written.count;
                counters.bytes = seen.written.bytes;
                counters.errors = seen.written.errors;
                continue;
            }
            for class in 0..OpClass::ALL.len() {
                counters.count[class] = counters.count[class].max(seen.written.count[class]);
                counters.bytes[class] = counters.bytes[class].max(seen.written.bytes[class]);
            }
            counters.errors = counters.errors.max(seen.written.errors);
        }
        Sample {
            at_ns: self.last_ns,
            devices,
            lost: self.last_sample.lost,
        }
    }

    /// The rows with which the next part begins: empty before the capture's start.
    pub(crate) fn preface(&self) -> Vec<Control> {
        let Some(start) = &self.start else {
            return Vec::new();
        };
        let mut rows = vec![Control::Start(start.clone(), Some(self.boundary()))];
        for seen in &self.devices {
            rows.push(Control::Appeared(seen.device.clone()));
        }
        for seen in &self.devices {
            rows.extend(seen.vanished_ns.map(|at_ns| {
                let device = seen.device.id;
                Control::Vanished(Vanished { device, at_ns })
            }));
        }
        rows
    }
}

/// What `sample` counts since `base`, both being of one capture.
pub(crate) fn since(sample: &Sample, base: &Sample) -> Sample {
    let mut sample = sample.clone();
    for device in &mut sample.devices {
        // The boundary lists the devices by their number.
        let known = base.devices.get(device.device.0 as usize);
        let Some(base) = known.filter(|base| base.device == device.device) else {
            continue;
        };
        *device = device.since(&base.counters);
    }
    sample.lost = sample.lost.since(&base.lost);
    sample
}

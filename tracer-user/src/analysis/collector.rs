//! Folds inputs into state, and state into a report.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{
    accounting::{Course, event_counts, incomplete_reasons},
    device::{DeviceState, vm_of},
    pool::PoolState,
    totals::totals,
    verdict::{self, Facts},
};
use crate::{
    event::{DeviceId, Event},
    input::{Device, End, Host, Input, Lost, PoolSample, Sample, Start},
    report::model::{
        Capture, DeviceReport, EventCounts, HostReport, Report, SCHEMA, SourceKind, Verdict,
    },
};

/// Most devices with a row of their own. Further ones are counted and said. An idle device
/// costs about 500 B.
const MAX_DEVICES: usize = 65_536;
/// Most pools with a row of their own.
const MAX_POOLS: usize = 1_024;

/// How to analyse.
#[derive(Clone, Debug)]
pub struct Options {
    /// Significant digits of latencies, 1 to 5.
    pub latency_digits: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self { latency_digits: 2 }
    }
}

/// Folds the inputs of one capture; gives a [`Report`] at any time.
#[derive(Debug)]
pub struct Collector {
    options: Options,
    source: SourceKind,
    start: Option<Start>,
    end: Option<End>,
    /// Latest moment that samples and events have shown, capture clock.
    now_ns: u64,
    devices: Vec<DeviceState>,
    index: FxHashMap<DeviceId, usize>,
    pools: BTreeMap<String, PoolState>,
    lost: Lost,
    devices_refused: u64,
    events_of_no_device: u64,
}

impl Collector {
    /// A collector for one capture.
    #[must_use]
    pub fn new(options: Options, source: SourceKind) -> Self {
        Self {
            options,
            source,
            start: None,
            end: None,
            now_ns: 0,
            devices: Vec::new(),
            index: FxHashMap::default(),
            pools: BTreeMap::new(),
            lost: Lost::default(),
            devices_refused: 0,
            events_of_no_device: 0,
        }
    }

    /// Takes the next input. What makes no sense is counted, never an error.
    pub fn feed(&mut self, input: &Input) {
        match input {
            Input::Start(start) => {
                self.now_ns = self.now_ns.max(start.started_ns);
                self.start = Some(start.clone());
            }
            Input::Appeared(device) => self.appeared(device),
            Input::Changed(device) => self.changed(device),
            Input::Vanished { device, at_ns } => self.vanished(*device, *at_ns),
            Input::Events(events) => self.events(events),
            Input::Sample(sample) => self.sample(sample),
            Input::Pools(pools) => self.pools(pools),
            Input::End(end) => {
                self.now_ns = self.now_ns.max(end.at_ns);
                self.end = Some(end.clone());
            }
        }
    }

    fn appeared(&mut self, device: &Device) {
        if self.index.contains_key(&device.id) {
            self.changed(device);
        } else if self.devices.len() < MAX_DEVICES {
            self.index.insert(device.id, self.devices.len());
            self.devices.push(DeviceState::new(self.judged(device)));
        } else {
            self.devices_refused += 1;
        }
    }

    /// The device with the block size of the command line where it has none of its own.
    fn judged(&self, device: &Device) -> Device {
        let given = self.start.as_ref().and_then(|start| start.block_size_bytes);
        Device {
            volblocksize_bytes: device.volblocksize_bytes.or(given),
            ..device.clone()
        }
    }

    fn changed(&mut self, device: &Device) {
        let judged = self.judged(device);
        if let Some(state) = self.state_mut(device.id) {
            // A change says nothing of the arrival.
            let appeared_ns = state.device.appeared_ns.or(judged.appeared_ns);
            state.device = Device {
                appeared_ns,
                ..judged
            };
        }
    }

    fn vanished(&mut self, id: DeviceId, at_ns: u64) {
        self.now_ns = self.now_ns.max(at_ns);
        if let Some(state) = self.state_mut(id) {
            state.vanished_ns = Some(at_ns);
        }
    }

    fn state_mut(&mut self, id: DeviceId) -> Option<&mut DeviceState> {
        let index = *self.index.get(&id)?;
        self.devices.get_mut(index)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            let Some(state) = self
                .index
                .get(&event.device)
                .and_then(|index| self.devices.get_mut(*index))
            else {
                self.events_of_no_device += 1;
                continue;
            };
            state.record(event, &self.options);
        }
        if let Some(last) = events.last() {
            self.now_ns = self.now_ns.max(last.end_ns);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.now_ns = self.now_ns.max(sample.at_ns);
        self.lost = sample.lost;
        for device in &sample.devices {
            if let Some(state) = self.state_mut(device.device) {
                state.sample = Some(*device);
            }
        }
    }

    fn pools(&mut self, pools: &[PoolSample]) {
        let started_ns = self.started_ns();
        for sample in pools {
            self.now_ns = self.now_ns.max(sample.at_ns);
            if !self.pools.contains_key(&sample.name) && self.pools.len() >= MAX_POOLS {
                continue;
            }
            self.pools
                .entry(sample.name.clone())
                .or_insert_with(|| PoolState::new(sample.name.clone(), self.options.latency_digits))
                .feed(sample, started_ns);
        }
    }

    fn started_ns(&self) -> u64 {
        self.start.as_ref().map_or(0, |start| start.started_ns)
    }

    /// Time from the start to the end, or to the latest moment that is known.
    fn duration_ns(&self) -> u64 {
        let until_ns = self.end.as_ref().map_or(self.now_ns, |end| end.at_ns);
        match &self.start {
            Some(start) => until_ns.saturating_sub(start.started_ns),
            None => 0,
        }
    }

    /// The report as of now: final after [`Input::End`], before it marked as not complete.
    #[must_use]
    pub fn report(&self) -> Report {
        let counts = event_counts(&self.devices, &self.lost);
        let capture = self.capture(counts);
        let devices = self
            .devices
            .iter()
            .map(|state| self.device_report(state, &capture))
            .collect();
        Report {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.host(),
            capture,
            pools: self.pools.values().map(|pool| pool.report(None)).collect(),
            devices,
            totals: totals(&self.devices, self.options.latency_digits),
        }
    }

    fn host(&self) -> HostReport {
        let host = self.start.as_ref().map(|start| &start.host);
        HostReport {
            hostname: host.map(|h| h.hostname.clone()).unwrap_or_default(),
            kernel: host.map(|h| h.kernel.clone()).unwrap_or_default(),
            zfs_version: host.and_then(|h| h.zfs_version.clone()),
            known_defects: host.map(known_defects).unwrap_or_default(),
        }
    }

    fn capture(&self, events: EventCounts) -> Capture {
        let duration_ns = self.duration_ns();
        let incomplete_reasons = incomplete_reasons(&Course {
            source: self.source,
            start: self.start.as_ref(),
            end: self.end.as_ref(),
            duration_ns,
            counts: &events,
            lost: &self.lost,
            devices_refused: self.devices_refused,
            events_of_no_device: self.events_of_no_device,
        });
        let start = self.start.as_ref();
        Capture {
            source: self.source,
            args: start.map(|s| s.args.clone()).unwrap_or_default(),
            started: rfc3339(start.map_or(0, |s| s.started_unix_ns)),
            requested_ns: start.and_then(|s| s.requested_ns),
            duration_ns,
            complete: incomplete_reasons.is_empty(),
            incomplete_reasons,
            clock: start.map(|s| s.clock.clone()).unwrap_or_default(),
            events,
            overhead: self
                .end
                .as_ref()
                .and_then(|end| end.overhead)
                .unwrap_or_default(),
        }
    }

    fn device_report(&self, state: &DeviceState, capture: &Capture) -> DeviceReport {
        let device = &state.device;
        let since_start = |at_ns: u64| at_ns.saturating_sub(self.started_ns());
        let mut report = DeviceReport {
            device: device.name.clone(),
            major: device.major,
            minor: device.minor,
            dataset: device.dataset.clone(),
            vm: device.dataset.as_deref().and_then(vm_of),
            mode: device.mode,
            volblocksize_bytes: device.volblocksize_bytes,
            size_bytes: device.size_bytes,
            appeared_ns: device.appeared_ns.map(since_start),
            vanished_ns: state.vanished_ns.map(since_start),
            lost: state.counters().ring_lost,
            submitted: state.submitted(),
            outstanding: state.outstanding(),
            ops: state.ops(),
            sync: state.sync(),
            flush: state.flush(),
            concurrency: None,
            access: None,
            alignment: None,
            amplification: None,
            candidates: None,
            submitters: state.submitters(),
            verdict: Verdict::none(),
            findings: Vec::new(),
        };
        let judgement = verdict::judge(&Facts::new(&report, capture));
        report.verdict = judgement.verdict;
        report.findings = judgement.findings;
        report
    }
}

/// Defects of the host's ZFS version that bear on zvols.
fn known_defects(_host: &Host) -> Vec<String> {
    Vec::new()
}

/// Wall-clock time in RFC 3339, UTC.
fn rfc3339(unix_ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_string()
}

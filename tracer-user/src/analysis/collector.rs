//! Folds inputs into state; [`report`] makes a report of it.

mod report;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{
    budget::Budget,
    device::{Context, DeviceState, pool_of},
    groups::Bounds,
    pool::PoolState,
    space::PoolLayout,
    txg::TxgClock,
    verdict::RuleTrace,
    window::Ends,
};
use crate::{
    event::{DeviceId, Event},
    input::{Device, End, Input, Lost, PoolSample, Sample, Start},
    report::model::SourceKind,
};

/// Most devices with a row of their own. Further ones are counted and said. An idle device
/// costs about 500 B.
const MAX_DEVICES: usize = 65_536;
/// Most pools with a row of their own.
const MAX_POOLS: usize = 1_024;

/// Most devices whose events are analysed; of further ones only the kernel's counts are shown.
const MAX_ACTIVE: usize = 4_096;
/// Active devices from which on the events of a batch are analysed device by device, so that what
/// is known of one is in the processor's caches for all of its events.
const MANY: usize = 16;
/// `zfs_txg_timeout` when nobody says: OpenZFS's default.
const DEFAULT_TXG_TIMEOUT_S: u64 = 5;
const NS_PER_S: u64 = 1_000_000_000;

/// How to analyse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Significant digits of latencies, 1 to 5.
    pub latency_digits: u8,
    /// Block sizes to compare; what is no power of two from 512 B to 16M is skipped.
    pub candidates: Vec<u64>,
    /// Layout of all pools, whatever zpool said; `None` to believe it.
    pub layout: Option<PoolLayout>,
    /// `zfs_txg_timeout` in seconds for disks whose pool has no kstat; `None` for the host's.
    pub txg_timeout_s: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            latency_digits: 2,
            candidates: (12..=20).map(|shift| 1 << shift).collect(),
            layout: None,
            txg_timeout_s: None,
        }
    }
}

/// Why a device's verdict is what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Kernel name of the device.
    pub device: String,
    /// Dataset, when it is a zvol.
    pub dataset: Option<String>,
    /// Every rule with its outcome.
    pub rules: Vec<RuleTrace>,
}

/// Folds the inputs of one capture; gives a [`crate::report::model::Report`] at any time.
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
    /// Devices with events that have not vanished: they share the memory.
    active: usize,
    devices_not_analysed: BTreeMap<usize, u64>,
    budget: Budget,
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
            active: 0,
            devices_not_analysed: BTreeMap::new(),
            budget: Budget::share(1),
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
                let bounds = self.bounds();
                for state in &mut self.devices {
                    state.finish(clock_of(&self.pools, state), &bounds);
                }
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
        let bounds = self.bounds();
        let Some(state) = self.index.get(&id).and_then(|i| self.devices.get_mut(*i)) else {
            return;
        };
        if state.vanished_ns.is_none() && state.activity.is_some() {
            self.active = self.active.saturating_sub(1);
        }
        state.vanished_ns = Some(at_ns);
        state.retire(clock_of(&self.pools, state), &bounds);
    }

    fn state_mut(&mut self, id: DeviceId) -> Option<&mut DeviceState> {
        let index = *self.index.get(&id)?;
        self.devices.get_mut(index)
    }

    fn events(&mut self, events: &[Event]) {
        if self.active < MANY {
            for event in events {
                self.event(event);
            }
        } else {
            for position in by_device(events) {
                if let Some(event) = events.get(position) {
                    self.event(event);
                }
            }
        }
        if let Some(last) = events.last() {
            self.now_ns = self.now_ns.max(last.end_ns);
        }
    }

    fn event(&mut self, event: &Event) {
        let Some(index) = self.index.get(&event.device).copied() else {
            self.events_of_no_device += 1;
            return;
        };
        let bounds = self.bounds();
        let Some(state) = self.devices.get_mut(index) else {
            return;
        };
        if state.activity.is_none() && self.active >= MAX_ACTIVE {
            *self.devices_not_analysed.entry(index).or_default() += 1;
            return;
        }
        let context = Context {
            options: &self.options,
            bounds,
            budget: self.budget,
        };
        if state.record(event, &context) {
            self.active += 1;
            self.share_memory();
        }
    }

    /// Makes room when more devices share the memory than before.
    fn share_memory(&mut self) {
        let budget = Budget::share(self.active);
        if budget == self.budget {
            return;
        }
        self.budget = budget;
        for state in &mut self.devices {
            state.shrink(&budget);
        }
    }

    fn bounds(&self) -> Bounds {
        let host = self.start.as_ref().map(|start| &start.host);
        let timeout_s = self
            .options
            .txg_timeout_s
            .or(host.and_then(|host| host.zfs_txg_timeout_s))
            .unwrap_or(DEFAULT_TXG_TIMEOUT_S);
        Bounds {
            windows_from_ns: self.started_ns(),
            ends: Ends {
                timeout_ns: timeout_s.max(1).saturating_mul(NS_PER_S),
                dirty_bytes: host.and_then(|host| host.zfs_dirty_sync_bytes),
            },
            max_runs: self.budget.runs,
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
        let bounds = self.bounds();
        for state in &mut self.devices {
            if let Some(clock) = clock_of(&self.pools, state) {
                state.settle(clock, &bounds);
            }
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
}

/// Bounds of the transaction groups of a device's pool, when they are known.
fn clock_of<'a>(
    pools: &'a BTreeMap<String, PoolState>,
    state: &DeviceState,
) -> Option<&'a TxgClock> {
    Some(pools.get(pool_of(&state.device)?)?.clock())
}

/// Positions of the events with those of one device in a row, each device's in the order given.
fn by_device(events: &[Event]) -> impl Iterator<Item = usize> {
    let keys = events.iter().zip(0_u64..);
    let mut keys: Vec<u64> = keys
        .map(|(event, position)| u64::from(event.device.0) << 32 | position)
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| (key & 0xffff_ffff) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{Random, collector, end, start, write, zvol};

    #[test]
    fn events_of_many_devices_give_the_same_report_in_one_batch_and_one_by_one() {
        let devices = u32::try_from(4 * MANY).unwrap();
        let mut random = Random(7);
        let events: Vec<Event> = (0..20_000)
            .map(|i| Event {
                device: DeviceId(u32::try_from(random.below(devices.into())).unwrap()),
                ..write(i * 1_000_000, random.below(1 << 20) * 4_096, 8_192)
            })
            .collect();
        let report = |batch: usize| {
            let appeared = (0..devices).map(|id| Input::Appeared(zvol(id, 16_384)));
            let batches = events.chunks(batch).map(|b| Input::Events(b.to_vec()));
            let inputs = [start(20)].into_iter().chain(appeared).chain(batches);
            let inputs: Vec<Input> = inputs.chain([end(20)]).collect();
            collector(SourceKind::Live, &inputs).report()
        };
        assert_eq!(report(events.len()), report(1));
    }
}

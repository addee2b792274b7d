//! The devices that are or were there, as rows.

use std::{collections::BTreeSet, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    analysis::is_counted_below,
    device::vm_of,
    event::DeviceId,
    input::Device,
    report::model::Outstanding,
    tui::snapshot::{Load, Presence, Row},
};

/// A device is new for so long.
const NEW_FOR_NS: u64 = 10_000_000_000;
/// A device that is gone stays in the table for so long, longer where it did something.
const GONE_FOR_NS: u64 = 60_000_000_000;
/// Most devices with a row; as many as the analysis has.
const MAX_DEVICES: usize = 65_536;

/// A device and what does not change with every second.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) device: Device,
    pub(super) vanished_ns: Option<u64>,
    name: Arc<str>,
    dataset: Option<Arc<str>>,
    vm: Option<u64>,
}

impl Known {
    fn new(device: Device) -> Self {
        Self {
            vanished_ns: None,
            name: device.name.as_str().into(),
            dataset: device.dataset.as_deref().map(Into::into),
            vm: device.dataset.as_deref().and_then(vm_of),
            device,
        }
    }

    fn presence(&self, now_ns: u64) -> Presence {
        if self.vanished_ns.is_some() {
            return Presence::Vanished;
        }
        match self.device.appeared_ns {
            Some(appeared_ns) if now_ns < appeared_ns.saturating_add(NEW_FOR_NS) => Presence::New,
            _ => Presence::There,
        }
    }

    /// Whether it has a row although it is gone and did nothing that is shown.
    pub(super) fn is_listed(&self, now_ns: u64) -> bool {
        self.vanished_ns
            .is_none_or(|at_ns| now_ns < at_ns.saturating_add(GONE_FOR_NS))
    }

    /// Its row, without numbers.
    pub(super) fn row(&self, now_ns: u64) -> Row {
        Row {
            id: self.device.id,
            device: Arc::clone(&self.name),
            dataset: self.dataset.clone(),
            vm: self.vm,
            mode: self.device.mode,
            block_bytes: self.device.volblocksize_bytes,
            size_bytes: self.device.size_bytes,
            presence: self.presence(now_ns),
            load: Load::default(),
            outstanding: Outstanding::default(),
            badge: None,
            verdict: None,
        }
    }
}

/// All devices, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Devices {
    all: Vec<Known>,
    index: FxHashMap<DeviceId, usize>,
    present: usize,
    /// Block size for disks that are no zvols.
    block_bytes: Option<u64>,
    /// Devices whose I/O another traced one has as well.
    doubled: BTreeSet<DeviceId>,
}

impl Devices {
    pub(super) fn judge_by(&mut self, block_bytes: Option<u64>) {
        self.block_bytes = block_bytes;
    }

    pub(super) fn appeared(&mut self, device: &Device) {
        if self.index.contains_key(&device.id) {
            self.changed(device);
        } else if self.all.len() < MAX_DEVICES {
            self.index.insert(device.id, self.all.len());
            self.all.push(Known::new(self.judged(device)));
            self.present += 1;
            self.find_doubled();
        }
    }

    fn judged(&self, device: &Device) -> Device {
        Device {
            volblocksize_bytes: device.volblocksize_bytes.or(self.block_bytes),
            ..device.clone()
        }
    }

    pub(super) fn changed(&mut self, device: &Device) {
        let judged = self.judged(device);
        if let Some(known) = self
            .index
            .get(&device.id)
            .and_then(|i| self.all.get_mut(*i))
        {
            let appeared_ns = known.device.appeared_ns.or(judged.appeared_ns);
            *known = Known {
                vanished_ns: known.vanished_ns,
                ..Known::new(Device {
                    appeared_ns,
                    ..judged
                })
            };
        }
    }

    pub(super) fn vanished(&mut self, id: DeviceId, at_ns: u64) {
        if let Some(known) = self.index.get(&id).and_then(|i| self.all.get_mut(*i))
            && known.vanished_ns.is_none()
        {
            known.vanished_ns = Some(at_ns);
            self.present -= 1;
        }
    }

    fn find_doubled(&mut self) {
        // Nearly every disk is stacked on none: nothing to look for then.
        if self
            .all
            .iter()
            .all(|known| known.device.stacked_on.is_empty())
        {
            return;
        }
        let names: BTreeSet<&str> = self.all.iter().map(|k| k.device.name.as_str()).collect();
        let doubled = self
            .all
            .iter()
            .filter(|k| is_counted_below(&k.device, &names));
        self.doubled = doubled.map(|known| known.device.id).collect();
    }

    /// Whether the sum has this device's I/O.
    pub(super) fn counts(&self, id: DeviceId) -> bool {
        !self.doubled.contains(&id)
    }

    pub(super) fn all(&self) -> &[Known] {
        &self.all
    }

    pub(super) fn get(&self, id: DeviceId) -> Option<&Known> {
        self.all.get(*self.index.get(&id)?)
    }

    /// Devices that are there.
    pub(super) fn there(&self) -> impl Iterator<Item = &Device> {
        let there = self.all.iter().filter(|known| known.vanished_ns.is_none());
        there.map(|known| &known.device)
    }

    /// How many are there.
    pub(super) fn count(&self) -> usize {
        self.present
    }
}

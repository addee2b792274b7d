//! One second of all devices, or ten, in its compact form.

use super::{cell, tally::Tally};
use crate::event::DeviceId;

/// What devices did in a stretch of whole seconds. Memory: 8 B a device and its cell.
#[derive(Debug)]
pub(super) struct Frame {
    /// First second.
    pub(super) from_s: u64,
    /// How many.
    pub(super) seconds: u64,
    /// I/Os of all devices.
    pub(super) events: u64,
    /// Devices with a cell, in order, and where their cells end.
    index: Box<[(DeviceId, u32)]>,
    cells: Box<[u8]>,
}

impl Frame {
    /// Packs tallies, which come in order of device; `None` when nobody did anything.
    pub(super) fn pack<'a>(
        from_s: u64,
        seconds: u64,
        tallies: impl Iterator<Item = (DeviceId, &'a Tally)>,
    ) -> Option<Self> {
        let (mut index, mut cells, mut events) = (Vec::new(), Vec::new(), 0);
        for (device, tally) in tallies {
            if !cell::write(tally, &mut cells) {
                continue;
            }
            let Ok(end) = u32::try_from(cells.len()) else {
                break;
            };
            index.push((device, end));
            let ops = [&tally.read, &tally.write, &tally.discard, &tally.flush];
            events += ops.iter().map(|op| op.count).sum::<u64>();
        }
        (!index.is_empty()).then(|| Self {
            from_s,
            seconds,
            events,
            index: index.into_boxed_slice(),
            cells: cells.into_boxed_slice(),
        })
    }

    pub(super) fn to_s(&self) -> u64 {
        self.from_s + self.seconds
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.index) + self.cells.len()
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = DeviceId> {
        self.index.iter().map(|(device, _)| *device)
    }

    /// Adds what a device did; whether it did anything.
    pub(super) fn add_to(&self, device: DeviceId, tally: &mut Tally) -> bool {
        let Ok(at) = self.index.binary_search_by_key(&device, |(id, _)| *id) else {
            return false;
        };
        let from = at.checked_sub(1).map_or(0, |before| self.index[before].1);
        cell::add_to(tally, &self.cells[from as usize..self.index[at].1 as usize]);
        true
    }
}

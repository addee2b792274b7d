//! Which disk has which counter slot, and the filter in the kernel that lets its I/O through.

use std::{
    collections::{HashMap, VecDeque},
    sync::atomic::Ordering,
};

use tracer_common::{DiskCounters, DiskId, FILTER_WAYS, FilterSlot, disk_number, filter_bucket};

use super::{TracerError, mapped::MappedArray};
use crate::event::DeviceId;

/// Disks by slot. A slot that a disk leaves is used again only when no fresh one is left, the
/// longest unused first, and under another generation, so that late records still find the
/// disk they belong to.
pub(super) struct Slots {
    rows: Vec<Row>,
    capacity: u32,
    free: VecDeque<u32>,
    by_device: HashMap<DeviceId, u32>,
}

struct Row {
    disk: DiskId,
    device: DeviceId,
    generation: u32,
    baseline: DiskCounters,
}

impl Slots {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            rows: Vec::new(),
            capacity: capacity.min(tracer_common::MAX_DISKS),
            free: VecDeque::new(),
            by_device: HashMap::new(),
        }
    }

    /// Gives a device a slot; `busy` says whether I/O of a slot's former disk is in flight.
    /// The second value says whether the slot was used before. `None` when there is no room.
    pub(super) fn assign(
        &mut self,
        device: DeviceId,
        blk_mq: bool,
        busy: impl Fn(u32) -> bool,
    ) -> Option<(DiskId, bool)> {
        let fresh = u32::try_from(self.rows.len()).ok()?;
        if fresh < self.capacity {
            let disk = DiskId::new(fresh, blk_mq, 0);
            self.rows.push(Row {
                disk,
                device,
                generation: 0,
                baseline: DiskCounters::default(),
            });
            self.by_device.insert(device, fresh);
            return Some((disk, false));
        }
        let place = self.free.iter().position(|slot| !busy(*slot))?;
        let slot = self.free.remove(place)?;
        let row = self.rows.get_mut(slot as usize)?;
        row.generation = row.generation.wrapping_add(1);
        row.disk = DiskId::new(slot, blk_mq, row.generation);
        row.device = device;
        self.by_device.insert(device, slot);
        Some((row.disk, true))
    }

    /// Counts that a slot bore when its present disk came.
    pub(super) fn set_baseline(&mut self, disk: DiskId, counters: DiskCounters) {
        if let Some(row) = self.rows.get_mut(disk.slot() as usize) {
            row.baseline = counters;
        }
    }

    /// A device is gone; its row stays readable until the slot is needed.
    pub(super) fn release(&mut self, device: DeviceId) -> Option<DiskId> {
        let slot = self.by_device.remove(&device)?;
        self.free.push_back(slot);
        self.rows.get(slot as usize).map(|row| row.disk)
    }

    /// The device of a kernel identity; `None` for one that was never given out or whose slot
    /// has another disk now.
    pub(super) fn device(&self, disk: DiskId) -> Option<DeviceId> {
        let row = self.rows.get(disk.slot() as usize)?;
        (row.disk == disk).then_some(row.device)
    }

    /// Every device whose counters can be read, those that left included.
    pub(super) fn devices(&self) -> impl Iterator<Item = (DeviceId, DiskId, DiskCounters)> {
        self.rows
            .iter()
            .map(|row| (row.device, row.disk, row.baseline))
    }
}

/// The filter map. The identity of a slot is written last and cleared first, which is the
/// order that the kernel half relies on.
pub(super) struct Filter {
    buckets: MappedArray<[FilterSlot; FILTER_WAYS as usize]>,
}

/// Words of 8 bytes in a filter slot: the numbers, then the identity.
const WORDS: usize = size_of::<FilterSlot>() / 8;

impl Filter {
    pub(super) fn new(buckets: MappedArray<[FilterSlot; FILTER_WAYS as usize]>) -> Self {
        Self { buckets }
    }

    /// Lets a disk's I/O through.
    pub(super) fn insert(
        &mut self,
        major: u32,
        first_minor: u32,
        disk: DiskId,
    ) -> Result<(), TracerError> {
        let number = disk_number(major, first_minor);
        let words = self.words(number);
        for slot in words.chunks_exact(WORDS) {
            if slot[1].load(Ordering::Relaxed) == 0 {
                slot[0].store(number, Ordering::Relaxed);
                slot[1].store(u64::from(disk.0), Ordering::Release);
                return Ok(());
            }
        }
        Err(TracerError::NoRoom)
    }

    /// Lets it through no longer.
    pub(super) fn remove(&mut self, major: u32, first_minor: u32, disk: DiskId) {
        let words = self.words(disk_number(major, first_minor));
        for slot in words.chunks_exact(WORDS) {
            if slot[1].load(Ordering::Relaxed) == u64::from(disk.0) {
                slot[1].store(0, Ordering::Release);
                slot[0].store(0, Ordering::Relaxed);
            }
        }
    }

    fn words(&self, number: u64) -> Vec<&std::sync::atomic::AtomicU64> {
        self.buckets.words(filter_bucket(number)).collect()
    }
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(FilterSlot, number) == 0);
    // The identity is read as the low half of the second word.
    assert!(offset_of!(FilterSlot, disk) == 8 && cfg!(target_endian = "little"));
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_last_and_never_under_the_same_identity() {
        let mut slots = Slots::new(2);
        let idle = |_: u32| false;
        let (first, used) = slots.assign(DeviceId(0), false, idle).unwrap();
        assert!(!used);
        slots.release(DeviceId(0));
        let (second, used) = slots.assign(DeviceId(1), true, idle).unwrap();
        assert!(!used && second.slot() != first.slot());
        assert_eq!(slots.device(first), Some(DeviceId(0)), "late records");
        let (third, used) = slots.assign(DeviceId(2), false, idle).unwrap();
        assert!(used && third.slot() == first.slot() && third != first);
        assert_eq!(slots.device(first), None);
        assert_eq!(slots.device(third), Some(DeviceId(2)));
        assert!(slots.assign(DeviceId(3), false, idle).is_none());
        slots.release(DeviceId(1));
        assert!(slots.assign(DeviceId(3), false, |_| true).is_none(), "busy");
    }
}

//! The traced disks, and what changed among them.
//!
//! Pure: it is told what is there and says what that means. It reads no file and has no clock.

use std::collections::{BTreeMap, HashSet};

use super::disk::Disk;

/// What happened to a traced disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Arrived(Disk),
    /// Its name, size, partitions or the like differ; the disk is the same.
    Changed(Disk),
    /// It is gone; as it was last.
    Departed(Disk),
}

/// The traced disks by kernel name; at most as many as there is room for.
///
/// Snapshots and read-only disks get three quarters of the room at most, so that a writable
/// volume still finds a place on a host that shows tens of thousands of snapshots.
#[derive(Clone, Debug)]
pub struct Inventory {
    disks: BTreeMap<String, Disk>,
    capacity: usize,
    read_only: usize,
    refused: HashSet<String>,
}

impl Inventory {
    /// An empty inventory with room for `capacity` disks.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            disks: BTreeMap::new(),
            capacity,
            read_only: 0,
            refused: HashSet::new(),
        }
    }

    /// A traced disk.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Disk> {
        self.disks.get(name)
    }

    /// The traced disks, by name.
    pub fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.disks.values()
    }

    /// Selected disks that are not traced for want of room.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.refused.len()
    }

    /// Names of those.
    pub fn refused_names(&self) -> impl Iterator<Item = String> {
        self.refused.iter().cloned()
    }

    /// Takes what one name stands for now, `None` when there is no such disk.
    ///
    /// Another identity under the same name is a departure and an arrival. A dataset that is
    /// not known for a moment (udev is remaking the link) is not forgotten.
    pub fn observe(&mut self, name: &str, now: Option<Disk>) -> Vec<Change> {
        let mut changes = Vec::new();
        let Some(mut disk) = now else {
            self.refused.remove(name);
            changes.extend(self.depart(name));
            return changes;
        };
        if let Some(before) = self.disks.get(name) {
            if before.identity == disk.identity {
                if disk.dataset.is_none() {
                    disk.dataset.clone_from(&before.dataset);
                    disk.snapshot = before.snapshot;
                }
                if *before != disk {
                    self.count(before.rank(), disk.rank());
                    self.disks.insert(name.to_owned(), disk.clone());
                    changes.push(Change::Changed(disk));
                }
                return changes;
            }
            changes.extend(self.depart(name));
        }
        if self.takes(&disk) {
            self.refused.remove(name);
            self.read_only += usize::from(is_last(disk.rank()));
            self.disks.insert(name.to_owned(), disk.clone());
            changes.push(Change::Arrived(disk));
        } else {
            self.refused.insert(name.to_owned());
        }
        changes
    }

    /// Takes what several names stand for now: departures come first, so that they make room,
    /// then arrivals in the order of [`super::scan::order`].
    pub fn observe_all(&mut self, now: Vec<(String, Option<Disk>)>) -> Vec<Change> {
        let (gone, mut here): (Vec<_>, Vec<_>) =
            now.into_iter().partition(|(_, disk)| disk.is_none());
        let mut changes = Vec::new();
        for (name, _) in gone {
            changes.extend(self.observe(&name, None));
        }
        let mut disks: Vec<Disk> = here.drain(..).filter_map(|(_, disk)| disk).collect();
        super::scan::order(&mut disks);
        for disk in disks {
            let name = disk.name.clone();
            changes.extend(self.observe(&name, Some(disk)));
        }
        changes
    }

    /// Places left for snapshots and read-only disks.
    pub(super) fn room_for_read_only(&self) -> usize {
        let quota = (self.capacity / 4 * 3).saturating_sub(self.read_only);
        quota.min(self.capacity - self.disks.len())
    }

    /// Counts a disk as refused that is known to be read-only, and so need not be read.
    pub(super) fn refuse(&mut self, name: String) {
        self.refused.insert(name);
    }

    fn depart(&mut self, name: &str) -> Option<Change> {
        let disk = self.disks.remove(name)?;
        self.read_only -= usize::from(is_last(disk.rank()));
        Some(Change::Departed(disk))
    }

    fn takes(&self, disk: &Disk) -> bool {
        if is_last(disk.rank()) {
            self.room_for_read_only() > 0
        } else {
            self.disks.len() < self.capacity
        }
    }

    fn count(&mut self, before: u8, after: u8) {
        self.read_only += usize::from(is_last(after));
        self.read_only -= usize::from(is_last(before));
    }
}

/// Whether a rank is that of snapshots and read-only disks.
const fn is_last(rank: u8) -> bool {
    rank == 2
}

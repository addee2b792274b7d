//! Disks that come, go and change while a capture runs.
//!
//! Owns the pace at which the host is looked at. Uevents say at once which disk to look at;
//! a listing of `/sys/block` (names and inodes, nothing else) finds what they missed; the
//! links below `/dev/zvol` give the names, some time after the disk. Listing and links are
//! spaced so that each takes at most a fixed share of one CPU, however many nodes there are
//! (tens of thousands with `snapdev=visible`). Never blocks, never opens a device.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use super::{
    Change, Disk, Inventory, Selector, Uevents,
    dataset::is_snapshot,
    disk::{self, Identity},
    links::ZvolLinks,
    roots::Roots,
    scan,
};

/// Least time between two listings of `/sys/block`.
const LISTING_INTERVAL: Duration = Duration::from_secs(1);
/// A listing takes at most one part in so many of the time (1 %).
const LISTING_COST_SHARE: u32 = 100;
/// Least time between two looks at the links.
const LINKS_INTERVAL: Duration = Duration::from_millis(250);
/// A look at the links takes at most one part in so many of the time (2 %).
const LINKS_COST_SHARE: u32 = 50;
/// Disks that are read in one call: some 100 us each.
const READS_PER_POLL: usize = 2048;
/// Traced disks that a listing has read again where there are no uevents.
const READS_PER_ROTATION: usize = 512;
/// When a disk that has just come is read again. Up to 5.10 the kernel announces it before
/// its queue has all its attributes (block/genhd.c, `__device_add_disk`).
const SETTLE: Duration = Duration::from_millis(500);
/// When a disk that could not be read yet is tried again, and how often.
const RETRY: Duration = Duration::from_millis(200);
const RETRIES: u8 = 20;

/// A disk to be looked at again.
#[derive(Clone, Copy, Debug)]
struct Again {
    at: Instant,
    tries: u8,
}

/// Follows the selected disks of a host.
#[derive(Debug)]
pub struct DeviceWatch {
    roots: Roots,
    selector: Selector,
    zvol_major: u32,
    uevents: Option<Uevents>,
    links: ZvolLinks,
    inventory: Inventory,
    /// Every disk of the host, selected or not.
    listing: HashMap<String, Identity>,
    dirty: BTreeSet<String>,
    again: BTreeMap<String, Again>,
    next_listing: Instant,
    next_links: Instant,
    /// A disk left, so one that was refused may find room.
    freed: bool,
    /// Last name of the traced disks that was looked at for want of uevents.
    rotation: Option<String>,
}

impl DeviceWatch {
    /// Starts to follow; gives the disks that are selected now, in the order of
    /// [`scan::order`], as many as there is room for ([`tracer_common::MAX_DISKS`]).
    #[must_use]
    pub fn new(roots: Roots, selector: Selector) -> (Self, Vec<Disk>) {
        let uevents = Uevents::open().ok();
        Self::with_uevents(roots, selector, uevents, Instant::now())
    }

    /// The same with a given source of uevents, or none, at a given time.
    #[must_use]
    pub fn with_uevents(
        roots: Roots,
        selector: Selector,
        uevents: Option<Uevents>,
        now: Instant,
    ) -> (Self, Vec<Disk>) {
        let mut watch = Self {
            zvol_major: disk::zvol_major(&roots),
            links: ZvolLinks::read(&roots.dev),
            roots,
            selector,
            uevents,
            inventory: Inventory::new(tracer_common::MAX_DISKS as usize),
            listing: HashMap::new(),
            dirty: BTreeSet::new(),
            again: BTreeMap::new(),
            next_listing: now,
            next_links: now + LINKS_INTERVAL,
            freed: false,
            rotation: None,
        };
        watch.list(now);
        watch.forget_replaced(now);
        let names = std::mem::take(&mut watch.dirty);
        let disks = watch
            .look_at(names, now)
            .into_iter()
            .filter_map(|change| match change {
                Change::Arrived(disk) => Some(disk),
                Change::Changed(_) | Change::Departed(_) => None,
            })
            .collect();
        (watch, disks)
    }

    /// Says what changed since the last call. Call it a few times a second.
    pub fn poll(&mut self, now: Instant) -> Vec<Change> {
        self.hear(now);
        if now >= self.next_listing {
            self.list(now);
        }
        let due: Vec<String> = self
            .again
            .iter()
            .filter(|(_, again)| again.at <= now)
            .map(|(name, _)| name.clone())
            .collect();
        self.dirty.extend(due);
        self.forget_replaced(now);
        if now >= self.next_links {
            let (changed, cost) = timed(|| self.links.refresh(now));
            self.dirty.extend(changed);
            self.next_links = now + LINKS_INTERVAL.max(cost * LINKS_COST_SHARE);
        }
        let names = self.next_names();
        self.look_at(names, now)
    }

    /// The disks traced now.
    pub fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.inventory.disks()
    }

    /// Selected disks that are not traced because there is no room for more.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.inventory.refused()
    }

    /// Readable when a uevent waits; `None` when there are no uevents (a container, say), and
    /// changes are found by listing alone.
    #[must_use]
    pub fn uevents(&self) -> Option<BorrowedFd<'_>> {
        self.uevents.as_ref().map(AsFd::as_fd)
    }

    /// Takes as many of the marked names as one call reads; known snapshots come last.
    fn next_names(&mut self) -> BTreeSet<String> {
        if self.dirty.len() <= READS_PER_POLL {
            return std::mem::take(&mut self.dirty);
        }
        let is_snapshot = |name: &&String| self.links.dataset(name).is_some_and(is_snapshot);
        let first = self.dirty.iter().filter(|name| !is_snapshot(name));
        let last = self.dirty.iter().filter(is_snapshot);
        let names: BTreeSet<String> = first.chain(last).take(READS_PER_POLL).cloned().collect();
        self.dirty.retain(|name| !names.contains(name));
        names
    }

    /// Takes the uevents that wait.
    fn hear(&mut self, now: Instant) {
        let Some(uevents) = &mut self.uevents else {
            return;
        };
        let lost = uevents.drain(&mut self.dirty);
        if lost {
            self.dirty
                .extend(self.inventory.disks().map(|disk| disk.name.clone()));
            self.next_listing = now;
        }
    }

    /// Lists `/sys/block` and marks every name that is new, gone or another's.
    fn list(&mut self, now: Instant) {
        let (names, cost) = timed(|| scan::names(&self.roots));
        self.next_listing = now + LISTING_INTERVAL.max(cost * LISTING_COST_SHARE);
        let mut gone: BTreeSet<&str> = self.listing.keys().map(String::as_str).collect();
        for (name, identity) in &names {
            gone.remove(name.as_str());
            if self.listing.get(name) != Some(identity) {
                self.dirty.insert(name.clone());
            }
        }
        self.dirty.extend(gone.into_iter().map(str::to_owned));
        if std::mem::take(&mut self.freed) {
            self.dirty.extend(self.inventory.refused_names());
        }
        if self.uevents.is_none() {
            self.rotate();
        }
    }

    /// Without uevents nothing says that a traced disk was resized or partitioned: look at
    /// some of them each time.
    fn rotate(&mut self) {
        let after = self.rotation.take();
        let names: Vec<String> = self
            .inventory
            .disks()
            .map(|disk| &disk.name)
            .filter(|name| after.as_ref().is_none_or(|after| *name > after))
            .take(READS_PER_ROTATION)
            .cloned()
            .collect();
        self.rotation = names.get(READS_PER_ROTATION - 1).cloned();
        self.dirty.extend(names);
    }

    /// Stops believing the links of the names that are about to be looked at and stand for
    /// another disk now, or none.
    fn forget_replaced(&mut self, now: Instant) {
        let mut replaced = HashSet::new();
        for name in &self.dirty {
            let identity = disk::identity(&self.roots, name);
            let before = self.listing.get(name);
            if before.is_some() && before != identity.as_ref() {
                replaced.insert(name.as_str());
            }
            match identity {
                Some(identity) => self.listing.insert(name.clone(), identity),
                None => self.listing.remove(name),
            };
        }
        self.links.distrust(&replaced, now);
    }

    /// Reads the named disks as far as they are selected or traced.
    fn look_at(&mut self, names: BTreeSet<String>, now: Instant) -> Vec<Change> {
        let mut seen = Vec::new();
        let mut room = self.inventory.room_for_read_only();
        for name in names {
            let tries = self.again.remove(&name).map_or(0, |again| again.tries);
            if !self.listing.contains_key(&name) {
                seen.push((name, None));
                continue;
            }
            let dataset = self.links.dataset(&name);
            let is_traced = self.inventory.get(&name).is_some();
            if !is_traced && !self.selector.picks(&name, dataset) {
                continue;
            }
            if !is_traced && dataset.is_some_and(is_snapshot) {
                if room == 0 {
                    self.inventory.refuse(name);
                    continue;
                }
                room = room.saturating_sub(1);
            }
            let disk = disk::read(&self.roots, &name, self.zvol_major, dataset);
            if disk.is_none() && tries < RETRIES && disk::identity(&self.roots, &name).is_some() {
                self.look_again(&name, now + RETRY, tries + 1);
            }
            seen.push((name, disk));
        }
        let changes = self.inventory.observe_all(seen);
        for change in &changes {
            match change {
                Change::Arrived(disk) => self.look_again(&disk.name, now + SETTLE, 0),
                Change::Departed(_) => self.freed = true,
                Change::Changed(_) => {}
            }
        }
        changes
    }

    /// Has a disk looked at again unasked.
    fn look_again(&mut self, name: &str, at: Instant, tries: u8) {
        self.again.insert(name.to_owned(), Again { at, tries });
    }
}

/// What a closure gives, and how long it took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

//! One block device as sysfs shows it.
//!
//! Reads attributes only: it never opens the device and runs nothing, because both can hang
//! for good on a zvol of a suspended pool.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::{
    dataset, partition,
    roots::{Roots, read_number, read_word},
};
use crate::input::{Mode, Partition};

/// Size of a sector in sysfs, whatever the disk's own is (block/genhd.c).
const SECTOR_BYTES: u64 = 512;
/// Major number of zvols when `/proc/devices` does not say (OpenZFS `zvol_major`).
const DEFAULT_ZVOL_MAJOR: u32 = 230;
/// Most partitions that are read of one disk.
const MAX_PARTITIONS: usize = 256;
/// Most disks below one that are read.
const MAX_STACK: usize = 256;

/// What tells a disk from a later one of the same name and number: the inode of its entry in
/// `/sys/block`, which kernfs gives out once.
///
/// `diskseq` is no substitute: it exists from 5.15 on only, and it also moves when a zvol is
/// resized, since the driver reports a media change then (block/disk-events.c; OpenZFS
/// `zvol_os.c`, `zvol_check_events`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub u64);

/// A disk (never a partition).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Kernel name, `zd16`.
    pub name: String,
    /// Major number.
    pub major: u32,
    /// First minor number.
    pub first_minor: u32,
    /// How it takes its I/O.
    pub mode: Mode,
    /// Dataset; `None` when it is no zvol or udev has not made its link yet.
    pub dataset: Option<String>,
    /// Whether it is a snapshot's device (`snapdev=visible`).
    pub snapshot: bool,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// A zvol's volblocksize; `None` for other disks.
    pub volblocksize_bytes: Option<u64>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Partitions, in order of their start.
    pub partitions: Vec<Partition>,
    /// Kernel names of every disk below this one, through all layers.
    pub stacked_on: Vec<String>,
    /// Tells it from a later disk of the same name.
    pub identity: Identity,
    /// Whether its driver is the zvol driver.
    pub is_zvol: bool,
}

impl Disk {
    /// Number of the virtual machine it belongs to, by Proxmox's names.
    #[must_use]
    pub fn vm(&self) -> Option<u64> {
        self.dataset.as_deref().and_then(dataset::vm_of)
    }

    /// Order in which disks are taken while there is room: writable zvols first, then other
    /// writable disks, then snapshots and what is read-only.
    #[must_use]
    pub fn rank(&self) -> u8 {
        if self.read_only || self.snapshot {
            2
        } else {
            u8::from(!self.is_zvol)
        }
    }

    /// The disk as a capture's input knows it.
    ///
    /// `block_size_bytes` (`--block-size`) stands in where there is no volblocksize.
    #[must_use]
    pub fn to_device(
        &self,
        id: crate::event::DeviceId,
        block_size_bytes: Option<u64>,
        appeared_ns: Option<u64>,
    ) -> crate::input::Device {
        crate::input::Device {
            id,
            name: self.name.clone(),
            major: self.major,
            minor: self.first_minor,
            mode: self.mode,
            dataset: self.dataset.clone(),
            volblocksize_bytes: self.volblocksize_bytes.or(block_size_bytes),
            size_bytes: self.size_bytes,
            partitions: self.partitions.clone(),
            stacked_on: self.stacked_on.clone(),
            appeared_ns,
        }
    }
}

/// Major number of zvols: the driver `zvol` in `/proc/devices`, else the default.
#[must_use]
pub(super) fn zvol_major(roots: &Roots) -> u32 {
    let devices =
        super::roots::read_text(&roots.proc.join("devices"), 64 << 10).unwrap_or_default();
    devices
        .lines()
        .skip_while(|line| !line.starts_with("Block devices"))
        .filter_map(|line| line.trim().split_once(' '))
        .find(|(_, driver)| *driver == "zvol")
        .and_then(|(major, _)| major.parse().ok())
        .unwrap_or(DEFAULT_ZVOL_MAJOR)
}

/// Identity of a disk, without reading more of it; `None` when there is none of that name.
#[must_use]
pub(super) fn identity(roots: &Roots, name: &str) -> Option<Identity> {
    let meta = fs::symlink_metadata(roots.disk(name)).ok()?;
    Some(Identity(meta.ino()))
}

/// Reads a disk; `None` when there is none of that name, when it is not whole yet, or when it
/// goes away meanwhile.
///
/// `dataset` is what the links say; it is left out when the disk is no zvol.
#[must_use]
pub(super) fn read(
    roots: &Roots,
    name: &str,
    zvol_major: u32,
    dataset: Option<&str>,
) -> Option<Disk> {
    let identity = identity(roots, name)?;
    let path = roots.disk(name);
    let dev = read_word(&path.join("dev"))?;
    let (major, minor) = dev.split_once(':')?;
    let (major, first_minor) = (major.parse().ok()?, minor.parse().ok()?);
    if !path.join("queue").is_dir() {
        return None;
    }
    let is_zvol = major == zvol_major;
    let dataset = dataset.filter(|_| is_zvol).map(str::to_owned);
    // Every ZFS version sets it to the volblocksize (OpenZFS zvol_os.c,
    // blk_queue_physical_block_size); optimal_io_size differs from 2.3 on.
    let volblocksize_bytes = is_zvol
        .then(|| read_number(&path.join("queue/physical_block_size")))
        .flatten();
    Some(Disk {
        name: name.to_owned(),
        major,
        first_minor,
        mode: mode_of(&path),
        snapshot: dataset.as_deref().is_some_and(dataset::is_snapshot),
        dataset,
        read_only: read_number::<u8>(&path.join("ro")).is_some_and(|flag| flag != 0),
        volblocksize_bytes,
        size_bytes: sectors(&path.join("size")).saturating_mul(SECTOR_BYTES),
        partitions: partitions(&path, name),
        stacked_on: stacked_on(roots, &path),
        identity,
        is_zvol,
    })
}

/// Mode of a disk by its directory: `mq` is there for blk-mq only (block/blk-mq-sysfs.c).
pub(super) fn mode_of(path: &Path) -> Mode {
    if path.join("mq").is_dir() {
        Mode::BlkMq
    } else {
        Mode::Bio
    }
}

fn sectors(path: &Path) -> u64 {
    read_number(path).unwrap_or(0)
}

fn partitions(path: &Path, disk: &str) -> Vec<Partition> {
    let mut partitions: Vec<Partition> = names_in(path)
        .filter(|name| partition::number_of(name, disk).is_some())
        .take(MAX_PARTITIONS)
        .filter_map(|name| {
            let path = path.join(&name);
            Some(Partition {
                start_sector: read_number(&path.join("start"))?,
                sectors: read_number(&path.join("size"))?,
                name,
            })
        })
        .collect();
    partitions.sort_unstable_by_key(|partition| partition.start_sector);
    partitions
}

/// Every disk below this one, however many layers down: a disk in between need not be traced.
/// A layer may stand on a partition; its disk is what counts.
fn stacked_on(roots: &Roots, path: &Path) -> Vec<String> {
    let mut below: Vec<String> = Vec::new();
    let mut pending = vec![path.join("slaves")];
    while let Some(slaves) = pending.pop() {
        for name in names_in(&slaves) {
            let disk = disk_behind(&slaves.join(&name)).unwrap_or(name);
            if below.len() < MAX_STACK && !below.contains(&disk) {
                pending.push(roots.disk(&disk).join("slaves"));
                below.push(disk);
            }
        }
    }
    below.sort_unstable();
    below
}

/// Name of the disk that a sysfs entry of a disk or of a partition belongs to.
pub(super) fn disk_behind(entry: &Path) -> Option<String> {
    let mut path = fs::canonicalize(entry).ok()?;
    if path.join("partition").exists() {
        path.pop();
    }
    Some(path.file_name()?.to_str()?.to_owned())
}

fn names_in(path: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
}

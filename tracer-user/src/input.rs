//! Everything a report is made from, as one stream of values.
//!
//! A source (live, a recording, blktrace files) yields [`Input`]s in order; the analysis folds
//! them; a recording stores them. Nothing else reaches a report, so a report made from a
//! recording equals the one printed live.

use serde::{Deserialize, Serialize};
use tracer_common::DiskCounters;

use crate::event::{DeviceId, Event};

/// One step of a capture, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The capture begins. First, and once.
    Start(Start),
    /// A device is traced from now on.
    Appeared(Device),
    /// A device's dataset or size changed (rename, resize).
    Changed(Device),
    /// A device is gone; its row stays.
    Vanished {
        /// Which.
        device: DeviceId,
        /// When, capture clock, ns.
        at_ns: u64,
    },
    /// I/Os that completed, about in order of completion.
    Events(Vec<Event>),
    /// What the kernel counted and what is in flight, taken at one moment.
    Sample(Sample),
    /// State of the pools, from kstat.
    Pools(Vec<PoolSample>),
    /// The capture ends. Last; missing when the capture was killed.
    End(End),
}

/// Opening of a capture: where, how and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Machine.
    pub host: Host,
    /// Arguments of the command, without the program's name.
    pub args: Vec<String>,
    /// Wall-clock time of the start, nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The same moment on the capture clock (`CLOCK_MONOTONIC`), ns.
    pub started_ns: u64,
    /// Duration that was asked for; `None` without limit.
    pub requested_ns: Option<u64>,
    /// Clock of all times of the capture, `CLOCK_MONOTONIC` when live.
    pub clock: String,
    /// Block size to judge against for disks that are no zvols, `--block-size`.
    pub block_size_bytes: Option<u64>,
}

/// The machine of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// `/sys/module/zfs/version`; `None` without ZFS.
    pub zfs_version: Option<String>,
    /// `zfs_txg_timeout` in seconds; `None` without ZFS.
    pub zfs_txg_timeout_s: Option<u64>,
    /// Dirty bytes beyond which ZFS ends a transaction group before its time:
    /// `zfs_dirty_data_max` x `zfs_dirty_data_sync_percent`; `None` without ZFS.
    #[serde(default)]
    pub zfs_dirty_sync_bytes: Option<u64>,
    /// Whether the running kernel is known to patch the defects of its ZFS version (Proxmox).
    #[serde(default)]
    pub defects_patched: bool,
}

/// How a disk takes its I/O, and so which hooks see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Bios reach the driver: `block_bio_queue` and `block_bio_complete`.
    #[serde(rename = "bio")]
    Bio,
    /// Requests reach the driver: `block_rq_*`.
    #[serde(rename = "blk-mq")]
    BlkMq,
}

/// A traced device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Identity within the capture.
    pub id: DeviceId,
    /// Kernel name, `zd16`.
    pub name: String,
    /// Major number.
    pub major: u32,
    /// First minor number.
    pub minor: u32,
    /// Mode.
    pub mode: Mode,
    /// Dataset behind `/dev/zvol`; `None` for a disk that is no zvol.
    pub dataset: Option<String>,
    /// Block size that writes are judged against: a zvol's volblocksize, or `--block-size`.
    pub volblocksize_bytes: Option<u64>,
    /// Size of the disk.
    pub size_bytes: u64,
    /// Partitions, for naming a constant misalignment.
    #[serde(default)]
    pub partitions: Vec<Partition>,
    /// Kernel names of the disks this one is stacked on (`slaves` in sysfs).
    #[serde(default)]
    pub stacked_on: Vec<String>,
    /// When it appeared, capture clock; `None` when it was there at the start.
    pub appeared_ns: Option<u64>,
}

/// A partition of a traced device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Kernel name, `zd16p1`.
    pub name: String,
    /// First sector of 512 B.
    pub start_sector: u64,
    /// Length in sectors of 512 B.
    pub sectors: u64,
}

/// Counters and in-flight I/Os at one moment. Every value is since the device was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When, capture clock, ns.
    pub at_ns: u64,
    /// Per device.
    pub devices: Vec<DeviceSample>,
    /// Losses that belong to no device.
    pub lost: Lost,
}

/// One device's share of a [`Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSample {
    /// Which device.
    pub device: DeviceId,
    /// Exact counts, summed over the CPUs.
    pub counters: DiskCounters,
    /// I/Os in flight.
    pub outstanding: u64,
    /// Age of the oldest of them, ns; 0 without any.
    pub oldest_ns: u64,
}

/// Losses that are not any device's: each is in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Hook calls the kernel skipped because the program already ran on that CPU
    /// (`recursion_misses`), less those that a copy of the hook did the work of; an upper bound.
    pub recursion: u64,
    /// Ring records that could not be decoded (wrong length, unknown disk), or that a hook had
    /// claimed a place for and not written when the capture ended.
    pub undecodable: u64,
    /// Events that a full queue to the recorder or the screen dropped.
    pub queue: u64,
}

impl Lost {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.recursion + self.undecodable + self.queue
    }

    /// What was lost since an earlier moment of the same capture.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            recursion: self.recursion.saturating_sub(earlier.recursion),
            undecodable: self.undecodable.saturating_sub(earlier.undecodable),
            queue: self.queue.saturating_sub(earlier.queue),
        }
    }
}

impl DeviceSample {
    /// The same moment, counted since an earlier one of the same capture. Counts only grow, but
    /// a damaged recording may hold any: what would be less than nothing is nothing.
    #[must_use]
    pub fn since(&self, earlier: &DiskCounters) -> Self {
        let now = &self.counters;
        let each = |now: [u64; 5], then: [u64; 5]| {
            std::array::from_fn(|class| now[class].saturating_sub(then[class]))
        };
        Self {
            counters: DiskCounters {
                count: each(now.count, earlier.count),
                bytes: each(now.bytes, earlier.bytes),
                errors: now.errors.saturating_sub(earlier.errors),
                submitted: now.submitted.saturating_sub(earlier.submitted),
                ring_lost: now.ring_lost.saturating_sub(earlier.ring_lost),
                not_tracked: now.not_tracked.saturating_sub(earlier.not_tracked),
                without_start: now.without_start.saturating_sub(earlier.without_start),
                overwritten: now.overwritten.saturating_sub(earlier.overwritten),
            },
            ..*self
        }
    }
}

impl Sample {
    /// Events of the capture that were counted but did not come.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        let in_rings = self.devices.iter().map(|device| device.counters.ring_lost);
        in_rings.sum::<u64>() + self.lost.total()
    }
}

/// A pool at one moment, from `/proc/spl/kstat/zfs/<pool>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSample {
    /// Name.
    pub name: String,
    /// When, capture clock, ns.
    pub at_ns: u64,
    /// Word of the `state` kstat: `ONLINE`, `SUSPENDED`...; `None` when it cannot be read.
    pub state: Option<String>,
    /// Transaction groups that are new or changed since the last sample.
    pub txgs: Vec<Txg>,
    /// Objset counters of the traced zvols.
    pub objsets: Vec<Objset>,
    /// What zpool said, in the one sample that came after its answer (`--ask-zpool`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<PoolShape>,
}

/// What only `zpool` knows of a pool; what it did not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolShape {
    /// Layout of the data vdevs, `raidz2:6`, when all have the same.
    pub layout: Option<String>,
    /// log2 of the sector that they allocate.
    pub ashift: Option<u32>,
    /// Share of the pool that is allocated, in percent.
    pub fill_percent: Option<u32>,
    /// A scrub or resilver in progress.
    pub activity: Option<String>,
}

/// A transaction group, from the `txgs` kstat, its birth converted to the capture clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Txg {
    /// Number.
    pub txg: u64,
    /// When it opened, capture clock, ns (the kstat's is `CLOCK_MONOTONIC_RAW`).
    pub birth_ns: u64,
    /// `O`pen, `Q`uiescing, `W`aiting, `S`yncing or `C`ommitted.
    pub state: char,
    /// Dirty bytes at the start of the sync.
    pub ndirty_bytes: u64,
    /// Bytes read while it synced.
    pub nread_bytes: u64,
    /// Bytes written while it synced.
    pub nwritten_bytes: u64,
    /// Time it was open, ns.
    pub open_ns: u64,
    /// Time it quiesced, ns.
    pub quiesce_ns: u64,
    /// Time it waited, ns.
    pub wait_ns: u64,
    /// Time it synced, ns.
    pub sync_ns: u64,
}

/// Counters of one dataset, from its `objset-0x*` kstat; cumulative since import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objset {
    /// Dataset.
    pub dataset: String,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub nwritten_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub nread_bytes: u64,
    /// ZIL commits (ZFS 2.2 and later).
    pub zil_commit_count: Option<u64>,
    /// Bytes of log records, all kinds (ZFS 2.2 and later).
    pub zil_itx_bytes: Option<u64>,
}

/// Close of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When, capture clock, ns.
    pub at_ns: u64,
    /// Why it is not complete, in plain words; empty when it is.
    pub incomplete_reasons: Vec<String>,
    /// What it cost; `None` when that is not known.
    pub overhead: Option<Overhead>,
}

/// What a capture cost the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Run time of the hooks an I/O, ns; `None` when `kernel.bpf_stats_enabled` is off.
    pub kernel_ns_per_io: Option<u64>,
    /// CPU time of this process, ns.
    pub user_cpu_ns: u64,
    /// Most memory this process held, bytes.
    pub max_rss_bytes: u64,
}

//! The kernel side's other half: loads the BPF object, attaches what is needed, tells it which
//! disks to trace, drains the ring and reads the counters.
//!
//! The only place that imports aya. It decides nothing about what the events mean, and it
//! never blocks: every read is of memory that is mapped already, but for the start and for the
//! hash table of old kernels.

mod decode;
mod error;
mod load;
mod log;
mod mapped;
mod programs;
mod slots;
mod stats;
mod status;

pub use error::TracerError;

use std::{num::NonZeroU32, path::PathBuf};

use aya::maps::{HashMap as BpfHashMap, MapData, RingBuf};
use tracer_common::{
    DiskCounters, DiskId, INFLIGHT_BUCKETS, INFLIGHT_SLOTS, INFLIGHT_WAYS, Inflight,
};

use self::{
    decode::InflightValue,
    log::KernelLog,
    mapped::MappedArray,
    programs::Programs,
    slots::{Filter, Slots},
};
use crate::{
    event::{DeviceId, Event},
    input::{Device, DeviceSample, Lost, Mode, Sample},
};

/// How to trace.
#[derive(Clone, Debug)]
pub struct Config {
    /// Size of the ring in bytes, a power of two of pages.
    pub ring_bytes: u32,
    /// Disks to make room for; more are refused.
    pub disks: NonZeroU32,
    /// Root of sysfs, `/sys`.
    pub sys: PathBuf,
    /// Print what the hooks log of their rare paths (a full table) on standard error.
    pub kernel_log: bool,
}

/// A loaded tracer. Dropping it detaches everything: the kernel keeps nothing, also when the
/// process is killed, since all of it hangs on this process's file descriptors.
pub struct Tracer {
    programs: Programs,
    ring: RingBuf<MapData>,
    filter: Filter,
    table: InflightTable,
    counters: CounterTable,
    slots: Slots,
    undecodable: u64,
    log: Option<KernelLog>,
}

enum InflightTable {
    Slots {
        keys: MappedArray<[u64; INFLIGHT_WAYS as usize]>,
        entries: MappedArray<Inflight>,
    },
    Hash(BpfHashMap<MapData, u64, InflightValue>),
}

struct CounterTable {
    values: MappedArray<DiskCounters>,
    slots: u32,
}

impl Tracer {
    /// Loads the object for this kernel. Nothing is attached until a disk is added.
    pub fn load(config: &Config) -> Result<Self, TracerError> {
        let loaded = load::load(config)?;
        Ok(Self {
            programs: loaded.programs,
            ring: loaded.ring,
            filter: Filter::new(loaded.filter),
            table: loaded.table,
            counters: CounterTable {
                values: loaded.counters,
                slots: config.disks.get(),
            },
            slots: Slots::new(config.disks.get()),
            undecodable: 0,
            log: loaded.log,
        })
    }

    /// Traces a disk from now on, attaching what its mode needs.
    pub fn add(&mut self, device: &Device) -> Result<(), TracerError> {
        self.programs.attach(device.mode)?;
        let busy = |slot| self.table.any(|io| DiskId(io.disk).slot() == slot);
        let blk_mq = device.mode == Mode::BlkMq;
        let (disk, slot_is_used) = self
            .slots
            .assign(device.id, blk_mq, busy)
            .ok_or(TracerError::NoRoom)?;
        if slot_is_used {
            let before = self.counters.of(disk.slot());
            self.slots.set_baseline(disk, before);
        }
        if let Err(error) = self.filter.insert(device.major, device.minor, disk) {
            self.slots.release(device.id);
            return Err(error);
        }
        Ok(())
    }

    /// Makes ready for disks that come later, of either mode, and frees what only loading
    /// needs. Call it once, when the disks of the moment are added.
    pub fn settle(&mut self) {
        self.programs.settle();
    }

    /// Traces a disk no longer. What is in flight may still complete and is delivered.
    pub fn remove(&mut self, device: &Device) {
        if let Some(disk) = self.slots.release(device.id) {
            self.filter.remove(device.major, device.minor, disk);
        }
    }

    /// Detaches every hook; what the ring and the tables hold can still be read.
    pub fn detach(&mut self) {
        self.programs.detach();
    }

    /// Takes up to `limit` completed I/Os out of the ring; true when there may be more.
    pub fn drain(&mut self, limit: usize, events: &mut Vec<Event>) -> bool {
        for _ in 0..limit {
            let Some(record) = self.ring.next() else {
                return false;
            };
            match decode::event(&record, &self.slots) {
                Some(event) => events.push(event),
                None => self.undecodable += 1,
            }
        }
        true
    }

    /// Counters and I/Os in flight, `now_ns` on `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn sample(&mut self, now_ns: u64) -> Sample {
        if let Some(log) = &mut self.log {
            log.flush();
        }
        let mut in_flight = std::collections::HashMap::<DeviceId, (u64, u64)>::new();
        self.table.for_each(|io| {
            if let Some(device) = self.slots.device(DiskId(io.disk)) {
                let (count, oldest_ns) = in_flight.entry(device).or_default();
                *count += 1;
                *oldest_ns = (*oldest_ns).max(now_ns.saturating_sub(io.start_ns));
            }
        });
        let devices = self.slots.devices().map(|(device, disk, baseline)| {
            let (outstanding, oldest_ns) = in_flight.get(&device).copied().unwrap_or_default();
            DeviceSample {
                device,
                counters: self.counters.of(disk.slot()).since(&baseline),
                outstanding,
                oldest_ns,
            }
        });
        Sample {
            at_ns: now_ns,
            devices: devices.collect(),
            lost: Lost {
                recursion: self.programs.recursion_misses(),
                undecodable: self.undecodable,
                queue: 0,
            },
        }
    }

    /// Run time of all hooks so far in ns; `None` when `kernel.bpf_stats_enabled` is off.
    #[must_use]
    pub fn run_time_ns(&self) -> Option<u64> {
        self.programs.run_time_ns()
    }
}

impl CounterTable {
    /// Counts of a slot, summed over the CPUs.
    fn of(&self, slot: u32) -> DiskCounters {
        let mut sum = DiskCounters::default();
        let per_cpu = (slot..self.values.len()).step_by(self.slots as usize);
        for index in per_cpu {
            sum.add(&self.values.read(index));
        }
        sum
    }
}

impl InflightTable {
    /// Calls `see` for every I/O in flight.
    fn for_each(&self, mut see: impl FnMut(&Inflight)) {
        match self {
            Self::Slots { keys, entries } => {
                for bucket in 0..INFLIGHT_BUCKETS {
                    let addresses = keys.read(bucket);
                    for (slot, address) in (bucket * INFLIGHT_WAYS..INFLIGHT_SLOTS).zip(addresses) {
                        if address == 0 {
                            continue;
                        }
                        let io = entries.read(slot);
                        // Freed or claimed anew meanwhile: then it is not this I/O any more.
                        let way = (slot % INFLIGHT_WAYS) as usize;
                        if keys.read(bucket)[way] == address && io.disk != 0 {
                            see(&io);
                        }
                    }
                }
            }
            Self::Hash(map) => {
                // An entry that goes away while the map is walked is no longer in flight.
                for (_, InflightValue(io)) in map.iter().flatten() {
                    see(&io);
                }
            }
        }
    }

    fn any(&self, mut test: impl FnMut(&Inflight) -> bool) -> bool {
        let mut found = false;
        self.for_each(|io| found |= test(io));
        found
    }
}

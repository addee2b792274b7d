//! The kernel side's other half: loads the BPF object, attaches what is needed, tells it which
//! disks to trace, drains the ring and reads the counters.
//!
//! The only place that imports aya. It decides nothing about what the events mean, and it
//! never blocks: every read is of memory that is mapped already, but for the start and for the
//! hash table of old kernels.

mod copies;
mod decode;
mod error;
mod load;
mod log;
mod mapped;
mod programs;
mod rings;
mod slots;
mod stats;
mod status;

pub use copies::Copies;
pub use error::TracerError;

use std::{num::NonZeroU32, path::PathBuf};

use aya::maps::{HashMap as BpfHashMap, MapData, RingBuf};
use rustix::time::{ClockId, clock_gettime};
use tracer_common::{
    DiskCounters, DiskId, INFLIGHT_BUCKETS, INFLIGHT_SLOTS, INFLIGHT_WAYS, Inflight, IoRecord,
    OpClass,
    record::{origin, place},
};

use self::{
    decode::InflightValue,
    log::KernelLog,
    mapped::MappedArray,
    programs::Programs,
    rings::Rings,
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
    /// Copies of each hook to attach; `None` for what this kernel needs.
    pub copies: Option<Copies>,
}

/// A loaded tracer. Dropping it detaches everything: the kernel keeps nothing, also when the
/// process is killed, since all of it hangs on this process's file descriptors.
pub struct Tracer {
    programs: Programs,
    ring: Ring,
    filter: Filter,
    table: InflightTable,
    counters: CounterTable,
    slots: Slots,
    undecodable: u64,
    detached: bool,
    log: Option<KernelLog>,
}

/// Where the records are.
enum Ring {
    PerCpu(Rings),
    Shared(RingBuf<MapData>),
}

enum InflightTable {
    Slots {
        keys: MappedArray<[u64; INFLIGHT_WAYS as usize]>,
        entries: MappedArray<Inflight>,
    },
    Hash(BpfHashMap<MapData, u64, InflightValue>),
}

struct CounterTable {
    /// Of what did not reach the ring, by CPU and slot.
    in_kernel: MappedArray<DiskCounters>,
    slots: u32,
    /// Of what was taken out of the ring, by slot.
    taken: Vec<DiskCounters>,
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
                in_kernel: loaded.counters,
                slots: config.disks.get(),
                taken: Vec::new(),
            },
            slots: Slots::new(config.disks.get()),
            undecodable: 0,
            detached: false,
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
        self.detached = true;
    }

    /// Takes up to `limit` completed I/Os out of the ring, in order of completion; true when
    /// there may be more.
    pub fn drain(&mut self, limit: usize, events: &mut Vec<Event>) -> bool {
        // What completes from now on may overtake what another CPU is about to write.
        let until_ns = if self.detached {
            u64::MAX
        } else {
            monotonic_ns()
        };
        let (slots, counters) = (&self.slots, &mut self.counters);
        let mut undecodable = 0;
        let mut take = |cpu: u16, record: &IoRecord| match decode::event(record, cpu, slots) {
            Some(event) => {
                counters.take(record);
                events.push(event);
            }
            None => undecodable += 1,
        };
        let more = match &mut self.ring {
            Ring::PerCpu(rings) => rings.drain(limit, until_ns, take),
            Ring::Shared(ring) => {
                let mut left = limit;
                while left > 0
                    && let Some(item) = ring.next()
                {
                    left -= 1;
                    match decode::shared(&item) {
                        Some(record) => take(record.cpu, &record.io),
                        None => self.undecodable += 1,
                    }
                }
                left == 0
            }
        };
        self.undecodable += undecodable;
        more
    }

    /// Records that a hook has yet to write, and those behind them, when all others are taken:
    /// a task can be preempted in a hook. After [`Self::detach`] no new ones come.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        match &self.ring {
            Ring::PerCpu(rings) => rings.unfinished(),
            Ring::Shared(_) => 0,
        }
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
            let mut counters = self.counters.of(disk.slot()).since(&baseline);
            if !disk.is_blk_mq() {
                counters.submitted = submitted(&counters, outstanding);
            }
            DeviceSample {
                device,
                counters,
                outstanding,
                oldest_ns,
            }
        });
        let never_written = if self.detached { self.unfinished() } else { 0 };
        Sample {
            at_ns: now_ns,
            devices: devices.collect(),
            lost: Lost {
                recursion: self.programs.recursion_misses(),
                undecodable: self.undecodable + never_written,
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
        let mut sum = self.taken.get(slot as usize).copied().unwrap_or_default();
        let per_cpu = (slot..self.in_kernel.len()).step_by(self.slots as usize);
        for index in per_cpu {
            sum.add(&self.in_kernel.read(index));
        }
        sum
    }

    /// Counts a record that was taken out of the ring.
    fn take(&mut self, record: &IoRecord) {
        let slot = DiskId(record.disk).slot() as usize;
        if slot >= self.taken.len() {
            self.taken.resize(slot + 1, DiskCounters::default());
        }
        let counters = &mut self.taken[slot];
        let class = OpClass::of(origin::opf(record.origin), record.bytes) as usize;
        counters.count[class] += 1;
        counters.bytes[class] += u64::from(record.bytes);
        counters.errors += u64::from(place::status(record.place) != 0);
    }
}

/// I/Os submitted to a bio-mode disk: each of them is completed, in flight, or counted as what
/// became of it instead.
fn submitted(counters: &DiskCounters, outstanding: u64) -> u64 {
    let completed: u64 = counters.count.iter().sum();
    completed + outstanding + counters.overwritten + counters.not_tracked
}

/// Now, `CLOCK_MONOTONIC`, ns: the clock of the hooks (`bpf_ktime_get_ns`).
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
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

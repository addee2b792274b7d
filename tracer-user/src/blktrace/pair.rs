//! Pairs records into one [`Event`] an I/O.
//!
//! Streaming, with bounded memory, for any subset of actions. A device whose records tell of
//! requests (allocated, inserted, issued, requeued) is a blk-mq device and its I/Os are
//! requests; any other has only bios. What cannot be paired is counted, never guessed.

mod device;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::{
    event::{Comm, DeviceId, Event},
    input::Mode,
};
use tracer_common::DiskCounters;

use super::record::{Action, Payload, Record};
use device::DeviceState;

/// Major number of zvols (`ZVOL_MAJOR` in OpenZFS, the default of its module parameter).
const ZVOL_MAJOR: u32 = 230;
/// Minor numbers of one zvol (`ZVOL_MINORS`): the disk and its partitions.
const ZVOL_MINORS: u32 = 16;

/// I/Os in flight over all devices; when that many wait, the older half is given up and
/// counted. The live tracer follows a quarter of it.
const MAX_IN_FLIGHT: u64 = 1 << 18;
/// Devices; records of more are counted as undecodable.
const MAX_DEVICES: usize = tracer_common::MAX_DISKS as usize;
/// Command names that are remembered; a pid that comes later has none.
const MAX_COMMS: usize = 1 << 18;

/// A device that has come up, in order of [`DeviceId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Identity.
    pub id: DeviceId,
    /// Major number.
    pub major: u32,
    /// First minor number: a zvol's partition bears its disk's.
    pub minor: u32,
    /// Mode, from the actions seen.
    pub mode: Mode,
}

/// Counts of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Which.
    pub device: DeviceId,
    /// Counts as the live tracer keeps them.
    pub counters: DiskCounters,
    /// I/Os whose completion has not been seen.
    pub outstanding: u64,
    /// Age of the oldest of them, ns.
    pub oldest_ns: u64,
}

/// Counts of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Per device, in order of identity.
    pub devices: Vec<DeviceCounts>,
    /// Records of devices beyond the limit of 8,192.
    pub undecodable: u64,
}

/// The state of pairing.
#[derive(Debug, Default)]
pub struct Pairing {
    index: FxHashMap<(u32, u32), usize>,
    devices: Vec<DeviceState>,
    /// Index of the device of the record before: records of one device come together.
    last: Option<((u32, u32), usize)>,
    comms: FxHashMap<u32, Comm>,
    arrivals: Vec<Arrival>,
    announced: u32,
    events: Vec<Event>,
    order: u64,
    in_flight: u64,
    undecodable: u64,
    wall_clock: Option<(u64, i64)>,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Pairing {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next record.
    pub fn feed(&mut self, record: &Record) {
        if record.action == Action::Notify {
            self.note(record);
            return;
        }
        self.saw(record.time_ns);
        let Some(index) = self.device(record.device) else {
            self.undecodable += 1;
            return;
        };
        if self.in_flight >= MAX_IN_FLIGHT {
            self.forget_older_half();
        }
        self.order += 1;
        let comm = match record.payload {
            Payload::Process(comm) => comm,
            _ if device::names_submitter(record.action) => {
                self.comms.get(&record.pid).copied().unwrap_or_default()
            }
            _ => Comm::default(),
        };
        let device = &mut self.devices[index];
        let before = device.in_flight();
        let completed = device.feed(record, comm, self.order);
        self.in_flight = self.in_flight + device.in_flight() - before;
        if completed {
            self.collect(index);
        }
    }

    /// Ends the trace: completions that were stamped before their start find it now.
    pub fn finish(&mut self) {
        for index in 0..self.devices.len() {
            self.devices[index].resolve_inversions();
            self.collect(index);
            self.announce(index);
        }
    }

    /// Events and devices since the last call: feed the devices first.
    pub fn drain(&mut self) -> (Vec<Arrival>, Vec<Event>) {
        (
            std::mem::take(&mut self.arrivals),
            std::mem::take(&mut self.events),
        )
    }

    /// Events that wait for [`Pairing::drain`].
    #[must_use]
    pub fn ready(&self) -> usize {
        self.events.len()
    }

    /// Time of the first record, ns on the clock of the trace.
    #[must_use]
    pub fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// Latest time of a record so far, ns on the clock of the trace.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Wall-clock time of a moment of the trace, ns since the Unix epoch; `None` when the trace
    /// holds no `TIMESTAMP`.
    #[must_use]
    pub fn wall_clock_ns(&self, at_ns: u64) -> Option<i64> {
        let (stamp_ns, unix_ns) = self.wall_clock?;
        let since = i128::from(at_ns) - i128::from(stamp_ns);
        i64::try_from(i128::from(unix_ns) + since).ok()
    }

    /// Counts so far, of the devices that have been announced.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut devices: Vec<_> = self
            .devices
            .iter()
            .filter_map(|device| device.counts(self.last_ns))
            .collect();
        devices.sort_by_key(|counts| counts.device);
        Counts {
            devices,
            undecodable: self.undecodable,
        }
    }

    fn note(&mut self, record: &Record) {
        match record.payload {
            Payload::Process(comm) => {
                if self.comms.len() < MAX_COMMS || self.comms.contains_key(&record.pid) {
                    self.comms.insert(record.pid, comm);
                }
            }
            Payload::WallClock(unix_ns) => {
                self.wall_clock.get_or_insert((record.time_ns, unix_ns));
                // Kernels write 0 as the device of some notes; others name an idle device.
                if record.device != (0, 0) {
                    self.device(record.device);
                }
                self.saw(record.time_ns);
            }
            Payload::None => {}
        }
    }

    fn saw(&mut self, time_ns: u64) {
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
    }

    fn device(&mut self, number: (u32, u32)) -> Option<usize> {
        if let Some((last, index)) = self.last
            && last == number
        {
            return Some(index);
        }
        let (major, minor) = number;
        let disk = match major {
            // blktrace of a partition: its sectors still count from the start of the disk,
            // since a bio is queued after it was remapped.
            ZVOL_MAJOR => (major, minor - minor % ZVOL_MINORS),
            _ => number,
        };
        let index = match self.index.get(&disk) {
            Some(index) => *index,
            None if self.devices.len() < MAX_DEVICES => {
                self.devices.push(DeviceState::new(disk));
                self.index.insert(disk, self.devices.len() - 1);
                self.devices.len() - 1
            }
            None => return None,
        };
        self.last = Some((number, index));
        Some(index)
    }

    fn announce(&mut self, index: usize) -> DeviceId {
        let device = &mut self.devices[index];
        if let Some(id) = device.id() {
            return id;
        }
        let id = DeviceId(self.announced);
        self.announced += 1;
        let (major, minor) = device.announce(id);
        self.arrivals.push(Arrival {
            id,
            major,
            minor,
            mode: device.mode(),
        });
        id
    }

    fn collect(&mut self, index: usize) {
        if self.devices[index].completed.is_empty() {
            return;
        }
        let id = self.announce(index);
        let completed = &mut self.devices[index].completed;
        self.events.extend(completed.drain(..).map(|event| Event {
            device: id,
            ..event
        }));
    }

    fn forget_older_half(&mut self) {
        let mut orders: Vec<u64> = self.devices.iter().flat_map(DeviceState::orders).collect();
        let middle = orders.len() / 2;
        let (_, keep_from, _) = orders.select_nth_unstable(middle);
        let keep_from = *keep_from;
        for device in &mut self.devices {
            self.in_flight -= device.forget_before(keep_from);
        }
    }
}

/// Kernel name of a disk by its number; `major,minor` when the number does not tell.
#[must_use]
pub fn disk_name(major: u32, minor: u32) -> String {
    match major {
        ZVOL_MAJOR => format!("zd{minor}"),
        _ => format!("{major},{minor}"),
    }
}

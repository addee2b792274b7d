//! The kernel, now: tracing as a [`Source`].
//!
//! Owns the pace of a live capture: how often the ring is drained, devices are looked for and
//! samples taken. It never waits for anything but its own short sleep, and opens no zvol.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroU32,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use super::Source;
use crate::{
    device::{Change, DeviceWatch, Disk, Roots, Selector},
    event::{DeviceId, Event},
    host,
    input::{Device, End, Input, Overhead, Start},
    kstat::PoolSampler,
    report::model::SourceKind,
    tracer::{Config, Copies, Tracer, TracerError},
    zpool::{Asked, ZpoolError},
};

/// The clock of every live input.
pub(crate) use crate::tracer::monotonic_ns as now_ns;

/// How long records that a preempted task has yet to write are waited for at the end.
const UNFINISHED_FOR: Duration = Duration::from_millis(200);
/// Time between two looks into the ring, which does not wake its reader: at 16 MiB it holds
/// some 260,000 events.
const DRAIN_EVERY: Duration = Duration::from_millis(10);
/// Time between two looks for devices that came or went.
const DEVICES_EVERY: Duration = Duration::from_millis(50);
/// Time between two samples of counters, I/Os in flight and pools.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Most events of one [`Input::Events`].
const BATCH: usize = 65_536;
/// Events are handed over together when there are this many, or when the first has waited
/// [`GATHER_FOR`]: with a thousand busy disks the analysis then finds several of each disk.
const GATHER: usize = 16_384;
/// Longest that an event waits for others.
const GATHER_FOR: Duration = Duration::from_millis(100);
/// Rows made ready for disks that may come while tracing.
const SPARE_DISKS: u32 = 1024;

/// What a live capture is asked to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Arguments of the command, for the report.
    pub args: Vec<String>,
    /// Block size for disks that are no zvols.
    pub block_size_bytes: Option<u64>,
    /// How long; `None` without limit.
    pub duration: Option<Duration>,
    /// Size of the ring.
    pub ring_bytes: u32,
    /// Print what the hooks log of their rare paths.
    pub kernel_log: bool,
    /// Copies of each hook to attach; `None` for what this kernel needs.
    pub copies: Option<Copies>,
    /// Ask zpool for the layout of the pools.
    pub ask_zpool: bool,
    /// Say on standard error when everything is attached.
    pub announce: bool,
}

/// Ends a capture early from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<OnceLock<String>>);

impl Stop {
    /// Asks for the end; `reason` goes into the report. The first reason stays.
    pub fn request(&self, reason: &str) {
        let _ = self.0.set(reason.to_owned());
    }

    fn reason(&self) -> Option<&String> {
        self.0.get()
    }
}

/// A running live capture.
pub struct Live {
    tracer: Tracer,
    watch: DeviceWatch,
    pools: PoolSampler,
    zpool: Option<Asked>,
    devices: HashMap<String, Device>,
    next_id: u32,
    block_size_bytes: Option<u64>,
    pending: VecDeque<Input>,
    /// Events taken from the ring and not handed over, and since when.
    gathered: Vec<Event>,
    gathered_since: Instant,
    stop: Stop,
    started_ns: u64,
    ends: Option<Instant>,
    next_devices: Instant,
    next_sample: Instant,
    not_traced: u64,
    /// Most disks that found no room at one time, in the inventory.
    refused: usize,
    completed: u64,
    ended: bool,
}

impl Live {
    /// Loads, attaches to every disk that matches now, and starts the clock.
    ///
    /// # Errors
    /// The kernel cannot be traced, or not by this user.
    pub fn start(
        plan: &Plan,
        roots: &Roots,
        selector: Selector,
        stop: Stop,
    ) -> Result<Self, TracerError> {
        let (watch, disks) = DeviceWatch::new(roots.clone(), selector);
        let rows = u32::try_from(disks.len())
            .unwrap_or(tracer_common::MAX_DISKS)
            .saturating_mul(2)
            .clamp(SPARE_DISKS, tracer_common::MAX_DISKS);
        let tracer = Tracer::load(&Config {
            ring_bytes: plan.ring_bytes,
            disks: NonZeroU32::new(rows).unwrap_or(NonZeroU32::MIN),
            sys: roots.sys.clone(),
            kernel_log: plan.kernel_log,
            copies: plan.copies,
        })?;
        let now = Instant::now();
        let mut live = Self {
            tracer,
            watch,
            pools: PoolSampler::new(roots),
            zpool: plan.ask_zpool.then(|| Asked::start("zpool".into(), roots)),
            devices: HashMap::new(),
            next_id: 0,
            block_size_bytes: plan.block_size_bytes,
            pending: VecDeque::new(),
            gathered: Vec::new(),
            gathered_since: now,
            stop,
            started_ns: 0,
            ends: None,
            next_devices: now,
            next_sample: now,
            not_traced: 0,
            refused: 0,
            completed: 0,
            ended: false,
        };
        for disk in &disks {
            live.arrive(disk, None)?;
        }
        live.tracer.settle();
        live.set_datasets();
        let now = Instant::now();
        live.started_ns = now_ns();
        live.ends = plan.duration.map(|duration| now + duration);
        live.next_sample = now;
        live.pending.push_front(Input::Start(Start {
            host: host::read(roots),
            args: plan.args.clone(),
            started_unix_ns: i64::try_from(jiff::Timestamp::now().as_nanosecond())
                .unwrap_or(i64::MAX),
            started_ns: live.started_ns,
            requested_ns: plan.duration.map(saturating_ns),
            clock: "CLOCK_MONOTONIC".to_owned(),
            block_size_bytes: plan.block_size_bytes,
        }));
        Ok(live)
    }

    /// Disks traced now.
    #[must_use]
    pub fn disks(&self) -> usize {
        self.devices.len()
    }

    /// Why zpool gave no answer, once the capture has ended; `None` when it did or was not
    /// asked.
    pub fn zpool_failure(&mut self) -> Option<ZpoolError> {
        self.zpool.take()?.failure()
    }

    /// What tracing has cost so far: the hooks as of the latest sample, this process now.
    pub(crate) fn cost(&self) -> Overhead {
        self.cost_with(self.tracer.run_time_ns())
    }

    fn cost_with(&self, run_time_ns: Option<u64>) -> Overhead {
        Overhead {
            kernel_ns_per_io: run_time_ns.and_then(|ns| ns.checked_div(self.completed)),
            ..own_cost()
        }
    }

    fn arrive(&mut self, disk: &Disk, appeared_ns: Option<u64>) -> Result<(), TracerError> {
        let id = DeviceId(self.next_id);
        let device = disk.to_device(id, self.block_size_bytes, appeared_ns);
        match self.tracer.add(&device) {
            Ok(()) => {}
            Err(TracerError::NoRoom) => {
                self.not_traced += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.next_id += 1;
        self.pending.push_back(Input::Appeared(device.clone()));
        self.devices.insert(device.name.clone(), device);
        Ok(())
    }

    fn look_for_devices(&mut self) -> Result<(), TracerError> {
        let changes = self.watch.poll(Instant::now());
        self.refused = self.refused.max(self.watch.refused());
        if changes.is_empty() {
            return Ok(());
        }
        self.hand_over();
        for change in changes {
            let now_ns = now_ns();
            match change {
                Change::Arrived(disk) => self.arrive(&disk, Some(now_ns))?,
                Change::Changed(disk) => {
                    if let Some(known) = self.devices.get_mut(&disk.name) {
                        let device =
                            disk.to_device(known.id, self.block_size_bytes, known.appeared_ns);
                        known.clone_from(&device);
                        self.pending.push_back(Input::Changed(device));
                    }
                }
                Change::Departed(disk) => {
                    if let Some(device) = self.devices.remove(&disk.name) {
                        self.tracer.remove(&device);
                        self.pending.push_back(Input::Vanished {
                            device: device.id,
                            at_ns: now_ns,
                        });
                    }
                }
            }
        }
        self.set_datasets();
        Ok(())
    }

    fn set_datasets(&mut self) {
        let datasets = self.devices.values().filter_map(|d| d.dataset.as_deref());
        self.pools.set_datasets(datasets);
    }

    /// Moves one batch out of the ring; true when there may be more.
    fn drain(&mut self, now: Instant) -> bool {
        if self.gathered.is_empty() {
            self.gathered_since = now;
        }
        let room = BATCH.saturating_sub(self.gathered.len());
        let more = self.tracer.drain(room, &mut self.gathered);
        if self.gathered.len() >= GATHER || now - self.gathered_since >= GATHER_FOR {
            self.hand_over();
        }
        more
    }

    /// Hands over what was gathered, before anything that happened later.
    fn hand_over(&mut self) {
        if !self.gathered.is_empty() {
            let events = std::mem::take(&mut self.gathered);
            self.pending.push_back(Input::Events(events));
        }
    }

    fn sample(&mut self) {
        self.hand_over();
        let now_ns = now_ns();
        let sample = self.tracer.sample(now_ns);
        let counts = sample.devices.iter().flat_map(|d| d.counters.count);
        self.completed = self.completed.max(counts.sum());
        let mut pools = self.pools.sample(now_ns);
        if let Some(zpool) = &mut self.zpool {
            for pool in &mut pools {
                pool.shape = zpool.take(&pool.name);
            }
        }
        self.pending.push_back(Input::Sample(sample));
        if !pools.is_empty() {
            self.pending.push_back(Input::Pools(pools));
        }
    }

    /// Detaches, empties the ring, takes the last sample. In this order nothing is counted
    /// that is not delivered.
    fn end(&mut self) {
        // A rename or a departure since the last look belongs to the report.
        let looked = self.look_for_devices();
        let run_time_ns = self.tracer.run_time_ns();
        self.tracer.detach();
        while self.drain(Instant::now()) {}
        let patience = Instant::now() + UNFINISHED_FOR;
        while self.tracer.unfinished() > 0 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
            while self.drain(Instant::now()) {}
        }
        self.sample();
        // Without a time that was asked for, being stopped is how it ends.
        let early = self.stop.reason().filter(|_| self.ends.is_some());
        let mut reasons: Vec<String> = early.cloned().into_iter().collect();
        reasons.extend(looked.err().map(|error| error.to_string()));
        let refused = self.not_traced.saturating_add(self.refused as u64);
        if refused > 0 {
            reasons.push(format!(
                "{refused} disks were not traced: there is room for {} at a time",
                tracer_common::MAX_DISKS
            ));
        }
        self.pending.push_back(Input::End(End {
            at_ns: now_ns(),
            incomplete_reasons: reasons,
            overhead: Some(self.cost_with(run_time_ns)),
        }));
        self.ended = true;
    }

    fn is_due(&self, now: Instant) -> bool {
        self.stop.reason().is_some() || self.ends.is_some_and(|ends| now >= ends)
    }
}

impl Source for Live {
    fn kind(&self) -> SourceKind {
        SourceKind::Live
    }

    fn next(&mut self) -> anyhow::Result<Option<Input>> {
        loop {
            if let Some(input) = self.pending.pop_front() {
                return Ok(Some(input));
            }
            if self.ended {
                return Ok(None);
            }
            let now = Instant::now();
            if self.is_due(now) {
                self.end();
                continue;
            }
            let more = self.drain(now);
            if now >= self.next_devices {
                self.next_devices = now + DEVICES_EVERY;
                self.look_for_devices()?;
            }
            if now >= self.next_sample {
                self.next_sample = now + SAMPLE_EVERY;
                self.sample();
            }
            if self.pending.is_empty() && !more {
                let until_end = self.ends.map_or(DRAIN_EVERY, |ends| ends - now);
                std::thread::sleep(DRAIN_EVERY.min(until_end));
            }
        }
    }
}

fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time and peak memory of this process.
fn own_cost() -> Overhead {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(cpu.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(cpu.tv_nsec).unwrap_or(0);
    Overhead {
        kernel_ns_per_io: None,
        user_cpu_ns: seconds.saturating_mul(1_000_000_000).saturating_add(nanos),
        max_rss_bytes: peak_rss_bytes().unwrap_or(0),
    }
}

/// `VmHWM` of `/proc/self/status`, which counts in KiB.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

//! Everything a capture says of one device.
//!
//! A device without I/O costs its description only: the statistics are created by the first
//! event, so tens of thousands of idle snapshot nodes are cheap.

use tracer_common::{DiskCounters, OpClass, flag};

use super::{
    Options,
    amplification::Amplifier,
    budget::Budget,
    concurrency::InFlight,
    groups::Bounds,
    latency::Distribution,
    op::{OpEvents, Phases, without_events},
    pattern::{Reads, Writes},
    submitters::Submitters,
    touched::Touched,
    txg::TxgClock,
};
use crate::{
    event::Event,
    input::{Device, DeviceSample, Mode},
    report::model::{FlushReport, OpStats, Ops, Outstanding, Submitter, SyncReport},
};

/// What recording an I/O needs beside the I/O.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) options: &'a Options,
    pub(super) bounds: Bounds,
    pub(super) budget: Budget,
}

/// What is known of one device.
#[derive(Debug)]
pub(super) struct DeviceState {
    pub(super) device: Device,
    pub(super) vanished_ns: Option<u64>,
    pub(super) sample: Option<DeviceSample>,
    pub(super) activity: Option<Box<Activity>>,
}

/// Statistics of the events of one device.
#[derive(Debug)]
pub(super) struct Activity {
    read: Option<Box<OpEvents>>,
    write: Option<Box<OpEvents>>,
    discard: Option<Box<OpEvents>>,
    other: Option<Box<OpEvents>>,
    flushes: u64,
    flush_bytes: u64,
    pub(super) flush_latency: Distribution,
    sync: SyncReport,
    submitters: Submitters,
    pub(super) reads: Option<Box<Reads>>,
    pub(super) writes: Option<Box<Writes>>,
    pub(super) touched: Touched,
    pub(super) in_flight: InFlight,
    pub(super) delivered: u64,
    pub(super) time_inversions: u64,
}

impl Activity {
    fn new(options: &Options) -> Self {
        Self {
            read: None,
            write: None,
            discard: None,
            other: None,
            flushes: 0,
            flush_bytes: 0,
            flush_latency: Distribution::new(options.latency_digits),
            sync: SyncReport::default(),
            submitters: Submitters::default(),
            reads: None,
            writes: None,
            touched: Touched::default(),
            in_flight: InFlight::default(),
            delivered: 0,
            time_inversions: 0,
        }
    }

    fn class_mut(&mut self, class: OpClass) -> Option<&mut Option<Box<OpEvents>>> {
        match class {
            OpClass::Read => Some(&mut self.read),
            OpClass::Write => Some(&mut self.write),
            OpClass::Discard => Some(&mut self.discard),
            OpClass::Other => Some(&mut self.other),
            OpClass::Flush => None,
        }
    }

    fn class(&self, class: OpClass) -> Option<&OpEvents> {
        match class {
            OpClass::Read => self.read.as_deref(),
            OpClass::Write => self.write.as_deref(),
            OpClass::Discard => self.discard.as_deref(),
            OpClass::Other => self.other.as_deref(),
            OpClass::Flush => None,
        }
    }

    fn record(&mut self, event: &Event, device: &Device, phases: Phases, context: &Context<'_>) {
        self.delivered += 1;
        self.time_inversions += u64::from(event.latency_ns().is_none());
        self.submitters.record(event);
        self.in_flight.record(event.start_ns, event.end_ns);
        let digits = context.options.latency_digits;
        let class = event.op.class();
        if let Some(slot) = self.class_mut(class) {
            slot.get_or_insert_with(|| Box::new(OpEvents::new(digits)))
                .record(event, phases);
        } else {
            self.flushes += 1;
            self.flush_bytes += u64::from(event.bytes);
            if let Some(ns) = event.latency_ns() {
                self.flush_latency.record(ns);
            }
        }
        match class {
            OpClass::Write => {
                self.record_sync(event);
                self.record_place(event, device, context);
            }
            OpClass::Read => self.record_place(event, device, context),
            OpClass::Discard | OpClass::Flush | OpClass::Other => {}
        }
    }

    /// Where reads and writes lie. Discards are apart: they write no block.
    fn record_place(&mut self, event: &Event, device: &Device, context: &Context<'_>) {
        if event.bytes == 0 {
            return;
        }
        let is_write = event.op.class() == OpClass::Write;
        self.touched.record(
            event.offset_bytes,
            event.bytes,
            is_write,
            context.budget.granules,
        );
        if is_write {
            let digits = context.options.latency_digits;
            self.writes
                .get_or_insert_with(|| {
                    let amplifier = Amplifier::new(
                        device.volblocksize_bytes,
                        &context.options.candidates,
                        pool_of(device).is_some(),
                    );
                    Box::new(Writes::new(amplifier, digits))
                })
                .record(event, &context.bounds);
        } else {
            self.reads
                .get_or_insert_with(|| Box::new(Reads::new()))
                .record(event);
        }
    }

    fn record_sync(&mut self, event: &Event) {
        self.sync.hinted += u64::from(event.flags.has(flag::SYNC));
        self.sync.fua += u64::from(event.flags.has(flag::FUA));
        self.sync.preflush_with_data += u64::from(event.flags.has(flag::PREFLUSH));
        self.sync.durable_writes += u64::from(event.is_durable_write());
    }
}

impl DeviceState {
    pub(super) fn new(device: Device) -> Self {
        Self {
            device,
            vanished_ns: None,
            sample: None,
            activity: None,
        }
    }

    pub(super) fn phases(&self) -> Phases {
        match self.device.mode {
            Mode::Bio => Phases::Whole,
            Mode::BlkMq => Phases::QueueAndService,
        }
    }

    /// Takes an I/O. Whether it was the first: an active device has a share of the memory.
    pub(super) fn record(&mut self, event: &Event, context: &Context<'_>) -> bool {
        let phases = self.phases();
        let is_first = self.activity.is_none();
        self.activity
            .get_or_insert_with(|| Box::new(Activity::new(context.options)))
            .record(event, &self.device, phases, context);
        is_first
    }

    /// Assigns writes to the transaction groups that are known by now.
    pub(super) fn settle(&mut self, clock: &TxgClock, bounds: &Bounds) {
        if let Some(writes) = self.writes_mut() {
            writes.amplifier.groups_mut().settle(clock, bounds);
        }
    }

    /// Ends the open transaction group.
    pub(super) fn finish(&mut self, clock: Option<&TxgClock>, bounds: &Bounds) {
        if let Some(writes) = self.writes_mut() {
            writes.amplifier.groups_mut().finish(clock, bounds);
        }
    }

    /// Keeps the results of a device that is gone and gives back most of its memory.
    pub(super) fn retire(&mut self, clock: Option<&TxgClock>, bounds: &Bounds) {
        self.finish(clock, bounds);
        if let Some(activity) = &mut self.activity {
            activity.touched.settle();
            if let Some(writes) = &mut activity.writes {
                writes.amplifier.groups_mut().shrink(0);
            }
        }
    }

    /// Gives back what a smaller share of the memory does not cover.
    pub(super) fn shrink(&mut self, budget: &Budget) {
        if let Some(activity) = &mut self.activity {
            activity.touched.thin(budget.granules);
            if let Some(writes) = &mut activity.writes {
                writes.amplifier.groups_mut().shrink(budget.runs);
            }
        }
    }

    fn writes_mut(&mut self) -> Option<&mut Writes> {
        self.activity.as_mut()?.writes.as_deref_mut()
    }

    /// What the kernel counted; zeros before the first sample.
    pub(super) fn counters(&self) -> DiskCounters {
        self.sample
            .map(|sample| sample.counters)
            .unwrap_or_default()
    }

    /// I/Os and bytes of a class. The kernel's counters are exact at the moment of their
    /// sample; events that arrived since can only add to them.
    pub(super) fn volume(&self, class: OpClass) -> (u64, u64) {
        let counters = self.counters();
        let (count, bytes) = self.seen(class);
        let index = class as usize;
        (
            counters.count[index].max(count),
            counters.bytes[index].max(bytes),
        )
    }

    fn seen(&self, class: OpClass) -> (u64, u64) {
        let Some(activity) = &self.activity else {
            return (0, 0);
        };
        match activity.class(class) {
            Some(events) => (events.count, events.bytes),
            None if class == OpClass::Flush => (activity.flushes, activity.flush_bytes),
            None => (0, 0),
        }
    }

    /// I/Os completed, of all classes.
    pub(super) fn completed(&self) -> u64 {
        OpClass::ALL.iter().map(|class| self.volume(*class).0).sum()
    }

    pub(super) fn delivered(&self) -> u64 {
        self.activity.as_ref().map_or(0, |a| a.delivered)
    }

    pub(super) fn time_inversions(&self) -> u64 {
        self.activity.as_ref().map_or(0, |a| a.time_inversions)
    }

    pub(super) fn outstanding(&self) -> Outstanding {
        self.sample
            .map_or_else(Outstanding::default, |sample| Outstanding {
                count: sample.outstanding,
                oldest_ns: sample.oldest_ns,
            })
    }

    /// Bios submitted by the kernel's count; without one, the I/Os that are known.
    pub(super) fn submitted(&self) -> u64 {
        match &self.sample {
            Some(sample) => sample.counters.submitted,
            None => self.delivered(),
        }
    }

    pub(super) fn events_of(&self, class: OpClass) -> Option<&OpEvents> {
        self.activity.as_ref()?.class(class)
    }

    pub(super) fn ops(&self) -> Ops {
        let phases = self.phases();
        let stats = |class| -> OpStats {
            let (count, bytes) = self.volume(class);
            match self.events_of(class) {
                Some(events) => events.stats(count, bytes, phases),
                None => without_events(count, bytes, phases),
            }
        };
        Ops {
            read: stats(OpClass::Read),
            write: stats(OpClass::Write),
            discard: stats(OpClass::Discard),
            other: stats(OpClass::Other),
        }
    }

    pub(super) fn sync(&self) -> SyncReport {
        self.activity.as_ref().map(|a| a.sync).unwrap_or_default()
    }

    pub(super) fn flush(&self) -> FlushReport {
        let described = self.activity.as_ref().map(|a| a.flush_latency.describe());
        let (latency_ns, latency_histogram) = described.unwrap_or_default();
        FlushReport {
            count: self.volume(OpClass::Flush).0,
            latency_ns,
            latency_histogram,
        }
    }

    pub(super) fn submitters(&self) -> Vec<Submitter> {
        self.activity
            .as_ref()
            .map(|a| a.submitters.busiest_first())
            .unwrap_or_default()
    }
}

/// The pool of a zvol: the first part of its dataset's name.
pub(super) fn pool_of(device: &Device) -> Option<&str> {
    device.dataset.as_deref()?.split('/').next()
}

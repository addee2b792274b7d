//! The observing side: folds inputs, and makes a [`Snapshot`] of what the screen asks for.
//!
//! Pure: no clock, no I/O; time comes with the inputs and as an argument. Owns what "since the
//! start" means and which device has a row; judgement is the analysis's, the last 15 minutes are
//! the history's.

mod devices;
mod episode;
mod gathered;
mod job;
mod judged;
#[cfg(test)]
mod tests;
mod view;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rustc_hash::FxHashMap;
use tracer_common::DiskCounters;

pub use self::job::{Finished, Order};
use self::{
    devices::Devices, episode::Episode, gathered::Gathered, job::BackgroundJob, judged::Judged,
    view::Kept,
};
use super::{
    history::History,
    snapshot::{Cost, Losses, PoolView, Replay, Snapshot, Wanted},
};
use crate::{
    analysis::Options,
    event::{DeviceId, Event},
    input::{DeviceSample, Input, Overhead, PoolSample, Sample, Start},
    report::{
        model::{Outstanding, SourceKind},
        units::float,
    },
};

/// Most pools that are shown.
const MAX_POOLS: usize = 1_024;

/// Shortest time between the beginnings of two judgements.
const JUDGE_EVERY: Duration = Duration::from_secs(1);
/// A judgement may take so small a part of the time: 1 %.
const JUDGE_REST: u32 = 100;

/// Time from the beginning of a judgement that took so long to the next one: with a thousand
/// busy zvols it is the dearest thing there is to do.
#[must_use]
pub fn judge_again_after(took: Duration) -> Duration {
    JUDGE_EVERY.max(took.saturating_mul(JUDGE_REST))
}

/// Folds the inputs of one source.
#[derive(Debug)]
pub struct Observer {
    options: Options,
    source: SourceKind,
    /// What is traced, in the user's words.
    patterns: String,
    start: Option<Start>,
    now_ns: u64,
    devices: Devices,
    /// Events that nobody has taken note of yet.
    gathered: Gathered,
    history: History,
    since: Episode,
    judged: Option<Arc<Judged>>,
    /// "Since the start" begins anew with the next sample.
    reset_due: bool,
    job: Option<BackgroundJob>,
    pools: BTreeMap<String, PoolView>,
    /// Layouts as zpool told them, once a pool.
    shapes: BTreeMap<String, PoolSample>,
    sample: Sample,
    in_flight: FxHashMap<DeviceId, DeviceSample>,
    problem: Option<String>,
    /// What tracing had cost, and when that was, capture clock.
    spent: Option<(u64, Overhead)>,
    cost: Option<Cost>,
    ended: bool,
    replay: Option<Replay>,
    /// A second was closed since somebody asked.
    fresh: bool,
    kept: Kept,
}

impl Observer {
    /// An observer of one source.
    #[must_use]
    pub fn new(options: Options, source: SourceKind, patterns: String) -> Self {
        Self {
            since: Episode::whole(options.clone(), source),
            options,
            source,
            patterns,
            start: None,
            now_ns: 0,
            devices: Devices::default(),
            gathered: Gathered::default(),
            history: History::new(0),
            judged: None,
            reset_due: false,
            job: None,
            pools: BTreeMap::new(),
            shapes: BTreeMap::new(),
            sample: Sample::default(),
            in_flight: FxHashMap::default(),
            problem: None,
            spent: None,
            cost: None,
            ended: false,
            replay: None,
            fresh: false,
            kept: Kept::default(),
        }
    }

    /// Takes the next input. A capture in the background that ended with it is given back, to
    /// be written.
    pub fn feed(&mut self, input: &Input) -> Option<Finished> {
        if let Input::Events(events) = input {
            self.gathered.add(events);
            let closes = |last: &Event| self.history.closes_by(last.end_ns);
            if self.gathered.is_full() || events.last().is_some_and(closes) {
                self.take_gathered();
            }
            return None;
        }
        self.take_gathered();
        self.take(input)
    }

    /// Takes note of the events that wait; whoever shows or ends something asks for it before.
    fn take_gathered(&mut self) {
        if !self.gathered.is_empty() {
            let events = Input::Events(self.gathered.take());
            // Events end no capture in the background.
            let _ = self.take(&events);
        }
    }

    fn take(&mut self, input: &Input) -> Option<Finished> {
        match input {
            Input::Start(start) => {
                self.history = History::new(start.started_ns);
                self.devices.judge_by(start.block_size_bytes);
                self.now_ns = start.started_ns;
                self.start = Some(start.clone());
            }
            Input::Appeared(device) => self.devices.appeared(device),
            Input::Changed(device) => self.devices.changed(device),
            Input::Vanished { device, at_ns } => self.devices.vanished(*device, *at_ns),
            Input::Events(events) => self.fresh |= self.history.record(events),
            Input::Sample(sample) => self.sample(sample),
            Input::Pools(pools) => pools.iter().for_each(|pool| self.pool(pool)),
            Input::End(end) => {
                self.history.finish(end.at_ns);
                self.fresh = true;
                self.now_ns = self.now_ns.max(end.at_ns);
                self.ended = true;
            }
        }
        self.since.feed(input);
        let spent = self.spent();
        let finished = self.job.as_mut().and_then(|job| job.feed(input, spent));
        if let Input::Sample(sample) = input {
            self.begin_what_waits(sample);
        }
        finished
    }

    fn sample(&mut self, sample: &Sample) {
        self.now_ns = self.now_ns.max(sample.at_ns);
        for device in &sample.devices {
            let before = self.in_flight.insert(device.device, *device);
            let lost_before = before.map_or(0, |before| before.counters.ring_lost);
            self.history.sample(
                sample.at_ns,
                device.device,
                Outstanding {
                    count: device.outstanding,
                    oldest_ns: device.oldest_ns,
                },
                device.counters.ring_lost.saturating_sub(lost_before),
            );
        }
        self.sample.clone_from(sample);
        self.fresh |= self.history.advance(sample.at_ns);
    }

    fn pool(&mut self, sample: &PoolSample) {
        if !self.pools.contains_key(&sample.name) && self.pools.len() >= MAX_POOLS {
            return;
        }
        if sample.shape.is_some() {
            let told = PoolSample {
                txgs: Vec::new(),
                objsets: Vec::new(),
                ..sample.clone()
            };
            self.shapes.insert(sample.name.clone(), told);
        }
        let pool = self.pools.entry(sample.name.clone()).or_default();
        pool.name.clone_from(&sample.name);
        pool.state.clone_from(&sample.state);
        let synced = sample.txgs.iter().filter(|txg| txg.state == 'C');
        if let Some(latest) = synced.max_by_key(|txg| txg.txg) {
            pool.sync_ns = Some(latest.sync_ns);
        }
    }

    fn begin_what_waits(&mut self, sample: &Sample) {
        if self.reset_due {
            self.reset_due = false;
            if let Some(episode) = self.episode(sample, None) {
                self.since = episode;
                self.judged = None;
            }
        }
        if let Some(job) = &self.job
            && job.waits()
        {
            let requested_ns = job.order.seconds.saturating_mul(1_000_000_000);
            let episode = self.episode(sample, Some(requested_ns));
            let spent = self.spent();
            if let Some(job) = &mut self.job {
                job.begin(episode, spent);
            }
        }
    }

    fn episode(&self, at: &Sample, requested_ns: Option<u64>) -> Option<Episode> {
        let mut episode = Episode::begin(
            self.options.clone(),
            self.source,
            self.start.as_ref()?,
            at,
            requested_ns,
            self.devices.there(),
        );
        let told = self.shapes.values().map(|pool| PoolSample {
            at_ns: at.at_ns,
            ..pool.clone()
        });
        let told: Vec<PoolSample> = told.collect();
        if !told.is_empty() {
            episode.feed(&Input::Pools(told));
        }
        Some(episode)
    }

    /// Lets time pass (capture clock) where no input does.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        if self.start.is_some() && !self.ended {
            if self.history.closes_by(now_ns) {
                self.take_gathered();
            }
            self.fresh |= self.history.advance(now_ns);
        }
    }

    /// Whether another second is over since this was asked last.
    pub fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// Now, capture clock.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.started_ns())
    }

    fn started_ns(&self) -> u64 {
        self.start.as_ref().map_or(0, |start| start.started_ns)
    }

    /// Judges everything since the start anew: the dear part, for the caller to do now and then.
    pub fn judge(&mut self) {
        self.take_gathered();
        if self.start.is_some() {
            self.judged = Some(Arc::new(Judged::of(&self.since)));
        }
    }

    /// Begins "since the start" anew, with the next sample, or now where there are none.
    pub fn reset(&mut self) {
        self.take_gathered();
        if self.sample.at_ns > 0 && !self.ended {
            self.reset_due = true;
        } else {
            let now = Sample {
                at_ns: self.now_ns,
                ..Sample::default()
            };
            if let Some(episode) = self.episode(&now, None) {
                self.since = episode;
                self.judged = None;
            }
        }
    }

    /// Starts a capture in the background; one that runs is left alone.
    ///
    /// # Errors
    /// Another one runs, or there is nothing to capture.
    pub fn start_job(&mut self, order: Order) -> Result<(), String> {
        let number = self.job.as_ref().map_or(0, |job| job.number) + 1;
        if self.job.as_ref().is_some_and(|job| !job.is_over()) {
            return Err("a capture is running already".to_owned());
        }
        if self.source != SourceKind::Live || self.ended {
            return Err("nothing is being traced: `zvoltrace report` reads recordings".to_owned());
        }
        self.job = Some(BackgroundJob::new(number, order));
        Ok(())
    }

    /// Shows a capture that could not begin, and why; one that runs stays.
    pub fn refuse_job(&mut self, order: Order, why: String) {
        if self.job.as_ref().is_none_or(BackgroundJob::is_over) {
            let number = self.job.as_ref().map_or(0, |job| job.number) + 1;
            let mut job = BackgroundJob::new(number, order);
            job.done(Err(why));
            self.job = Some(job);
        }
    }

    /// Ends the capture in the background before its time, when one runs.
    pub fn end_job(&mut self, why: &str) -> Option<Finished> {
        self.take_gathered();
        let (now_ns, spent) = (self.now_ns, self.spent());
        self.job.as_mut()?.end(now_ns, Some(why), spent)
    }

    /// Takes note of what became of a report.
    pub fn job_written(&mut self, number: u64, result: Result<(), String>) {
        if let Some(job) = &mut self.job
            && job.number == number
        {
            job.done(result);
        }
    }

    /// Takes note of how a recording runs.
    pub fn set_replay(&mut self, replay: Replay) {
        if replay.ended {
            self.take_gathered();
        }
        self.replay = Some(replay);
    }

    /// Takes note of what tracing had cost at a moment; one that is known is left alone.
    pub fn set_cost(&mut self, at_ns: u64, spent: Overhead) {
        let before = self.spent.filter(|(then_ns, _)| *then_ns < at_ns);
        if before.is_none() && self.spent.is_some() {
            return;
        }
        self.cost = before.map(|(then_ns, before)| Cost {
            kernel_ns_per_io: spent.kernel_ns_per_io,
            cpu_share: float(spent.user_cpu_ns.saturating_sub(before.user_cpu_ns))
                / float(at_ns - then_ns),
            max_rss_bytes: spent.max_rss_bytes,
        });
        self.spent = Some((at_ns, spent));
    }

    /// Takes note of why the source ended before its time.
    pub fn set_problem(&mut self, problem: String) {
        self.take_gathered();
        self.problem = Some(problem);
        self.ended = true;
    }

    fn spent(&self) -> Option<Overhead> {
        self.spent.map(|(_, spent)| spent)
    }

    fn losses(&self) -> Losses {
        let sum = |of: fn(&DiskCounters) -> u64| {
            let counters = self.in_flight.values().map(|device| of(&device.counters));
            counters.fold(0, u64::saturating_add)
        };
        Losses {
            ring: sum(|counters| counters.ring_lost),
            recursion: self.sample.lost.recursion,
            undecodable: self.sample.lost.undecodable,
            queue: self.sample.lost.queue,
            not_tracked: sum(|counters| counters.not_tracked),
        }
    }

    /// What the screen asks for.
    #[must_use]
    pub fn snapshot(&mut self, wanted: &Wanted) -> Snapshot {
        view::snapshot(self, wanted)
    }
}

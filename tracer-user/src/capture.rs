//! A live capture from its first attachment to the finished report.
//!
//! The session's thread pulls the source, feeds the analysis and offers the inputs to the
//! recorder; it never waits for the terminal or the disk. The calling thread shows progress.

use std::time::Duration;

use tokio::sync::watch;

use crate::{
    analysis::{Collector, Explanation, Options},
    device::{Roots, Selector},
    input::Input,
    progress::{Progress, ProgressKind, State},
    recording::{Recorder, Summary},
    report::model::{Report, SourceKind},
    session,
    source::{
        Source,
        live::{Live, Plan},
    },
    zpool::ZpoolError,
};

/// What a capture is run with, beside its plan.
pub struct Setup {
    /// Which disks.
    pub selector: Selector,
    /// Where sysfs and the rest lie.
    pub roots: Roots,
    /// Where every event is kept.
    pub recorder: Option<Recorder>,
    /// How progress is shown.
    pub progress: ProgressKind,
    /// How to analyse.
    pub analysis: Options,
}

/// What a capture gave.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// Why its verdicts are what they are.
    pub why: Vec<Explanation>,
    /// What became of the recording.
    pub recording: Option<Summary>,
    /// Why the pools' layout is not known though it was asked for.
    pub zpool_failure: Option<ZpoolError>,
}

/// Runs a capture to its end, as [`session::run`] does.
///
/// # Errors
/// The kernel cannot be traced, or tracing broke; what was recorded until then is kept.
pub fn run(plan: &Plan, setup: Setup) -> anyhow::Result<Outcome> {
    let (show, mut shown) = watch::channel(State::default());
    let (analysis, recorder) = (setup.analysis, setup.recorder);
    let mut progress = None;
    let outcome = session::run(
        plan,
        &setup.roots,
        setup.selector,
        move |live| {
            let pump = Pump {
                live,
                collector: Collector::new(analysis, SourceKind::Live),
                recorder,
                show,
            };
            pump.run()
        },
        || {
            progress
                .get_or_insert_with(|| Progress::new(setup.progress, plan.duration))
                .update(&shown.borrow_and_update());
        },
    );
    if let Some(progress) = progress {
        progress.finish();
    }
    outcome
}

struct Pump {
    live: Live,
    collector: Collector,
    recorder: Option<Recorder>,
    show: watch::Sender<State>,
}

impl Pump {
    fn run(mut self) -> anyhow::Result<Outcome> {
        let pulled = self.pull();
        let recording = self.recorder.map(Recorder::finish);
        pulled?;
        Ok(Outcome {
            report: self.collector.report(),
            why: self.collector.explain(),
            recording,
            zpool_failure: self.live.zpool_failure(),
        })
    }

    fn pull(&mut self) -> anyhow::Result<()> {
        let mut started_ns = 0;
        while let Some(mut input) = self.live.next()? {
            if let (Input::Sample(sample), Some(recorder)) = (&mut input, &self.recorder) {
                sample.lost.queue = recorder.dropped_events();
            }
            match &input {
                Input::Start(start) => started_ns = start.started_ns,
                Input::Sample(sample) => {
                    let counters = || sample.devices.iter().map(|d| &d.counters);
                    self.show.send_replace(State {
                        elapsed: Duration::from_nanos(sample.at_ns.saturating_sub(started_ns)),
                        devices: self.live.disks(),
                        completed: counters().flat_map(|c| c.count).sum(),
                        lost: counters().map(|c| c.ring_lost).sum(),
                    });
                }
                _ => {}
            }
            self.collector.feed(&input);
            if let Some(recorder) = &self.recorder {
                recorder.offer(input);
            }
        }
        Ok(())
    }
}

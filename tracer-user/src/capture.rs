//! A live capture from its first attachment to the finished report.
//!
//! One thread pulls the source, feeds the analysis and offers the inputs to the recorder; it
//! never waits for the terminal or the disk. The calling thread shows progress and hears
//! signals.

use std::{
    io::{self, Write},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, anyhow};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{
    analysis::{Collector, Explanation, Options},
    device::{Roots, Selector},
    input::Input,
    progress::{Progress, ProgressKind, State},
    recording::{Recorder, Summary},
    report::model::{Report, SourceKind},
    source::{
        Source,
        live::{Live, Plan, Stop},
    },
};

/// How often progress is shown.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Exit status of a capture that a second signal ended at once.
const ENDED_AT_ONCE: i32 = 1;

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
}

/// Runs a capture to its end, or to the first SIGINT, SIGTERM or SIGHUP. A second one ends the
/// process at once; the kernel then detaches what was attached.
///
/// # Errors
/// The kernel cannot be traced, or tracing broke; what was recorded until then is kept.
pub fn run(plan: &Plan, setup: Setup) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    runtime.block_on(attend(plan, setup))
}

async fn attend(plan: &Plan, setup: Setup) -> anyhow::Result<Outcome> {
    let mut signals = Signals::new()?;
    let stop = Stop::default();
    let live = Live::start(plan, &setup.roots, setup.selector, stop.clone())?;
    announce(&live, plan);
    let mut progress = Progress::new(setup.progress, plan.duration);
    let (show, mut shown) = watch::channel(State::default());
    let pump = Pump {
        live,
        collector: Collector::new(setup.analysis, SourceKind::Live),
        recorder: setup.recorder,
        show,
    };
    let (done, mut finished) = watch::channel(false);
    let thread = thread::Builder::new()
        .name("drain".to_owned())
        .spawn(move || {
            let outcome = pump.run();
            // The receiver lives until this thread is joined.
            let _ = done.send(true);
            outcome
        })
        .context("cannot start the draining thread")?;
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = finished.wait_for(|done| *done) => break,
            name = signals.next() => {
                if stopping {
                    let _ = writeln!(io::stderr(), "zvoltrace: {name} again: ended at once, without a report");
                    std::process::exit(ENDED_AT_ONCE);
                }
                stopping = true;
                stop.request(&format!("ended early by {name}"));
            }
            _ = ticks.tick() => progress.update(&shown.borrow_and_update()),
        }
    }
    progress.finish();
    join(thread)
}

/// The line that scripts wait for: from here on every I/O of the disks is traced.
fn announce(live: &Live, plan: &Plan) {
    let what = match live.disks() {
        0 => "no disk yet; those that match are traced as they come".to_owned(),
        1 => "1 disk".to_owned(),
        n => format!("{n} disks"),
    };
    let long = plan
        .duration
        .map_or_else(String::new, |d| format!(" for {} s", d.as_secs_f64()));
    // Nobody may be reading standard error.
    let _ = writeln!(io::stderr(), "zvoltrace: tracing {what}{long}");
}

fn join(thread: JoinHandle<anyhow::Result<Outcome>>) -> anyhow::Result<Outcome> {
    thread
        .join()
        .unwrap_or_else(|_| Err(anyhow!("the draining thread broke down; report this")))
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

/// The signals that end a capture.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hangup: hear(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}

//! A live source on a thread of its own, from the first attachment to the end by time, signal
//! or error.
//!
//! The thread does the work that is given and never waits for anything else; the calling thread
//! hears signals and calls back a few times a second. What the work is (a report, lines) is not
//! known here.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use anyhow::{Context, anyhow};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{
    device::{Roots, Selector},
    source::live::{Live, Plan, Stop},
};

/// How often the caller is called back.
const TICK_EVERY: Duration = Duration::from_millis(250);

/// Exit status of a session that a second signal ended at once.
const ENDED_AT_ONCE: i32 = 1;

/// Traces and does `work` with the live source until it ends, or until the first SIGINT, SIGTERM
/// or SIGHUP lets the source end early. A second one ends the process at once; the kernel then
/// detaches what was attached. `tick` runs on the calling thread.
///
/// # Errors
/// The kernel cannot be traced, or the work failed.
pub fn run<T: Send + 'static>(
    plan: &Plan,
    roots: &Roots,
    selector: Selector,
    work: impl FnOnce(Live) -> anyhow::Result<T> + Send + 'static,
    tick: impl FnMut(),
) -> anyhow::Result<T> {
    block_on(async {
        let signals = Signals::new()?;
        let stop = Stop::default();
        let live = Live::start(plan, roots, selector, stop.clone())?;
        if plan.announce {
            announce(&live, plan);
        }
        attend(signals, &stop, move || work(live), tick).await
    })
}

/// Runs a session's asynchronous part on this thread.
///
/// # Errors
/// The event loop cannot be started, or the work failed.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?
        .block_on(work)
}

async fn attend<T: Send + 'static>(
    mut signals: Signals,
    stop: &Stop,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    mut tick: impl FnMut(),
) -> anyhow::Result<T> {
    let (done, mut finished) = watch::channel(false);
    let thread = thread::Builder::new()
        .name("drain".to_owned())
        .spawn(move || {
            let result = work();
            // The receiver lives until this thread is joined.
            let _ = done.send(true);
            result
        })
        .context("cannot start the draining thread")?;
    let mut ticks = tokio::time::interval(TICK_EVERY);
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = finished.wait_for(|done| *done) => break,
            name = signals.next() => {
                if stopping {
                    let _ = writeln!(io::stderr(), "zvoltrace: {name} again: ended at once");
                    std::process::exit(ENDED_AT_ONCE);
                }
                stopping = true;
                stop.request(&format!("ended early by {name}"));
            }
            _ = ticks.tick() => tick(),
        }
    }
    thread
        .join()
        .unwrap_or_else(|_| Err(anyhow!("the draining thread broke down; report this")))
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

/// The signals that end a session.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Hears them from now on; none ends the process by itself any more.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hangup: hear(SignalKind::hangup())?,
        })
    }

    /// The name of the next one.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}

//! What runs beside the screen: live, a thread that drains and one that observes; from files,
//! one that plays and observes.

use std::{
    sync::{Arc, OnceLock, mpsc::RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use tokio::sync::watch;

use super::{
    observe::Observer,
    observing::{Links, Publisher},
    replay::Player,
    snapshot::Replay,
};
use crate::{
    events::handover,
    input::Input,
    source::{
        Source,
        live::{Live, Stop, now_ns},
    },
};

/// Longest time between two looks at what the screen wants.
const PATIENCE: Duration = Duration::from_millis(20);

/// How to observe, and where a recording is opened.
pub struct Recorded {
    /// Opens the files, from their beginning.
    pub open: Box<dyn Fn() -> anyhow::Result<Box<dyn Source + Send>> + Send>,
    /// Makes an observer of them.
    pub observer: Box<dyn Fn() -> Observer + Send>,
    /// They can be opened again.
    pub can_rewind: bool,
}

/// The threads beside the screen.
pub(super) struct Threads {
    stop: Stop,
    drain: Option<JoinHandle<()>>,
    observe: JoinHandle<Vec<String>>,
    problem: Arc<OnceLock<String>>,
}

impl Threads {
    /// Traces and observes.
    pub(super) fn live(
        mut live: Live,
        observer: Observer,
        stop: Stop,
        links: Links,
    ) -> anyhow::Result<Self> {
        let (mut sender, receiver) = handover();
        let problem = Arc::new(OnceLock::new());
        let report = Arc::clone(&problem);
        let (cost, costs) = watch::channel(None);
        let drain = spawn("drain", move || {
            loop {
                match live.next() {
                    Ok(Some(input)) => {
                        if let Input::Sample(sample) = &input {
                            cost.send_replace(Some((sample.at_ns, live.cost())));
                        }
                        if sender.offer(input).is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        // Set before the sender goes, so that whoever misses it finds why.
                        let _ = report.set(format!("tracing ended: {error:#}"));
                        return;
                    }
                }
            }
        })?;
        let reported = Arc::clone(&problem);
        let observe = spawn("observe", move || {
            let mut publisher = Publisher::new(observer, links);
            let mut is_open = true;
            while publisher.attend() {
                if let Some((at_ns, cost)) = *costs.borrow() {
                    publisher.observer.set_cost(at_ns, cost);
                }
                if !is_open {
                    thread::sleep(PATIENCE);
                    continue;
                }
                match receiver.next_within(PATIENCE) {
                    Ok(input) => publisher.take(&input),
                    // Only now: what is still on its way would come too late for its second.
                    Err(RecvTimeoutError::Timeout) => publisher.observer.advance(now_ns()),
                    Err(RecvTimeoutError::Disconnected) => {
                        is_open = false;
                        let why = reported.get().cloned();
                        let why = why.unwrap_or_else(|| "tracing ended; report this".to_owned());
                        publisher.observer.set_problem(why);
                        publisher.mark_stale();
                    }
                }
            }
            drop(receiver);
            publisher.leave()
        })?;
        Ok(Self {
            stop,
            drain: Some(drain),
            observe,
            problem,
        })
    }

    /// Plays what was recorded.
    pub(super) fn replay(
        source: Box<dyn Source + Send>,
        recorded: Recorded,
        links: Links,
    ) -> anyhow::Result<Self> {
        let problem = Arc::new(OnceLock::new());
        let reported = Arc::clone(&problem);
        let observe = spawn("observe", move || {
            let publisher = Publisher::new((recorded.observer)(), links);
            play(source, &recorded, publisher, &reported)
        })?;
        Ok(Self {
            stop: Stop::default(),
            drain: None,
            observe,
            problem,
        })
    }

    /// Waits for the threads, which end when the screen's ends of the links are gone; what there
    /// is to say.
    pub(super) fn join(self) -> anyhow::Result<Vec<String>> {
        self.stop.request("top was left");
        let broke_down = || anyhow!("a thread broke down; report this");
        let notes = self.observe.join().map_err(|_| broke_down())?;
        if let Some(drain) = self.drain {
            drain.join().map_err(|_| broke_down())?;
        }
        match self.problem.get() {
            Some(problem) => Err(anyhow!(problem.clone())),
            None => Ok(notes),
        }
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .with_context(|| format!("cannot start the thread {name}"))
}

fn play(
    source: Box<dyn Source + Send>,
    recorded: &Recorded,
    mut publisher: Publisher,
    problem: &OnceLock<String>,
) -> Vec<String> {
    let mut player = Player::new(source);
    let mut then = Instant::now();
    let mut shown = Replay::default();
    while publisher.attend() {
        let speed = publisher.wanted().speed;
        let elapsed = then.elapsed();
        then += elapsed;
        player.pass(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX), speed);
        if let Some(to_ns) = publisher.seek_ns.take() {
            if to_ns < player.position_ns() && recorded.can_rewind {
                match (recorded.open)() {
                    Ok(source) => {
                        player = Player::new(source);
                        publisher.begin_anew((recorded.observer)());
                    }
                    Err(error) => publisher.observer.set_problem(format!("{error:#}")),
                }
            }
            player.seek(to_ns);
        }
        let is_behind = match player.give(|input| publisher.take(&input)) {
            Ok(is_behind) => is_behind,
            Err(error) => {
                let why = format!("{error:#}");
                publisher.observer.set_problem(why.clone());
                publisher.mark_stale();
                // Said once more when the screen is gone; the first reason stays.
                let _ = problem.set(why);
                false
            }
        };
        if let Some(now_ns) = player.now_ns().filter(|_| !is_behind) {
            publisher.observer.advance(now_ns);
        }
        let replay = Replay {
            speed,
            seeking: is_behind,
            ended: player.ended(),
            can_rewind: recorded.can_rewind,
        };
        if replay != shown {
            shown = replay;
            publisher.mark_stale();
        }
        publisher.observer.set_replay(replay);
        if !is_behind {
            thread::sleep(PATIENCE);
        }
    }
    publisher.leave()
}

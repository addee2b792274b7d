//! The screen's side: hears keys, signals and snapshots, changes the state, has it drawn.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, mpsc},
};

use anyhow::{Context, anyhow};
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{
        mpsc::UnboundedReceiver,
        watch::{self, error::RecvError},
    },
};

use super::{
    jobs::can_be_continued,
    keys::Key,
    observe::{Observer, Order},
    observing::{Command, Links},
    snapshot::{Snapshot, Wanted},
    state::{JobFormat, State},
    style::Style,
    terminal::{self, Panel, Typed},
    threads::{Recorded, Threads},
    update::{self, Effect},
};
use crate::{
    analysis::Options,
    device::{Roots, Selector},
    report::model::SourceKind,
    session,
    source::{
        Source,
        live::{Live, Plan, Stop},
    },
};

/// Traces and shows it until the user leaves.
///
/// # Errors
/// The kernel cannot be traced (said before the screen is entered), or tracing broke.
pub fn live(
    plan: &Plan,
    roots: &Roots,
    selector: Selector,
    options: Options,
    style: Style,
) -> anyhow::Result<()> {
    let patterns: Vec<&str> = selector.patterns().collect();
    let observer = Observer::new(options, SourceKind::Live, patterns.join(" "));
    session::block_on(async {
        // Before anything is attached, so that no signal finds nobody.
        let signals = Signals::new()?;
        let stop = Stop::default();
        let live = Live::start(plan, roots, selector, stop.clone())?;
        show(signals, style, |links| {
            Threads::live(live, observer, stop, links)
        })
        .await
    })
}

/// Plays what was recorded until the user leaves. `source` is open already.
///
/// # Errors
/// The recording cannot be read to its end; what came before was shown.
pub fn replay(
    source: Box<dyn Source + Send>,
    recorded: Recorded,
    style: Style,
) -> anyhow::Result<()> {
    session::block_on(async {
        let signals = Signals::new()?;
        show(signals, style, |links| {
            Threads::replay(source, recorded, links)
        })
        .await
    })
}

/// Enters the screen, runs until the user leaves, gives the terminal back, says what is left to
/// say.
async fn show(
    mut signals: Signals,
    style: Style,
    start: impl FnOnce(Links) -> anyhow::Result<Threads>,
) -> anyhow::Result<()> {
    let state = State::default();
    let (publish, snapshots) = watch::channel(Arc::new(Snapshot::default()));
    let (ask, wanted) = watch::channel(state.wanted());
    let (order, commands) = mpsc::channel();
    let mut keys = terminal::listen()?;
    let panel = Panel::enter(style)?;
    let threads = start(Links {
        snapshots: publish,
        wanted,
        commands,
    });
    let threads = match threads {
        Ok(threads) => threads,
        Err(error) => {
            panel.leave().await;
            return Err(error);
        }
    };
    let mut desk = Desk {
        state,
        snapshot: Arc::new(Snapshot::default()),
        snapshots,
        ask,
        order,
        panel,
    };
    let ended = desk.run(&mut keys, &mut signals).await;
    desk.panel.leave().await;
    drop((desk.ask, desk.order));
    let notes = threads.join();
    ended?;
    for note in notes? {
        // Nobody may be reading standard error.
        let _ = writeln!(io::stderr(), "zvoltrace: {note}");
    }
    Ok(())
}

/// Everything the screen's side has at hand.
struct Desk {
    state: State,
    snapshot: Arc<Snapshot>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    ask: watch::Sender<Wanted>,
    order: mpsc::Sender<Command>,
    panel: Panel,
}

impl Desk {
    async fn run(
        &mut self,
        keys: &mut UnboundedReceiver<Typed>,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        self.resize();
        loop {
            let wanted = self.state.wanted();
            self.ask.send_if_modified(|asked| {
                let is_new = *asked != wanted;
                *asked = wanted;
                is_new
            });
            if !self.panel.show(&self.state, &self.snapshot) {
                return Ok(());
            }
            tokio::select! {
                typed = keys.recv() => match typed {
                    Some(Typed::Key(key)) => {
                        if self.key(key) {
                            return Ok(());
                        }
                    }
                    Some(Typed::Gone) | None => return Ok(()),
                },
                changed = self.snapshots.changed() => self.take(changed)?,
                heard = signals.next() => match heard {
                    Heard::End => return Ok(()),
                    Heard::Resize => self.resize(),
                    Heard::Stop => self.stop().await,
                    Heard::Continue => {
                        self.panel.resume();
                        self.panel.clear();
                        self.resize();
                    }
                },
            }
        }
    }

    fn take(&mut self, changed: Result<(), RecvError>) -> anyhow::Result<()> {
        changed.map_err(|_| anyhow!("the observing thread broke down; report this"))?;
        self.snapshot = Arc::clone(&self.snapshots.borrow_and_update());
        Ok(())
    }

    fn resize(&mut self) {
        let (columns, lines) = terminal::size();
        update::resize(&mut self.state, columns, lines);
    }

    /// Takes a key; whether to leave.
    fn key(&mut self, key: Key) -> bool {
        update::end_scrolling_at(&mut self.state, self.panel.furthest());
        let command = match update::update(&mut self.state, key, &self.snapshot) {
            None => return false,
            Some(Effect::Quit) => return true,
            Some(Effect::Redraw) => {
                self.panel.clear();
                return false;
            }
            Some(Effect::Suspend) => {
                if can_be_continued() {
                    // The whole job, as the terminal itself would; it comes back to us as a
                    // signal. Refused it would be when there is no such group, so never.
                    let _ = kill_current_process_group(Signal::TSTP);
                } else {
                    self.state.notice = Some("no shell to go back to".to_owned());
                }
                return false;
            }
            Some(Effect::Reset) => Command::Reset,
            Some(Effect::Seek(to_ns)) => Command::Seek(to_ns),
            Some(Effect::Capture { seconds, format }) => Command::Capture(Order {
                seconds,
                format,
                path: report_path(format),
            }),
        };
        // The observing thread is missed by the next snapshot.
        let _ = self.order.send(command);
        false
    }

    /// Stops the process until somebody continues it.
    async fn stop(&mut self) {
        self.panel.suspend().await;
        // SIGTSTP is heard and not obeyed, SIGSTOP is obeyed.
        if kill_process(getpid(), Signal::STOP).is_err() {
            self.panel.resume();
        }
    }
}

/// A file that does not exist yet: the time is in its name.
fn report_path(format: JobFormat) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let ending = match format {
        JobFormat::Text => "txt",
        JobFormat::Json => "json",
    };
    PathBuf::from(format!("zvoltrace-{now}.{ending}"))
}

/// What a signal asks for.
enum Heard {
    End,
    Resize,
    Stop,
    Continue,
}

struct Signals {
    ends: session::Signals,
    resize: tokio::signal::unix::Signal,
    stop: tokio::signal::unix::Signal,
    cont: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            ends: session::Signals::new()?,
            resize: hear(SignalKind::window_change())?,
            stop: hear(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            cont: hear(SignalKind::from_raw(Signal::CONT.as_raw()))?,
        })
    }

    async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.ends.next() => Heard::End,
            _ = self.resize.recv() => Heard::Resize,
            _ = self.stop.recv() => Heard::Stop,
            _ = self.cont.recv() => Heard::Continue,
        }
    }
}

//! The thread that draws: always the latest frame, never one after the other.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Context;
use tokio::sync::oneshot;

use super::screen::Screen;
use crate::tui::{render, snapshot::Snapshot, state::State, style::Style};

/// A terminal that takes nothing for so long is left as it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the drawing thread is to do next.
#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is set by one side and taken by the other, in any combination"
)]
struct Slot {
    frame: Option<(State, Arc<Snapshot>)>,
    clear: bool,
    /// Give the terminal back, say so, and wait for `resume`.
    suspend: Option<oneshot::Sender<()>>,
    resume: bool,
    leave: bool,
    /// Furthest line that the latest frame could have begun with.
    furthest: u16,
    /// The terminal is gone.
    gone: bool,
}

#[derive(Default)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
}

impl Shared {
    /// A thread that panicked while it held the slot left it whole: fields are only set.
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Slot)) {
        change(&mut self.slot());
        self.changed.notify_one();
    }
}

/// The screen, drawn on by a thread of its own.
pub(in crate::tui) struct Panel {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    left: oneshot::Receiver<()>,
}

impl Panel {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It cannot be set.
    pub(in crate::tui) fn enter(style: Style) -> anyhow::Result<Self> {
        let screen = Screen::enter().context("cannot set the terminal")?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let (done, left) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("draw".to_owned())
            .spawn(move || {
                if run(screen, &theirs, style).is_err() {
                    theirs.slot().gone = true;
                }
                // Whoever waited may have lost patience.
                let _ = done.send(());
            })
            .context("cannot start the drawing thread")?;
        Ok(Self {
            shared,
            thread,
            left,
        })
    }

    /// Shows a frame as soon as the terminal takes it; false when the terminal is gone.
    pub(in crate::tui) fn show(&self, state: &State, snapshot: &Arc<Snapshot>) -> bool {
        let frame = (state.clone(), Arc::clone(snapshot));
        self.shared.change(|slot| slot.frame = Some(frame));
        !self.shared.slot().gone
    }

    /// Furthest line that the latest frame could have begun with: scrolling ends there.
    pub(in crate::tui) fn furthest(&self) -> u16 {
        self.shared.slot().furthest
    }

    /// The next frame is drawn on an empty screen.
    pub(in crate::tui) fn clear(&self) {
        self.shared.change(|slot| slot.clear = true);
    }

    /// Gives the terminal back for a while.
    pub(in crate::tui) async fn suspend(&self) {
        let (given, back) = oneshot::channel();
        self.shared.change(|slot| slot.suspend = Some(given));
        // A terminal that takes nothing cannot be given back in order.
        let _ = tokio::time::timeout(PATIENCE, back).await;
    }

    /// Takes the terminal again.
    pub(in crate::tui) fn resume(&self) {
        self.shared.change(|slot| slot.resume = true);
    }

    /// Gives the terminal back for good.
    pub(in crate::tui) async fn leave(self) {
        self.shared.change(|slot| slot.leave = true);
        if tokio::time::timeout(PATIENCE, self.left).await.is_ok() {
            // A panic has been reported by its hook.
            let _ = self.thread.join();
        }
    }
}

fn run(mut screen: Screen, shared: &Shared, style: Style) -> io::Result<()> {
    loop {
        let mut slot = shared.slot();
        let (frame, clear) = loop {
            if slot.leave {
                return Ok(());
            }
            if let Some(given) = slot.suspend.take() {
                slot.resume = false;
                drop(slot);
                screen.suspend();
                // Whoever waited may have lost patience.
                let _ = given.send(());
                slot = shared.slot();
                while !slot.resume && !slot.leave {
                    slot = wait(shared, slot);
                }
                if slot.leave {
                    return Ok(());
                }
                drop(slot);
                screen.resume()?;
                slot = shared.slot();
            }
            if let Some(frame) = slot.frame.take() {
                break (frame, std::mem::take(&mut slot.clear));
            }
            slot = wait(shared, slot);
        };
        drop(slot);
        if clear {
            screen.clear()?;
        }
        let (state, snapshot) = &frame;
        let mut furthest = 0;
        screen.draw(|frame| furthest = render::draw(frame, state, snapshot, &style))?;
        shared.slot().furthest = furthest;
    }
}

fn wait<'a>(shared: &Shared, slot: MutexGuard<'a, Slot>) -> MutexGuard<'a, Slot> {
    shared
        .changed
        .wait(slot)
        .unwrap_or_else(PoisonError::into_inner)
}

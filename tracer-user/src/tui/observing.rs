//! The thread that observes: feeds the observer, listens to the screen, publishes snapshots.
//!
//! It may take its time (a judgement of a thousand zvols does): the thread that drains the ring
//! hands over and never waits for it. The screen sees only the latest snapshot.

use std::{
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::{
    observe::{Finished, Observer, Order, judge_again_after},
    snapshot::{Snapshot, Wanted},
    state::JobFormat,
};
use crate::{
    input::Input,
    output,
    report::{json, style::Style, text},
};

/// Time between two snapshots that nobody asked for: twice a second at most.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);

/// What the screen tells the observing thread, beside what it wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Begin "since the start" anew.
    Reset,
    /// Capture in the background.
    Capture(Order),
    /// Let a recording go on from this moment, ns since its start.
    Seek(u64),
}

/// The observing thread's ends of its links to the screen.
#[derive(Debug)]
pub(super) struct Links {
    /// Where snapshots go.
    pub(super) snapshots: watch::Sender<Arc<Snapshot>>,
    /// What the screen asks for.
    pub(super) wanted: watch::Receiver<Wanted>,
    /// What else it asks for.
    pub(super) commands: mpsc::Receiver<Command>,
}

/// An observer whose snapshots are published.
pub(super) struct Publisher {
    pub(super) observer: Observer,
    links: Links,
    /// Moment of a recording that was asked for.
    pub(super) seek_ns: Option<u64>,
    stale: bool,
    published: Option<Instant>,
    judge_due: Instant,
    unjudged: bool,
    writers: Vec<JoinHandle<()>>,
    written: (mpsc::Sender<Written>, mpsc::Receiver<Written>),
    notes: Vec<String>,
}

struct Written {
    number: u64,
    path: String,
    result: Result<(), String>,
}

impl Publisher {
    pub(super) fn new(observer: Observer, links: Links) -> Self {
        Self {
            observer,
            links,
            seek_ns: None,
            stale: true,
            published: None,
            judge_due: Instant::now(),
            unjudged: false,
            writers: Vec::new(),
            written: mpsc::channel(),
            notes: Vec::new(),
        }
    }

    /// Takes an input.
    pub(super) fn take(&mut self, input: &Input) {
        if let Some(finished) = self.observer.feed(input) {
            self.write(finished);
        }
        match input {
            Input::Events(_) => {}
            Input::End(_) => {
                self.judge_due = Instant::now();
                self.stale = true;
            }
            _ => self.stale = true,
        }
    }

    /// What the screen wants now.
    pub(super) fn wanted(&self) -> Wanted {
        *self.links.wanted.borrow()
    }

    /// Says that something changed that a snapshot shows.
    pub(super) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Puts another observer in place: a recording begins anew.
    pub(super) fn begin_anew(&mut self, observer: Observer) {
        self.observer = observer;
        self.stale = true;
    }

    /// Does what is due: commands, judgement, a snapshot. False when nobody looks any more.
    pub(super) fn attend(&mut self) -> bool {
        let Ok(asked) = self.links.wanted.has_changed() else {
            return false;
        };
        let mut at_once = asked;
        while let Ok(command) = self.links.commands.try_recv() {
            at_once = true;
            match command {
                Command::Reset => self.observer.reset(),
                Command::Seek(to_ns) => self.seek_ns = Some(to_ns),
                Command::Capture(order) => self.start(order),
            }
        }
        while let Ok(written) = self.written.1.try_recv() {
            self.observer.job_written(written.number, written.result);
            at_once = true;
        }
        if self.observer.take_fresh() {
            self.stale = true;
            self.unjudged = true;
        }
        let now = Instant::now();
        let wanted = *self.links.wanted.borrow_and_update();
        if self.unjudged && now >= self.judge_due && !wanted.frozen {
            self.observer.judge();
            self.unjudged = false;
            self.stale = true;
            self.judge_due = now + judge_again_after(now.elapsed());
        }
        let is_due = self
            .published
            .is_none_or(|then| now - then >= PUBLISH_EVERY);
        if at_once || self.stale && is_due {
            let snapshot = self.observer.snapshot(&wanted);
            self.links.snapshots.send_replace(Arc::new(snapshot));
            self.stale = false;
            self.published = Some(now);
        }
        true
    }

    fn start(&mut self, order: Order) {
        let checked = output::check(&order.path).map_err(|error| error.to_string());
        let started = checked.and_then(|()| self.observer.start_job(order.clone()));
        if let Err(why) = started {
            self.observer.refuse_job(order, why);
        }
    }

    /// Writes a report on a thread of its own: the disk may be slow.
    fn write(&mut self, finished: Finished) {
        let done = self.written.0.clone();
        let write = move || {
            let path = finished.order.path.display().to_string();
            let result = write_report(&finished).map_err(|error| format!("{error:#}"));
            // Nobody may be left to tell.
            let _ = done.send(Written {
                number: finished.number,
                path,
                result,
            });
        };
        match thread::Builder::new().name("write".to_owned()).spawn(write) {
            Ok(writer) => self.writers.push(writer),
            Err(error) => self
                .notes
                .push(format!("the report was not written: {error}")),
        }
    }

    /// Ends a capture in the background before its time and waits for its report; what there is
    /// to say when the screen is gone.
    pub(super) fn leave(mut self) -> Vec<String> {
        let early = self.observer.end_job("top was left before its time");
        let is_early = early.is_some();
        if let Some(finished) = early {
            self.write(finished);
        }
        for writer in self.writers.drain(..) {
            if writer.join().is_err() {
                self.notes
                    .push("the report was not written; report this".to_owned());
            }
        }
        drop(self.written.0);
        for written in self.written.1.try_iter() {
            self.notes.push(match written.result {
                Ok(()) if is_early => format!("{} holds a report, cut short", written.path),
                Ok(()) => format!("{} holds a report", written.path),
                Err(why) => why,
            });
        }
        self.notes
    }
}

fn write_report(finished: &Finished) -> anyhow::Result<()> {
    let report = match finished.order.format {
        JobFormat::Text => {
            let style = Style::default();
            text::render(&finished.report, &style) + &text::explain(&finished.why, &style)
        }
        JobFormat::Json => json::render(&finished.report)?,
    };
    output::write_file(&finished.order.path, report.as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analysis::Options, report::model::SourceKind, tui::snapshot::Window};

    #[test]
    fn what_a_key_asks_for_is_answered_at_the_next_look_and_not_at_the_next_tick() {
        let (publish, mut snapshots) = watch::channel(Arc::new(Snapshot::default()));
        let (ask, wanted) = watch::channel(Wanted::default());
        let (order, commands) = mpsc::channel();
        let observer = Observer::new(Options::default(), SourceKind::Live, "zd*".into());
        let mut publisher = Publisher::new(
            observer,
            Links {
                snapshots: publish,
                wanted,
                commands,
            },
        );
        let mut look = |publisher: &mut Publisher| {
            assert!(publisher.attend());
            let is_new = snapshots.has_changed().unwrap();
            (is_new, Arc::clone(&snapshots.borrow_and_update()))
        };
        assert!(look(&mut publisher).0, "the first");
        assert!(!look(&mut publisher).0, "nothing is new");

        let other = Wanted {
            window: Window::Minute,
            ..Wanted::default()
        };
        ask.send_replace(other);
        let (is_new, snapshot) = look(&mut publisher);
        assert!(is_new, "another window");
        assert_eq!(snapshot.window, Window::Minute);

        order.send(Command::Reset).unwrap();
        assert!(look(&mut publisher).0, "a command");
        assert!(!look(&mut publisher).0, "once");
        drop(ask);
        assert!(!publisher.attend(), "nobody looks any more");
    }
}

//! The way from the thread that drains the ring to the one that prints or shows: bounded, and never a
//! reason to wait. What finds no room is dropped and counted, like an event that the ring lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use crate::input::Input;

/// Events that may wait to be printed: 22 MiB.
const CAPACITY_EVENTS: usize = 1 << 18;

/// Makes both ends.
#[must_use]
pub fn handover() -> (Sender, Receiver) {
    let (to, from) = mpsc::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let sender = Sender {
        to,
        waiting: Arc::clone(&waiting),
        dropped_events: 0,
    };
    (sender, Receiver { from, waiting })
}

/// The draining end.
pub struct Sender {
    to: mpsc::Sender<Input>,
    waiting: Arc<AtomicUsize>,
    dropped_events: u64,
}

/// The printing end.
pub struct Receiver {
    from: mpsc::Receiver<Input>,
    waiting: Arc<AtomicUsize>,
}

/// The printing end is gone.
#[derive(Debug)]
pub struct Gone;

impl Sender {
    /// Hands over an input; a sample learns how many events were dropped.
    ///
    /// # Errors
    /// Nobody prints any more.
    pub fn offer(&mut self, mut input: Input) -> Result<(), Gone> {
        match &mut input {
            Input::Events(events) => {
                let n = events.len();
                if self.waiting.load(Ordering::Relaxed) + n > CAPACITY_EVENTS {
                    self.dropped_events += n as u64;
                    return Ok(());
                }
                self.waiting.fetch_add(n, Ordering::Relaxed);
            }
            Input::Sample(sample) => sample.lost.queue = self.dropped_events,
            _ => {}
        }
        self.to.send(input).map_err(|_| Gone)
    }
}

impl Receiver {
    /// The next input, waiting for it no longer than `patience`.
    ///
    /// # Errors
    /// None came in time, or none comes any more.
    pub fn next_within(&self, patience: Duration) -> Result<Input, RecvTimeoutError> {
        self.from.recv_timeout(patience).inspect(|i| self.took(i))
    }

    fn took(&self, input: &Input) {
        if let Input::Events(events) = input {
            self.waiting.fetch_sub(events.len(), Ordering::Relaxed);
        }
    }
}

impl Iterator for Receiver {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        self.from.recv().ok().inspect(|i| self.took(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Comm, DeviceId, Event, Flags, Op},
        input::Sample,
    };

    fn events(n: usize) -> Input {
        let event = Event {
            device: DeviceId(0),
            op: Op::Write,
            flags: Flags::default(),
            start_ns: 1,
            issue_ns: None,
            end_ns: 2,
            offset_bytes: 0,
            bytes: 4096,
            errno: 0,
            cpu: 0,
            pid: 1,
            tid: 1,
            comm: Comm::new("fio"),
        };
        Input::Events(vec![event; n])
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_the_next_sample_says_so() {
        let (mut sender, mut receiver) = handover();
        sender.offer(events(CAPACITY_EVENTS)).unwrap();
        sender.offer(events(5)).unwrap();
        sender.offer(Input::Sample(Sample::default())).unwrap();
        let Some(Input::Events(first)) = receiver.next() else {
            panic!("events first")
        };
        assert_eq!(first.len(), CAPACITY_EVENTS);
        let Some(Input::Sample(sample)) = receiver.next() else {
            panic!("then the sample")
        };
        assert_eq!(sample.lost.queue, 5);
        sender.offer(events(5)).unwrap();
        assert!(
            matches!(receiver.next(), Some(Input::Events(e)) if e.len() == 5),
            "room again"
        );
    }

    #[test]
    fn a_printer_that_is_gone_is_noticed_and_an_end_ends_it() {
        let (mut sender, receiver) = handover();
        drop(receiver);
        assert!(sender.offer(events(1)).is_err());
        let (sender, mut receiver) = handover();
        drop(sender);
        assert!(receiver.next().is_none());
    }
}

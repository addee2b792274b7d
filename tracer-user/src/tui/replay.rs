//! A recording as if it happened now: gives a source's inputs as time passes, at any speed.
//!
//! Pure but for the source it pulls: how much time passed is an argument. It holds one input of
//! the source at a time, and never looks ahead of what is due.

use crate::{event::Event, input::Input, source::Source};

/// Most inputs given at once, so that the caller can look after the screen meanwhile.
const AT_ONCE: usize = 64;

/// A source whose time runs.
pub(super) struct Player {
    source: Box<dyn Source + Send>,
    /// Read and not due yet.
    next: Option<Input>,
    started_ns: Option<u64>,
    /// Time since the start of the capture up to which inputs are due.
    position_ns: u64,
    /// Latest moment that was given, capture clock.
    last_ns: u64,
    ended: bool,
}

impl Player {
    /// A player at the beginning of a source.
    #[must_use]
    pub(super) fn new(source: Box<dyn Source + Send>) -> Self {
        Self {
            source,
            next: None,
            started_ns: None,
            position_ns: 0,
            last_ns: 0,
            ended: false,
        }
    }

    /// Lets time pass: `elapsed_ns` of the viewer's, times `speed` of the capture's.
    pub(super) fn pass(&mut self, elapsed_ns: u64, speed: u32) {
        if !self.ended {
            self.position_ns = self
                .position_ns
                .saturating_add(elapsed_ns.saturating_mul(u64::from(speed)));
        }
    }

    /// Goes forward to a moment since the start; one that has passed changes nothing.
    pub(super) fn seek(&mut self, to_ns: u64) {
        self.position_ns = self.position_ns.max(to_ns);
    }

    /// Where it is, since the start.
    #[must_use]
    pub(super) fn position_ns(&self) -> u64 {
        self.position_ns
    }

    /// Whether everything was given.
    #[must_use]
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Where it is on the capture's clock; `None` before the start.
    #[must_use]
    pub(super) fn now_ns(&self) -> Option<u64> {
        Some(self.started_ns?.saturating_add(self.position_ns))
    }

    /// Gives what is due to `take`; whether more is due, which the next call gives.
    ///
    /// # Errors
    /// The source cannot be read any further; what came before is given.
    pub(super) fn give(&mut self, mut take: impl FnMut(Input)) -> anyhow::Result<bool> {
        for _ in 0..AT_ONCE {
            if self.next.is_none() && !self.ended {
                let read = self.source.next();
                // After an error nothing more comes either.
                self.ended = !matches!(read, Ok(Some(_)));
                self.next = read?;
            }
            let Some(input) = self.next.take() else {
                self.settle();
                return Ok(false);
            };
            if let Input::Start(start) = &input {
                self.started_ns = Some(start.started_ns);
            }
            let (due, later) = self.split(input);
            if let Some(due) = due {
                self.last_ns = self.last_ns.max(at_ns(&due).unwrap_or(0));
                take(due);
            }
            if later.is_some() {
                self.next = later;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// At the end the position is where the capture ended, not where a seek wanted to go.
    fn settle(&mut self) {
        let length_ns = self
            .last_ns
            .saturating_sub(self.started_ns.unwrap_or(self.last_ns));
        self.position_ns = self.position_ns.min(length_ns);
    }

    /// The part of an input that is due, and the part that is not.
    fn split(&self, input: Input) -> (Option<Input>, Option<Input>) {
        let Some(now_ns) = self.now_ns() else {
            return (Some(input), None);
        };
        match input {
            Input::Events(mut events) => {
                let is_later = |event: &Event| event.end_ns > now_ns;
                let due = events.iter().position(is_later).unwrap_or(events.len());
                let later = events.split_off(due);
                let some =
                    |events: Vec<Event>| (!events.is_empty()).then_some(Input::Events(events));
                (some(events), some(later))
            }
            // The order stays: what has no time of its own is due with what came before it.
            other => match at_ns(&other) {
                Some(at_ns) if at_ns > now_ns => (None, Some(other)),
                _ => (Some(other), None),
            },
        }
    }
}

/// When an input happened, capture clock, where it says.
fn at_ns(input: &Input) -> Option<u64> {
    match input {
        Input::Start(_) | Input::Changed(_) => None,
        Input::Appeared(device) => device.appeared_ns,
        Input::Vanished { at_ns, .. } => Some(*at_ns),
        Input::Events(events) => events.last().map(|event| event.end_ns),
        Input::Sample(sample) => Some(sample.at_ns),
        Input::Pools(pools) => pools.first().map(|pool| pool.at_ns),
        Input::End(end) => Some(end.at_ns),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::{
        analysis::testing::{SECOND, end, sample, start, write, zvol},
        report::model::SourceKind,
    };

    struct Inputs(VecDeque<Input>);

    impl Source for Inputs {
        fn kind(&self) -> SourceKind {
            SourceKind::Recording
        }

        fn next(&mut self) -> anyhow::Result<Option<Input>> {
            Ok(self.0.pop_front())
        }
    }

    fn inputs() -> Vec<Input> {
        let events = |from: u64| (from..from + 10).map(|n| write(n * SECOND / 10, 0, 4096));
        vec![
            start(60),
            Input::Appeared(zvol(0, 8192)),
            Input::Events(events(0).collect()),
            sample(1, Vec::new()),
            Input::Events(events(10).chain(events(20)).collect()),
            sample(3, Vec::new()),
            end(5),
        ]
    }

    fn given(player: &mut Player) -> Vec<Input> {
        let mut all = Vec::new();
        while player.give(|input| all.push(input)).unwrap() {}
        all
    }

    fn events_of(inputs: &[Input]) -> usize {
        let events = inputs.iter().map(|input| match input {
            Input::Events(events) => events.len(),
            _ => 0,
        });
        events.sum()
    }

    #[test]
    fn events_come_when_they_are_due_and_twice_as_fast_at_twice_the_speed() {
        let mut player = Player::new(Box::new(Inputs(inputs().into())));
        assert_eq!(events_of(&given(&mut player)), 1, "the one at 0 s");
        player.pass(SECOND / 2, 1);
        assert_eq!(events_of(&given(&mut player)), 5);
        player.pass(SECOND / 2, 2);
        assert_eq!(player.position_ns(), SECOND * 3 / 2);
        assert_eq!(events_of(&given(&mut player)), 10);
        player.pass(SECOND, 0);
        assert!(given(&mut player).is_empty(), "it stands still");
    }

    #[test]
    fn whatever_the_steps_everything_comes_once_and_in_order() {
        for step_ns in [SECOND / 7, SECOND, 3 * SECOND] {
            let mut player = Player::new(Box::new(Inputs(inputs().into())));
            let mut all = Vec::new();
            while !player.ended() {
                all.extend(given(&mut player));
                player.pass(step_ns, 1);
            }
            assert_eq!(events_of(&all), 30);
            let times: Vec<u64> = all.iter().filter_map(at_ns).collect();
            assert!(times.is_sorted());
            assert!(matches!(all.last(), Some(Input::End(_))));
            assert_eq!(player.position_ns(), 5 * SECOND, "the capture's end");
        }
    }

    #[test]
    fn a_seek_goes_forward_and_stops_at_the_end() {
        let mut player = Player::new(Box::new(Inputs(inputs().into())));
        player.seek(2 * SECOND);
        assert_eq!(events_of(&given(&mut player)), 21);
        player.seek(SECOND);
        assert_eq!(player.position_ns(), 2 * SECOND);
        player.seek(u64::MAX);
        assert_eq!(events_of(&given(&mut player)), 9);
        assert!(player.ended());
        assert_eq!(player.position_ns(), 5 * SECOND);
    }
}

//! Progress of a capture on standard error: a bar on a terminal, a line now and then elsewhere,
//! nothing when it is to be quiet. It never writes to standard output, and a standard error
//! that is gone is no failure.

use std::{
    io::{self, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::units;

/// Refreshes of the bar, a second.
const BAR_HZ: u8 = 4;
/// Time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The bar of a capture with an end.
const WITH_END: &str = "{elapsed_precise} [{bar:24}] {percent:>3}% {msg}";
/// The same without one.
const WITHOUT_END: &str = "{elapsed_precise} {msg}";

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressKind {
    /// Not at all.
    Quiet,
    /// A line now and then.
    Lines,
    /// A bar on a terminal.
    Bar {
        /// Whether the terminal shows more than ASCII.
        unicode: bool,
    },
}

/// Where a capture stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Time since the start.
    pub elapsed: Duration,
    /// Devices traced now.
    pub devices: usize,
    /// I/Os completed.
    pub completed: u64,
    /// Events lost.
    pub lost: u64,
}

/// Progress of one capture. The caller says where it stands as often as it likes.
pub struct Progress {
    total: Option<Duration>,
    form: Form,
}

enum Form {
    Quiet,
    Lines { next: Duration },
    Bar(ProgressBar),
}

impl Progress {
    /// Begins; `total` is the duration asked for, `None` without limit.
    #[must_use]
    pub fn new(kind: ProgressKind, total: Option<Duration>) -> Self {
        let form = match kind {
            ProgressKind::Quiet => Form::Quiet,
            ProgressKind::Lines => Form::Lines { next: LINE_EVERY },
            ProgressKind::Bar { unicode } => Form::Bar(bar(unicode, total)),
        };
        Self { total, form }
    }

    /// Says something once: what is waited for, what went wrong on the way.
    pub fn note(&self, text: &str) {
        match &self.form {
            Form::Quiet => {}
            Form::Lines { .. } => say(text),
            Form::Bar(bar) => bar.println(text),
        }
    }

    /// Says where the capture stands.
    pub fn update(&mut self, state: &State) {
        match &mut self.form {
            Form::Quiet => {}
            Form::Lines { next } => {
                if state.elapsed >= *next {
                    *next = state.elapsed + LINE_EVERY;
                    say(&line(state, self.total));
                }
            }
            Form::Bar(bar) => {
                bar.set_position(millis(state.elapsed));
                bar.set_message(numbers(state));
            }
        }
    }

    /// Ends; the bar disappears, so that the report stands alone.
    pub fn finish(self) {
        if let Form::Bar(bar) = self.form {
            bar.finish_and_clear();
        }
    }
}

fn bar(unicode: bool, total: Option<Duration>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(BAR_HZ);
    let bar = ProgressBar::with_draw_target(total.map(millis), target);
    let template = if total.is_some() {
        WITH_END
    } else {
        WITHOUT_END
    };
    // The templates are constants, and a test parses them.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars(if unicode {
            "█▉▊▋▌▍▎▏ "
        } else {
            "#- "
        }));
    }
    bar
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn numbers(state: &State) -> String {
    let lost = match state.lost {
        0 => String::new(),
        n => format!(", {} LOST", units::count(n)),
    };
    let disks = if state.devices == 1 { "disk" } else { "disks" };
    format!(
        "{} I/Os on {} {disks}{lost}",
        units::count(state.completed),
        units::count(state.devices as u64)
    )
}

fn line(state: &State, total: Option<Duration>) -> String {
    let of = total.map_or_else(String::new, |total| format!(" of {} s", total.as_secs()));
    format!("{} s{of}: {}", state.elapsed.as_secs(), numbers(state))
}

fn say(text: &str) {
    // Nobody reads it: then nobody misses it.
    let _ = writeln!(io::stderr(), "zvoltrace: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_it_stands_and_is_loud_about_loss() {
        let mut state = State {
            elapsed: Duration::from_millis(10_400),
            devices: 1,
            completed: 1_234_567,
            lost: 0,
        };
        let total = Some(Duration::from_mins(1));
        assert_eq!(
            line(&state, total),
            "10 s of 60 s: 1,234,567 I/Os on 1 disk"
        );
        state.lost = 1000;
        state.devices = 2;
        assert_eq!(
            line(&state, None),
            "10 s: 1,234,567 I/Os on 2 disks, 1,000 LOST"
        );
    }

    #[test]
    fn both_templates_of_the_bar_are_right() {
        for template in [WITH_END, WITHOUT_END] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}

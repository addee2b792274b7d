//! The only thing that changes what the user chose: a key or an action, the state and the
//! snapshot it was seen with, in; the new state and what is to be done about it, out.
//!
//! Pure: no clock, no I/O, no ratatui.

use super::{
    column::visible,
    keys::{self, Action, Key},
    snapshot::{JobStage, Row, Snapshot, Window},
    state::{HeatOp, JobFormat, Prompt, Screen, State},
};

/// What has to happen outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop the process until it is continued.
    Suspend,
    /// Clear the terminal and draw anew.
    Redraw,
    /// Begin "since the start" anew.
    Reset,
    /// Capture in the background.
    Capture {
        /// For so long.
        seconds: u64,
        /// Form of the report.
        format: JobFormat,
    },
    /// Let a recording go on from here, ns since its start; past its end is its end.
    Seek(u64),
}

/// Longest capture in the background: a day.
const LONGEST_CAPTURE_S: u64 = 86_400;
/// Seconds of a capture when nothing else is typed.
const USUAL_CAPTURE_S: &str = "30";
/// Fastest replay.
const FASTEST: u32 = 1 << 12;
/// Lines of a page that stay in sight.
const PAGE_OVERLAP: u16 = 8;

/// Takes a key.
#[must_use]
pub fn update(state: &mut State, key: Key, snapshot: &Snapshot) -> Option<Effect> {
    state.notice = None;
    if state.prompt.is_some() {
        return type_key(state, key);
    }
    let action = keys::action(key)?;
    act(state, action, snapshot)
}

/// Takes a new size of the terminal.
pub fn resize(state: &mut State, columns: u16, lines: u16) {
    state.size = (columns, lines);
}

/// Takes note of the furthest line that there is to scroll to.
pub fn end_scrolling_at(state: &mut State, line: u16) {
    state.scroll = state.scroll.min(line);
}

fn act(state: &mut State, action: Action, snapshot: &Snapshot) -> Option<Effect> {
    match action {
        Action::Quit => return Some(Effect::Quit),
        Action::Suspend => return Some(Effect::Suspend),
        Action::Redraw => return Some(Effect::Redraw),
        Action::Help => {
            state.help = !state.help;
            state.scroll = 0;
        }
        Action::Back => back(state, snapshot),
        Action::Up => step(state, snapshot, -1),
        Action::Down => step(state, snapshot, 1),
        Action::PageUp => step(state, snapshot, -page(state)),
        Action::PageDown => step(state, snapshot, page(state)),
        Action::First => step(state, snapshot, i32::MIN),
        Action::Last => step(state, snapshot, i32::MAX),
        Action::Open => open(state, snapshot, Screen::Detail),
        Action::Explain if state.screen == Screen::Explain => show(state, Screen::Detail),
        Action::Explain => open(state, snapshot, Screen::Explain),
        Action::SortNext => state.sort.column = state.sort.column.next(),
        Action::SortReverse => state.sort.descending = !state.sort.descending,
        Action::Filter => {
            show(state, Screen::Overview);
            state.prompt = Some(Prompt::Filter {
                before: state.filter.clone(),
            });
        }
        Action::Window => {
            state.window = match state.window {
                Window::Second => Window::TenSeconds,
                Window::TenSeconds => Window::Minute,
                Window::Minute => Window::SinceStart,
                Window::SinceStart => Window::Second,
            };
        }
        Action::Pause => pause(state, snapshot),
        Action::Earlier => return earlier(state, snapshot),
        Action::Later => return later(state, snapshot),
        Action::Beginning => return seek(state, snapshot, 0),
        Action::Ending => return seek(state, snapshot, u64::MAX),
        Action::Now => {
            state.until_ns = None;
            state.paused = false;
        }
        Action::Faster => speed(state, snapshot, state.speed.saturating_mul(2)),
        Action::Slower => speed(state, snapshot, state.speed / 2),
        Action::Heat => {
            state.heat = match state.heat {
                HeatOp::Write => HeatOp::Read,
                HeatOp::Read => HeatOp::Flush,
                HeatOp::Flush => HeatOp::Write,
            };
        }
        Action::Capture => {
            state.prompt = Some(Prompt::Capture {
                seconds: USUAL_CAPTURE_S.to_owned(),
                format: JobFormat::default(),
            });
        }
        Action::Reset => state.prompt = Some(Prompt::Reset),
    }
    None
}

/// A key while something is typed.
fn type_key(state: &mut State, key: Key) -> Option<Effect> {
    if key == Key::Ctrl('c') {
        return Some(Effect::Quit);
    }
    match state.prompt.take()? {
        Prompt::Filter { before } => {
            match key {
                Key::Enter => return None,
                Key::Esc => {
                    state.filter = before;
                    return None;
                }
                Key::Backspace => {
                    state.filter.pop();
                }
                Key::Ctrl('u') => state.filter.clear(),
                Key::Char(c) => state.filter.push(c),
                _ => {}
            }
            state.prompt = Some(Prompt::Filter { before });
        }
        Prompt::Capture {
            mut seconds,
            mut format,
        } => {
            match key {
                Key::Esc => return None,
                Key::Enter => {
                    if let Some(seconds) = capture_seconds(&seconds) {
                        return Some(Effect::Capture { seconds, format });
                    }
                    state.notice = Some(format!(
                        "a capture takes from 1 to {LONGEST_CAPTURE_S} seconds"
                    ));
                }
                Key::Tab => {
                    format = match format {
                        JobFormat::Text => JobFormat::Json,
                        JobFormat::Json => JobFormat::Text,
                    };
                }
                Key::Backspace => {
                    seconds.pop();
                }
                Key::Ctrl('u') => seconds.clear(),
                Key::Char(c) if c.is_ascii_digit() && seconds.len() < 5 => seconds.push(c),
                _ => {}
            }
            state.prompt = Some(Prompt::Capture { seconds, format });
        }
        Prompt::Reset => {
            return (key == Key::Char('y') || key == Key::Enter).then_some(Effect::Reset);
        }
    }
    None
}

fn capture_seconds(typed: &str) -> Option<u64> {
    let seconds = typed.parse().ok()?;
    (1..=LONGEST_CAPTURE_S)
        .contains(&seconds)
        .then_some(seconds)
}

fn show(state: &mut State, screen: Screen) {
    state.screen = screen;
    state.scroll = 0;
}

fn open(state: &mut State, snapshot: &Snapshot, screen: Screen) {
    if state.help {
        return;
    }
    state.selected = cursor(state, &visible(state, snapshot));
    if state.selected.is_some() {
        show(state, screen);
    }
}

/// One step back, the nearest thing first.
fn back(state: &mut State, snapshot: &Snapshot) {
    if state.help {
        state.help = false;
        state.scroll = 0;
    } else if state.screen == Screen::Explain {
        show(state, Screen::Detail);
    } else if state.screen == Screen::Detail {
        show(state, Screen::Overview);
    } else if let Some(job) = ended_job(state, snapshot) {
        state.job_seen = job;
    } else if state.until_ns.is_some() || state.paused {
        state.until_ns = None;
        state.paused = false;
    } else {
        state.filter.clear();
    }
}

/// A job that has ended and whose end is still said.
fn ended_job(state: &State, snapshot: &Snapshot) -> Option<u64> {
    let job = snapshot.job.as_ref()?;
    let ended = !matches!(job.stage, JobStage::Running { .. });
    (ended && job.number > state.job_seen).then_some(job.number)
}

/// The row that the cursor is on: the chosen one while it is to be seen, else the first.
#[must_use]
pub fn cursor(state: &State, rows: &[&Row]) -> Option<crate::event::DeviceId> {
    let chosen = rows.iter().find(|row| Some(row.id) == state.selected);
    chosen.or_else(|| rows.first()).map(|row| row.id)
}

fn page(state: &State) -> i32 {
    i32::from(state.size.1.saturating_sub(PAGE_OVERLAP).max(1))
}

/// Moves the cursor in the table, or the text under a long screen.
fn step(state: &mut State, snapshot: &Snapshot, by: i32) {
    if state.help || state.screen != Screen::Overview {
        let to = i32::from(state.scroll).saturating_add(by);
        state.scroll = u16::try_from(to.max(0)).unwrap_or(u16::MAX);
        return;
    }
    let rows = visible(state, snapshot);
    let at = cursor(state, &rows);
    let at = rows.iter().position(|row| Some(row.id) == at).unwrap_or(0);
    let last = rows.len().saturating_sub(1);
    let to = i64::try_from(at).unwrap_or(0).saturating_add(i64::from(by));
    let to = usize::try_from(to.max(0)).unwrap_or(last).min(last);
    state.selected = rows.get(to).map(|row| row.id);
}

fn pause(state: &mut State, snapshot: &Snapshot) {
    state.paused = !state.paused;
    if state.paused {
        state.until_ns.get_or_insert(snapshot.span.to_ns);
    } else {
        state.until_ns = None;
    }
}

/// How far one step in time goes.
fn stride_ns(window: Window) -> u64 {
    1_000_000_000
        * match window {
            Window::Second => 1,
            Window::TenSeconds => 10,
            Window::Minute | Window::SinceStart => 60,
        }
}

fn earlier(state: &mut State, snapshot: &Snapshot) -> Option<Effect> {
    let stride_ns = stride_ns(state.window);
    let at_ns = state.until_ns.unwrap_or(snapshot.span.to_ns);
    let to_ns = at_ns.saturating_sub(stride_ns).max(stride_ns);
    // A window of its own length is the earliest that is whole.
    let earliest_ns = snapshot.history.from_ns + stride_ns;
    let can_rewind = snapshot
        .header
        .replay
        .is_some_and(|replay| replay.can_rewind);
    if can_rewind && to_ns < earliest_ns && to_ns < at_ns {
        return seek(state, snapshot, to_ns);
    }
    if at_ns <= earliest_ns {
        state.notice = Some("the history begins here".to_owned());
    } else {
        state.until_ns = Some(to_ns.max(earliest_ns));
    }
    None
}

fn later(state: &mut State, snapshot: &Snapshot) -> Option<Effect> {
    let at_ns = state.until_ns.unwrap_or(snapshot.history.to_ns);
    let to_ns = at_ns + stride_ns(state.window);
    if to_ns < snapshot.history.to_ns {
        state.until_ns = Some(to_ns);
        return None;
    }
    match snapshot.header.replay {
        // A recording reads on to there.
        Some(replay) if !replay.ended => return seek(state, snapshot, to_ns),
        _ if state.paused => state.until_ns = Some(snapshot.history.to_ns),
        _ => state.until_ns = None,
    }
    None
}

/// A recording goes on from elsewhere, and the view with it.
fn seek(state: &mut State, snapshot: &Snapshot, to_ns: u64) -> Option<Effect> {
    let replay = snapshot.header.replay?;
    let is_back = to_ns < snapshot.history.to_ns;
    if is_back && !replay.can_rewind {
        state.notice = Some("standard input cannot be read again from its beginning".to_owned());
        return None;
    }
    state.until_ns = state.paused.then_some(to_ns);
    Some(Effect::Seek(to_ns))
}

fn speed(state: &mut State, snapshot: &Snapshot, to: u32) {
    if snapshot.header.replay.is_some() {
        state.speed = to.clamp(1, FASTEST);
    }
}

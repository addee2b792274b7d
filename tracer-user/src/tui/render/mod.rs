//! Draws a frame from what was observed, what was chosen and what the terminal can show. The
//! only place that knows ratatui; it changes nothing and asks nothing of its surroundings.

mod badge;
mod detail;
mod explain;
mod fit;
mod footer;
mod header;
mod help;
mod judgement;
mod overview;
mod page;
#[cfg(test)]
mod tests;
mod theme;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
};

use self::{
    fit::cells,
    theme::{Theme, Tone},
};
use super::{
    snapshot::Snapshot,
    state::{Screen, State},
    style::Style,
};
use crate::report::{model::Severity, units::count};

/// Below this many columns or lines there is one line instead of a screen.
const LEAST_SIZE: (u16, u16) = (30, 6);

/// Draws a frame. Says the furthest line that [`State::scroll`] can go to; further is drawn as
/// that.
pub fn draw(frame: &mut Frame, state: &State, snapshot: &Snapshot, style: &Style) -> u16 {
    let theme = Theme::new(*style);
    let area = frame.area();
    if area.width < LEAST_SIZE.0 || area.height < LEAST_SIZE.1 {
        one_line(frame, area, theme, snapshot);
        return 0;
    }
    let top = header::lines(theme, state, snapshot, area.width, area.height);
    let bottom = footer::footer(theme, state, snapshot, area.width);
    let [head, middle, foot] = Layout::vertical([
        Constraint::Length(cells(top.len())),
        Constraint::Min(0),
        Constraint::Length(cells(bottom.lines.len())),
    ])
    .areas(area);
    header::draw(frame, head, &top);
    let mut last = match state.screen {
        Screen::Overview => {
            overview::draw(frame, middle, theme, state, snapshot);
            0
        }
        Screen::Detail => detail::draw(frame, middle, theme, state, snapshot),
        Screen::Explain => explain::draw(frame, middle, theme, state, snapshot),
    };
    if state.help {
        last = help::draw(frame, middle, theme, state, snapshot);
    }
    bottom.draw(frame, foot);
    last
}

/// What matters most, for a terminal that has no room for a screen.
fn one_line(frame: &mut Frame, area: Rect, theme: Theme, snapshot: &Snapshot) {
    let Some(row) = area.rows().next() else {
        return;
    };
    let lost = snapshot.header.losses.total();
    let bad = snapshot.rows.iter().filter(|row| {
        row.badge
            .is_some_and(|badge| badge.severity >= Severity::Warning)
    });
    let (tone, text) = match (lost, bad.count()) {
        (0, 0) => (
            Tone::Plain,
            format!("{} I/Os/s", count(snapshot.header.events_per_s)),
        ),
        (0, bad) => (Tone::Warning, format!("{bad} zvols need a look")),
        (lost, _) => (Tone::Alarm, format!("LOST {} I/Os", count(lost))),
    };
    frame.render_widget(theme.span(tone, text), row);
}

//! The first column: which zvol, and whether it has just come or is gone.

use ratatui::text::Line;

use super::super::{
    fit::{dataset, width},
    theme::{Theme, Tone},
};
use crate::tui::{
    column::name,
    snapshot::{Presence, Row},
};

/// Columns that the whole name takes.
pub(super) fn wanted(theme: Theme, row: &Row) -> u16 {
    width(&whole(theme, row)).saturating_add(width(mark(row)))
}

/// The name, shortened to `room`.
pub(super) fn line(theme: Theme, row: &Row, room: u16) -> Line<'static> {
    let mark = mark(row);
    let room = room.saturating_sub(width(mark));
    let tone = if row.presence == Presence::Vanished {
        Tone::Dim
    } else {
        Tone::Plain
    };
    let text = dataset(&whole(theme, row), room, theme.unicode());
    Line::from(vec![theme.span(tone, text), theme.span(Tone::Note, mark)])
}

/// The dataset; the device where that is nothing to be seen.
fn whole(theme: Theme, row: &Row) -> String {
    match theme.safe(name(row)) {
        name if name.trim().is_empty() => theme.safe(&row.device),
        name => name,
    }
}

fn mark(row: &Row) -> &'static str {
    match row.presence {
        Presence::There => "",
        Presence::New => " (new)",
        Presence::Vanished => " (gone)",
    }
}

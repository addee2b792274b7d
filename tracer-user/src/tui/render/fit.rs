//! What of a line is shown when not everything fits: whole things by rank, never half a number;
//! names by their ends.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::theme::{Theme, Tone};
use crate::report::{
    prose::wrap,
    shape::{fitting, shorten},
};

/// A number of things as a number of columns or lines.
pub(super) fn cells(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// Columns that a text takes.
pub(super) fn width(text: &str) -> u16 {
    cells(text.width())
}

/// Which of the things, given as rank (lowest first) and width, fit with gaps between them. A
/// thing is shown only when all that matter more are.
pub(super) fn chosen(things: &[(u8, u16)], gap: u16, room: u16) -> Vec<bool> {
    let mut order: Vec<usize> = (0..things.len()).collect();
    order.sort_by_key(|n| things[*n].0);
    let mut shown = vec![false; things.len()];
    let mut used = 0_u16;
    for (place, n) in order.into_iter().enumerate() {
        let gap = if place == 0 { 0 } else { gap };
        let then = used.saturating_add(gap).saturating_add(things[n].1);
        if then > room {
            break;
        }
        used = then;
        shown[n] = true;
    }
    shown
}

/// Something on a line.
pub(super) struct Item {
    rank: u8,
    spans: Vec<Span<'static>>,
}

impl Item {
    pub(super) fn new(theme: Theme, rank: u8, tone: Tone, text: impl Into<String>) -> Self {
        Self {
            rank,
            spans: vec![theme.span(tone, text)],
        }
    }

    pub(super) fn of(rank: u8, spans: Vec<Span<'static>>) -> Self {
        Self { rank, spans }
    }

    fn width(&self) -> u16 {
        cells(self.spans.iter().map(Span::width).sum())
    }
}

/// Columns between two items.
const GAP: u16 = 2;

/// Columns that all the items take.
pub(super) fn total(items: &[Item]) -> u16 {
    let gaps = GAP.saturating_mul(cells(items.len().saturating_sub(1)));
    items
        .iter()
        .fold(gaps, |sum, item| sum.saturating_add(item.width()))
}

/// The items that fit, in their order.
pub(super) fn line(items: Vec<Item>, room: u16) -> Line<'static> {
    let things: Vec<_> = items.iter().map(|item| (item.rank, item.width())).collect();
    let mut line = Line::default();
    for (item, shown) in items.into_iter().zip(chosen(&things, GAP, room)) {
        if !shown {
            continue;
        }
        if !line.spans.is_empty() {
            line.push_span(Span::raw("  "));
        }
        line.extend(item.spans);
    }
    line
}

/// A dataset's name in at most `room` columns. Its last part says which zvol it is and stays
/// whole as long as there is room for it; the middle goes first.
pub(super) fn dataset(name: &str, room: u16, unicode: bool) -> String {
    let room = usize::from(room);
    if name.width() <= room {
        return name.to_owned();
    }
    let dots = if unicode { "…" } else { "..." };
    let whole_last = name.rsplit_once('/').and_then(|(_, last)| {
        let tail = format!("{dots}/{last}");
        let head = fitting(name.chars(), room.checked_sub(tail.width())?);
        Some(head + &tail)
    });
    whole_last.unwrap_or_else(|| shorten(name, room, unicode))
}

/// A paragraph in lines of at most `room` columns.
pub(super) fn paragraph(
    theme: Theme,
    tone: Tone,
    first: &str,
    rest: &str,
    text: &str,
    room: u16,
) -> Vec<Line<'static>> {
    wrap(first, rest, &theme.safe(text), usize::from(room).max(1))
        .into_iter()
        .map(|text| Line::from(theme.span(tone, text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_dataset_stays_whole_while_it_can() {
        let name = "rpool/data/vm-100-disk-0";
        assert_eq!(dataset(name, 24, true), name);
        assert_eq!(dataset(name, 20, true), "rpool…/vm-100-disk-0");
        assert_eq!(dataset(name, 15, true), "…/vm-100-disk-0");
        assert_eq!(dataset(name, 10, true), "rpoo…isk-0");
        assert_eq!(dataset(name, 20, false), "rpo.../vm-100-disk-0");
    }

    #[test]
    fn what_matters_most_is_shown_and_nothing_less_before_it() {
        // The third in rank does not fit, so the fourth is not shown either.
        let things = [(3, 2), (0, 4), (2, 9), (1, 3)];
        assert_eq!(chosen(&things, 1, 10), [false, true, false, true]);
        assert_eq!(chosen(&things, 1, 3), [false; 4]);
        assert_eq!(chosen(&things, 1, 40), [true; 4]);
    }
}

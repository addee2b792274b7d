//! A table of the report's content on the screen: whole columns give way where it is too wide.

use ratatui::{
    layout::{Alignment, Constraint},
    text::Line,
    widgets::{Row, Table, Widget},
};

use super::{
    super::{
        fit::{cells, chosen, width},
        theme::{Theme, Tone},
    },
    panel::Piece,
};
use crate::report::content;

/// The table as a piece of `room` columns.
pub(super) fn grid(theme: Theme, table: &content::Table, room: u16) -> Piece {
    let widths: Vec<u16> = (0..table.head.len())
        .map(|n| {
            let cells = table.rows.iter().filter_map(|row| row.get(n));
            let cells = cells.map(|cell| width(cell));
            cells.chain([width(table.head[n])]).max().unwrap_or(0)
        })
        .collect();
    let needed = |gap: u16| {
        let gaps = gap * cells(widths.len().saturating_sub(1));
        widths
            .iter()
            .fold(gaps, |sum, width| sum.saturating_add(*width))
    };
    let gap = if needed(2) <= room { 2 } else { 1 };
    let things: Vec<(u8, u16)> = widths
        .iter()
        .enumerate()
        .map(|(n, width)| (u8::try_from(n).unwrap_or(u8::MAX), *width))
        .collect();
    let shown = chosen(&things, gap, room);
    let pick = |line: Vec<Line<'static>>| {
        line.into_iter()
            .zip(&shown)
            .filter(|(_, shown)| **shown)
            .map(|(cell, _)| cell)
            .collect::<Row>()
    };
    let words = table.words;
    let align = move |n: usize, line: Line<'static>| {
        line.alignment(if n < words {
            Alignment::Left
        } else {
            Alignment::Right
        })
    };
    let head = table.head.iter().enumerate();
    let head = head.map(|(n, text)| align(n, Line::from(theme.span(Tone::Dim, *text))));
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        pick(
            cells
                .map(|(n, text)| align(n, Line::from(theme.safe(text))))
                .collect(),
        )
    });
    let kept = widths.iter().zip(&shown).filter(|(_, shown)| **shown);
    let drawn = Table::new(rows, kept.map(|(width, _)| Constraint::Length(*width)))
        .header(pick(head.collect()))
        .column_spacing(gap);
    let height = cells(table.rows.len() + 1);
    Piece::new(height, height, move |area, buffer| {
        (&drawn).render(area, buffer);
    })
}

//! The table of zvols: which hurts, and why.
//!
//! Only the rows in sight are written out; the rest costs nothing.

mod chosen;
mod columns;
mod name;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style as Look},
    text::Line,
    widgets::{Cell, HighlightSpacing, Row as TableRow, Table, TableState},
};

use self::columns::{Columns, Spec};
use super::{
    fit::cells,
    page,
    theme::{Theme, Tone},
};
use crate::{
    report::{prose::wrap, units::count},
    tui::{
        column::visible,
        snapshot::{Row, Snapshot},
        state::State,
        update,
    },
};

/// Draws it.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
) {
    let mut rows = visible(state, snapshot);
    let mut area = area;
    if !state.filter.is_empty() && area.height > 2 {
        let [top, below] = page::split_first_line(area);
        frame.render_widget(
            filter_line(theme, state, rows.len(), snapshot.rows.len()),
            top,
        );
        area = below;
    }
    if rows.is_empty() {
        nothing(frame, area, theme, snapshot);
        return;
    }
    let cursor = update::cursor(state, &rows);
    let at = rows
        .iter()
        .position(|row| Some(row.id) == cursor)
        .unwrap_or(0);
    // Head and totals stay.
    let room = area.height.saturating_sub(2);
    let fits = rows.len() <= usize::from(room);
    let kept = if fits { 0 } else { chosen::kept(area.height) };
    let height = usize::from(room - kept).max(1);
    let offset = offset(at, rows.len(), height);
    let all = rows.len();
    let chosen = rows[at];
    rows = rows.into_iter().skip(offset).take(height).collect();
    let with_bar = !fits && area.width > 30;
    // Where there is room, a blank stands before the scrollbar.
    let bar_width = if area.width < 60 { 1 } else { 2 };
    let width = area.width - if with_bar { bar_width } else { 0 };
    let layout = columns::layout(theme, state, snapshot, &rows, width.saturating_sub(1));
    let mut table_state = TableState::new().with_selected(Some(at - offset));
    let table = table(theme, state, snapshot, &rows, &layout);
    // The totals stand right below the rows.
    let table_height = cells(rows.len() + 2).min(area.height);
    let [top, below] =
        Layout::vertical([Constraint::Length(table_height), Constraint::Min(0)]).areas(area);
    frame.render_stateful_widget(table, Rect { width, ..top }, &mut table_state);
    if with_bar {
        let bar = Rect {
            y: area.y + 1,
            height: cells(height),
            ..area
        };
        page::scrollbar(frame.buffer_mut(), bar, theme, all - height, offset, height);
    }
    chosen::draw(frame, below, theme, chosen);
}

/// First row shown, so that the cursor stands in the middle where there is enough on both sides.
fn offset(at: usize, rows: usize, height: usize) -> usize {
    at.saturating_sub(height / 2)
        .min(rows.saturating_sub(height))
}

fn table(
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
    rows: &[&Row],
    layout: &Columns,
) -> Table<'static> {
    let head = layout.specs.iter().map(|(spec, width)| {
        let text = columns::head(theme, spec, state, *width);
        Cell::new(aligned(spec, Line::from(theme.span(Tone::Heading, text))))
    });
    let body = rows.iter().map(|row| {
        let line = |(spec, width): &(Spec, u16)| {
            aligned(spec, columns::cell(theme, spec, row, *width, layout.form))
        };
        TableRow::new(layout.specs.iter().map(|spec| Cell::new(line(spec))))
    });
    let totals = layout.specs.iter().map(|(spec, width)| {
        Cell::new(aligned(spec, columns::total(theme, spec, snapshot, *width)))
    });
    let bold = Look::new().add_modifier(Modifier::BOLD);
    Table::new(
        body,
        layout
            .specs
            .iter()
            .map(|(_, width)| Constraint::Length(*width)),
    )
    .header(TableRow::new(head.collect::<Vec<_>>()))
    .footer(TableRow::new(totals.collect::<Vec<_>>()).style(bold))
    .column_spacing(1)
    .row_highlight_style(Look::new().add_modifier(Modifier::REVERSED))
    .highlight_symbol(theme.either("▶", ">"))
    .highlight_spacing(HighlightSpacing::Always)
}

fn aligned(spec: &Spec, line: Line<'static>) -> Line<'static> {
    if spec.is_text() {
        line
    } else {
        line.right_aligned()
    }
}

fn filter_line(theme: Theme, state: &State, shown: usize, all: usize) -> Line<'static> {
    Line::from(vec![
        theme.span(
            Tone::Note,
            format!("{} of {} contain ", count(shown as u64), count(all as u64)),
        ),
        theme.span(Tone::Heading, format!("\"{}\"", theme.safe(&state.filter))),
    ])
}

/// Why the table is empty, and what to do.
fn nothing(frame: &mut Frame, area: Rect, theme: Theme, snapshot: &Snapshot) {
    let texts = if !snapshot.rows.is_empty() {
        vec![
            (
                Tone::Heading,
                "No dataset or device contains this.".to_owned(),
            ),
            (
                Tone::Plain,
                "Esc clears the filter, / changes it.".to_owned(),
            ),
        ]
    } else if let Some(patterns) = &snapshot.header.waiting_for {
        vec![
            (Tone::Heading, format!("Waiting for a disk: none matches {} yet.", theme.safe(patterns))),
            (Tone::Plain, "It is traced as soon as it is there. `zvoltrace list` shows the zvols of this host, --device names other disks.".to_owned()),
        ]
    } else {
        let text = if snapshot.header.source.is_some() {
            "No disk yet."
        } else {
            "Starting."
        };
        vec![(Tone::Heading, text.to_owned())]
    };
    let lines = texts.into_iter().flat_map(|(tone, text)| {
        wrap("", "", &text, usize::from(area.width).max(1))
            .into_iter()
            .map(move |text| Line::from(theme.span(tone, text)).centered())
    });
    let lines: Vec<_> = lines.collect();
    let top = area.height.saturating_sub(cells(lines.len())) / 3;
    for (line, row) in lines.into_iter().zip(area.rows().skip(usize::from(top))) {
        frame.render_widget(line, row);
    }
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn the_cursor_is_always_in_sight() {
        for rows in 1..40 {
            for height in 1..45 {
                for at in 0..rows {
                    let offset = offset(at, rows, height);
                    assert!((offset..offset + height).contains(&at));
                    assert!(offset == 0 || offset + height <= rows);
                }
            }
        }
    }
}

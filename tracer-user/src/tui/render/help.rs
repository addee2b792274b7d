//! The help, from the table of keys, over whatever is shown.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::{Line, Span, Text},
    widgets::{Block, Clear, Widget},
};

use super::{
    fit::{cells, paragraph, width},
    header::own_cost,
    page,
    theme::{Theme, Tone},
};
use crate::tui::{keys::BINDINGS, snapshot::Snapshot, state::State};

/// Widest.
const WIDEST: u16 = 84;

/// What the numbers mean, for those who forgot.
const LEGEND: [&str; 6] = [
    "r/s, w/s: reads and writes a second. w size: the most frequent exact size of writes, and its share of them.",
    "p50, p99: half of the I/Os, and 99 of 100, took no longer. Latency is submission to completion, as the guest feels it.",
    "f p99: 99 of 100 flushes took no longer. oldest: age of the oldest I/O in flight.",
    "Verdicts are about everything since the start; CRIT or !! costs a lot or loses data, WARN or ! costs something, INFO or - is worth knowing.",
    "Sizes are binary: 8K = 8,192 bytes, 1 MiB/s = 1,048,576 bytes a second.",
    "The last line counts each I/O once, though disks are stacked.",
];

/// Draws it; says the furthest line it can begin with.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
) -> u16 {
    let outer = area.centered_horizontally(Constraint::Max(WIDEST));
    let mut block = Block::bordered()
        .border_set(theme.border())
        .title(Line::from(theme.span(Tone::Heading, " keys ")));
    // The header has no room for it on a small screen.
    if let Some(cost) = &snapshot.header.cost {
        let room = outer.width.saturating_sub(4);
        let text = format!(" {} ", own_cost(theme, cost, room));
        block = block.title_bottom(Line::from(theme.span(Tone::Dim, text)));
    }
    let inner = block.inner(outer);
    let lines = lines(theme, page::width(inner));
    let height = cells(lines.len());
    let outer = Rect {
        height: outer.height.min(height.saturating_add(2)),
        ..outer
    };
    frame.render_widget(Clear, outer);
    let inner = block.inner(outer);
    frame.render_widget(block, outer);
    page::draw(
        frame,
        inner,
        theme,
        height,
        state.scroll,
        |whole, buffer| {
            Text::from(lines).render(whole, buffer);
        },
    )
}

fn lines(theme: Theme, room: u16) -> Vec<Line<'static>> {
    let label = BINDINGS.iter().map(|binding| width(binding.label)).max();
    let label = usize::from(label.unwrap_or(0));
    let mut lines = Vec::new();
    for binding in BINDINGS {
        let keys = theme.span(Tone::Accent, format!("{:<label$}  ", binding.label));
        let rest = room.saturating_sub(cells(label) + 2);
        let mut texts = paragraph(theme, Tone::Plain, "", "", binding.help, rest).into_iter();
        let mut first = Line::from(keys);
        first.extend(texts.next().unwrap_or_default().spans);
        lines.push(first);
        for text in texts {
            let mut line = Line::from(Span::raw(" ".repeat(label + 2)));
            line.extend(text.spans);
            lines.push(line);
        }
    }
    lines.push(Line::default());
    for text in LEGEND {
        lines.extend(paragraph(theme, Tone::Plain, "", "  ", text, room));
    }
    lines
}

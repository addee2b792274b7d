//! Below the table: what is thought of the zvol under the cursor, as far as there are lines.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::{Block, Borders},
};

use super::super::{
    fit::{cells, dataset},
    judgement,
    theme::{Theme, Tone},
};
use crate::tui::{column::name, snapshot::Row};

/// Widest text that is still read with ease.
const WIDEST: u16 = 120;
/// Lines that a high screen keeps for it, though there are more rows than fit.
const KEPT: u16 = 9;
/// Lines of a screen that is high.
const HIGH: u16 = 30;

/// Lines of `height` that are not for the table.
pub(super) fn kept(height: u16) -> u16 {
    if height >= HIGH { KEPT } else { 0 }
}

/// Draws it into what the table leaves.
pub(super) fn draw(frame: &mut Frame, area: Rect, theme: Theme, row: &Row) {
    let Some(verdict) = row.verdict.as_deref() else {
        return;
    };
    let room = area.width.min(WIDEST);
    let sentence = judgement::sentence(theme, verdict, room);
    let evidence = judgement::evidence(theme, verdict, room);
    let advice = judgement::advice(theme, verdict, room);
    // Below a blank line and a rule with the name. Whole parts only, since half a sentence
    // misleads; what to do matters more than why.
    let height = usize::from(area.height.saturating_sub(2));
    let [least, more, all] = [
        sentence.len(),
        sentence.len() + advice.len(),
        sentence.len() + advice.len() + evidence.len(),
    ];
    let lines: Vec<Line> = match height {
        height if height >= all => [sentence, evidence, advice].concat(),
        height if height >= more => [sentence, advice].concat(),
        height if height >= least => sentence,
        _ => return,
    };
    let [_, place] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(cells(lines.len() + 1)),
    ])
    .areas(area);
    let shown = dataset(
        &theme.safe(name(row)),
        room.saturating_sub(2),
        theme.unicode(),
    );
    let block = Block::new()
        .borders(Borders::TOP)
        .border_set(theme.border())
        .border_style(theme.look(Tone::Dim))
        .title(Line::from(theme.span(Tone::Heading, format!("{shown} "))));
    let inner = block.inner(place);
    frame.render_widget(block, place);
    for (line, place) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, place);
    }
}

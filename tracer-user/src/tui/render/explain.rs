//! Why the verdict is what it is: every rule, whether it fired, and its numbers.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Text},
    widgets::Widget,
};

use super::{
    badge,
    detail::{chosen, title},
    fit::{cells, paragraph},
    page,
    theme::{Theme, Tone},
};
use crate::{
    analysis::verdict::RuleTrace,
    report::content::outcome,
    tui::{snapshot::Snapshot, state::State},
};

/// Draws it; says the furthest line it can begin with.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
) -> u16 {
    let [top, below] = page::split_first_line(area);
    let Some(row) = chosen(state, snapshot) else {
        return 0;
    };
    frame.render_widget(title(theme, row, area.width), top);
    let detail = snapshot.detail_of(row.id);
    let rules = detail.map_or(&[][..], |detail| &detail.rules);
    let room = page::width(below).min(120);
    let mut lines = Vec::new();
    if rules.is_empty() {
        lines.push(Line::from("There was no time to judge yet."));
    }
    // What fired is what is looked for.
    let fired = rules.iter().filter(|rule| rule.fired.is_some());
    let silent = rules.iter().filter(|rule| rule.fired.is_none());
    for rule in fired.chain(silent) {
        lines.extend(self::rule(theme, rule, room));
    }
    let height = cells(lines.len());
    page::draw(
        frame,
        below,
        theme,
        height,
        state.scroll,
        |whole, buffer| {
            Text::from(lines).render(whole, buffer);
        },
    )
}

fn rule(theme: Theme, rule: &RuleTrace, room: u16) -> Vec<Line<'static>> {
    let (tone, rest) = match rule.fired {
        Some(severity) => (Tone::from(severity), Tone::Plain),
        None => (Tone::Dim, Tone::Dim),
    };
    let mut lines = vec![Line::from(vec![
        theme.span(
            tone,
            format!("{:<9}{}", outcome(rule), badge::word(rule.code)),
        ),
        theme.span(Tone::Dim, format!("  ({})", rule.code)),
    ])];
    lines.extend(paragraph(
        theme,
        rest,
        "  if ",
        "     ",
        rule.condition,
        room,
    ));
    for text in &rule.numbers {
        lines.extend(paragraph(theme, rest, "  - ", "    ", text, room));
    }
    lines
}

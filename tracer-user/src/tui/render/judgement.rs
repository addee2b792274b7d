//! A verdict in words: the sentence, what it rests on, what to do.

use ratatui::text::Line;

use super::{
    badge::word,
    fit::{Item, line, paragraph},
    theme::{Theme, Tone},
};
use crate::report::{
    content::severity_word,
    model::{Code, Severity, Verdict},
};

/// Severity and our words; the code that scripts know where there is room.
pub(super) fn head(theme: Theme, severity: Severity, code: Code, room: u16) -> Line<'static> {
    let words = format!("{} {}", severity_word(severity), word(code));
    let items = vec![
        Item::new(theme, 0, Tone::from(severity), words),
        Item::new(theme, 1, Tone::Dim, format!("({code})")),
    ];
    line(items, room)
}

/// What is thought of the zvol.
pub(super) fn sentence(theme: Theme, verdict: &Verdict, room: u16) -> Vec<Line<'static>> {
    let mut lines = vec![head(theme, verdict.severity, verdict.code, room)];
    let text = &verdict.summary;
    lines.extend(paragraph(theme, Tone::Heading, "", "", text, room));
    lines
}

/// What that rests on.
pub(super) fn evidence(theme: Theme, verdict: &Verdict, room: u16) -> Vec<Line<'static>> {
    items(theme, &verdict.evidence, room)
}

/// What to do; nothing where there is nothing to be done.
pub(super) fn advice(theme: Theme, verdict: &Verdict, room: u16) -> Vec<Line<'static>> {
    let items = items(theme, &verdict.advice, room);
    if items.is_empty() {
        return items;
    }
    let mut lines = vec![Line::from(theme.span(Tone::Accent, "What to do:"))];
    lines.extend(items);
    lines
}

fn items(theme: Theme, texts: &[String], room: u16) -> Vec<Line<'static>> {
    texts
        .iter()
        .flat_map(|text| paragraph(theme, Tone::Plain, "- ", "  ", text, room))
        .collect()
}

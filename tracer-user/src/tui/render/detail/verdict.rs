//! What to think of the zvol, what that rests on, and what to do.

use ratatui::text::Line;

use super::{
    super::{
        badge::{self, Form},
        fit::{Item, line},
        theme::{Theme, Tone},
    },
    Close,
    panel::{Panel, Piece, paragraph},
};
use crate::report::{
    content::{other_findings, severity_word},
    model::{Code, Severity},
};

/// The verdict in a sentence.
pub(super) fn panel(close: &Close, room: u16) -> Panel {
    let theme = close.theme;
    let mut lines = Vec::new();
    // What goes wrong now is no verdict, and must not wait for one.
    let now = badge::remarks(close.row, theme.unicode());
    let urgent = badge::urgent(&now);
    if !urgent.is_empty() {
        lines.push(badge::line(theme, &urgent, Form::Word, room));
    }
    match &close.detail.report {
        Some(report) => {
            let verdict = &report.verdict;
            lines.push(head(theme, verdict.severity, verdict.code, room));
            lines.extend(paragraph(
                theme,
                Tone::Heading,
                "",
                "",
                &verdict.summary,
                room,
            ));
        }
        None => lines.push(Line::from("There was no time to judge yet.")),
    }
    Panel::new("verdict, since the start", vec![Piece::lines(lines)])
}

/// What it rests on, what to do, and what else is true.
pub(super) fn reasons(close: &Close, room: u16) -> Option<Panel> {
    let theme = close.theme;
    let report = close.detail.report.as_deref()?;
    let verdict = &report.verdict;
    let mut lines = Vec::new();
    let mut add = |tone, first: &str, rest: &str, text: &str| {
        lines.extend(paragraph(theme, tone, first, rest, text, room));
    };
    for text in &verdict.evidence {
        add(Tone::Plain, "- ", "  ", text);
    }
    if !verdict.advice.is_empty() {
        add(Tone::Accent, "", "", "What to do:");
    }
    for text in &verdict.advice {
        add(Tone::Plain, "- ", "  ", text);
    }
    for finding in other_findings(report) {
        lines.push(head(theme, finding.severity, finding.code, room));
        lines.extend(paragraph(
            theme,
            Tone::Plain,
            "",
            "",
            &finding.summary,
            room,
        ));
    }
    let title = format!("why ({} confidence)", verdict.confidence);
    (!lines.is_empty()).then(|| Panel::new(title, vec![Piece::lines(lines)]))
}

/// Severity and our words; the code that scripts know where there is room.
fn head(theme: Theme, severity: Severity, code: Code, room: u16) -> Line<'static> {
    let words = format!("{} {}", severity_word(severity), badge::word(code));
    let items = vec![
        Item::new(theme, 0, Tone::from(severity), words),
        Item::new(theme, 1, Tone::Dim, format!("({code})")),
    ];
    line(items, room)
}

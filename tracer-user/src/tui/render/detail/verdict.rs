//! What to think of the zvol, what that rests on, and what to do.

use ratatui::text::Line;

use super::{
    super::{
        badge::{self, Form},
        fit::paragraph,
        judgement,
        theme::Tone,
    },
    Close,
    panel::{Panel, Piece},
};
use crate::report::{content::other_findings, model::Verdict};

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
    match verdict(close) {
        Some(verdict) => lines.extend(judgement::sentence(theme, verdict, room)),
        None => lines.push(Line::from("There was no time to judge yet.")),
    }
    Panel::new("verdict, since the start", vec![Piece::lines(lines)])
}

/// What it rests on, what to do, and what else is true.
pub(super) fn reasons(close: &Close, room: u16) -> Option<Panel> {
    let theme = close.theme;
    let verdict = verdict(close)?;
    let mut lines = judgement::evidence(theme, verdict, room);
    lines.extend(judgement::advice(theme, verdict, room));
    for finding in close
        .detail
        .report
        .iter()
        .flat_map(|report| other_findings(report))
    {
        lines.push(judgement::head(theme, finding.severity, finding.code, room));
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

fn verdict<'a>(close: &Close<'a>) -> Option<&'a Verdict> {
    let report = close.detail.report.as_deref().map(|report| &report.verdict);
    report.or(close.row.verdict.as_deref())
}

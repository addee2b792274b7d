//! How the zvol fared over time: I/Os a second, latency, flushes.

use ratatui::{
    layout::{Constraint, Layout},
    text::{Line, Text},
    widgets::{RenderDirection, Sparkline, Widget},
};

use super::{
    super::theme::Tone,
    Close, heat,
    panel::{Panel, Piece},
    timeline::{self, Column},
};
use crate::report::units::{duration, float, three_digits};

/// Columns of the words at the left.
const WORDS: u16 = 28;
/// Lines of each.
const HEIGHT: u16 = 2;
/// Rates are compared in thousandths.
const MILLI: u64 = 1000;

/// The panel.
pub(super) fn panel(close: &Close, room: u16) -> Panel {
    let timeline = timeline::fitted(&close.detail.timeline, room.saturating_sub(WORDS));
    let theme = close.theme;
    let rate = |milli: u64| format!("{}/s", three_digits(float(milli) / float(MILLI)));
    let time = |ns: u64| duration(ns, theme.unicode());
    let series = |of: &dyn Fn(&Column) -> Option<u64>| -> Vec<Option<u64>> {
        timeline.columns.iter().rev().map(of).collect()
    };
    let per_second = |n: u64, column: &Column| {
        let scaled = u128::from(n) * 1_000_000_000 * u128::from(MILLI);
        let rate = scaled.checked_div(column.duration_ns.into())?;
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    };
    let iops =
        series(&|column| per_second(column.read.count.saturating_add(column.write.count), column));
    let p99 = series(&|column| column.write.p99_ns);
    let flushes = series(&|column| per_second(column.flush.count, column));
    let pieces = vec![
        piece(close, "reads + writes", iops, &rate),
        piece(close, "write p99", p99, &time),
        piece(close, "flushes", flushes, &rate),
        Piece::lines(vec![heat::axis(theme, close.state, &timeline, room)]),
    ];
    Panel::new("over time", pieces)
}

/// Newest first.
fn piece(
    close: &Close,
    name: &'static str,
    values: Vec<Option<u64>>,
    text: &dyn Fn(u64) -> String,
) -> Piece {
    let theme = close.theme;
    let most = values.iter().flatten().copied().max().unwrap_or(0);
    let newest = values.first().copied().flatten();
    let write = |value: Option<u64>| value.map_or_else(|| "-".into(), text);
    let when = if close.state.until_ns.is_none() {
        "now"
    } else {
        "then"
    };
    let words = Text::from(vec![
        Line::from(theme.span(Tone::Heading, name)),
        Line::from(theme.span(
            Tone::Plain,
            format!("{when} {}, most {}", write(newest), write(Some(most))),
        )),
    ]);
    Piece::new(HEIGHT, HEIGHT * 2, move |area, buffer| {
        let [left, right] =
            Layout::horizontal([Constraint::Length(WORDS), Constraint::Min(0)]).areas(area);
        (&words).render(left, buffer);
        // What is there at all is seen: an eighth of a line at least.
        let least = most.div_ceil(u64::from(right.height.max(1)) * 8);
        let seen =
            |value: &Option<u64>| value.map(|value| if value > 0 { value.max(least) } else { 0 });
        Sparkline::default()
            .data(values.iter().map(seen).collect::<Vec<_>>())
            .max(most.max(1))
            .direction(RenderDirection::RightToLeft)
            .bar_set(theme.heights())
            .style(theme.look(Tone::Accent))
            .render(right, buffer);
    })
}

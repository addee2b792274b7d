//! Sizes and latencies as bars. Own lines rather than ratatui's `BarChart`, which writes the
//! values over the bars and knows no operations side by side.

use ratatui::text::Line;

use super::{
    super::{
        fit::width,
        theme::{Theme, Tone},
    },
    Close,
    panel::{Panel, Piece},
};
use crate::{
    report::{
        content::{self, BarRow, Bars, BlockRow, Distribution},
        shape::bar,
    },
    tui::snapshot::OpDetail,
};

/// Columns of a share, `>99.9 %`.
const SHARE: usize = 7;
/// Columns that a side needs for the count to stand there as well.
const WITH_COUNT: usize = 30;

fn distribution<'a>(name: &'static str, op: &'a OpDetail) -> Distribution<'a> {
    Distribution {
        name,
        sizes: &op.sizes,
        sizes_rest: op.sizes_rest,
        latency: &op.latency,
    }
}

/// Exact sizes of writes and reads, and where the block size is among them.
pub(super) fn sizes(close: &Close, room: u16) -> Panel {
    let detail = close.detail;
    let sides: Vec<_> = [("writes", &detail.write), ("reads", &detail.read)]
        .into_iter()
        .filter(|(_, op)| !op.sizes.is_empty() || op.sizes_rest.count > 0)
        .map(|(name, op)| distribution(name, op))
        .collect();
    let block = if close.row.dataset.is_some() {
        "volblocksize"
    } else {
        "block size"
    };
    let marked = close
        .row
        .block_bytes
        .map_or_else(String::new, |_| format!(", * {block}"));
    let title = format!("sizes, {}{marked}", close.covered);
    let bars = content::sizes(&sides, close.row.block_bytes, BlockRow::Always);
    let lines = if bars.rows.is_empty() {
        vec![Line::from("No reads or writes in this time.")]
    } else {
        lines(close.theme, &bars, room)
    };
    Panel::new(title, vec![Piece::lines(lines)])
}

/// Latencies of all operations that there were.
pub(super) fn latencies(close: &Close, room: u16) -> Option<Panel> {
    let detail = close.detail;
    let sides = [
        ("writes", &detail.write),
        ("reads", &detail.read),
        ("flushes", &detail.flush),
        ("discards", &detail.discard),
    ]
    .map(|(name, op)| distribution(name, op));
    let bars = content::latencies(&sides, close.theme.unicode());
    let title = format!("latency, {}", close.covered);
    (!bars.sides.is_empty())
        .then(|| Panel::new(title, vec![Piece::lines(lines(close.theme, &bars, room))]))
}

fn lines(theme: Theme, bars: &Bars, room: u16) -> Vec<Line<'static>> {
    let label = bars.rows.iter().map(|row| width(&row.label)).max();
    let label = usize::from(label.unwrap_or(0));
    // Label, mark, a blank.
    let side = usize::from(room).saturating_sub(label + 3) / bars.sides.len().max(1);
    let counts = bars.rows.iter().flat_map(|row| row.bars.iter().flatten());
    let counts = counts.map(|bar| usize::from(width(&bar.count))).max();
    let counts = counts.filter(|_| side >= WITH_COUNT).unwrap_or(0);
    let numbers = if counts == 0 {
        SHARE
    } else {
        counts + 1 + SHARE
    };
    let names = bars.sides.iter().map(|name| {
        let name = format!("{name:>numbers$}");
        format!("{name:<side$}")
    });
    let head = " ".repeat(label + 3) + &names.collect::<String>();
    let mut lines = vec![Line::from(theme.span(Tone::Dim, head))];
    lines.extend(
        bars.rows
            .iter()
            .map(|row| line(theme, row, label, counts, side)),
    );
    lines
}

fn line(theme: Theme, row: &BarRow, label: usize, counts: usize, side: usize) -> Line<'static> {
    let (tone, mark) = if row.is_block {
        (Tone::Heading, " * ")
    } else {
        (Tone::Plain, "   ")
    };
    let text = format!("{:>label$}{mark}", row.label);
    let mut line = Line::from(theme.span(tone, text));
    for value in &row.bars {
        let numbers = match value {
            Some(value) if counts == 0 => format!("{:>SHARE$}", value.share),
            Some(value) => format!("{:>counts$} {:>SHARE$}", value.count, value.share),
            None if counts == 0 => format!("{:>SHARE$}", "-"),
            None => format!("{:>counts$} {:>SHARE$}", "-", ""),
        };
        let room = side.saturating_sub(numbers.len() + 2);
        let drawn = match value {
            Some(value) if room > 0 => bar(value.length, room, theme.unicode()),
            _ => String::new(),
        };
        let gap = side.saturating_sub(numbers.len() + 1 + usize::from(width(&drawn)));
        let empty = if value.is_some() {
            Tone::Plain
        } else {
            Tone::Dim
        };
        line.push_span(theme.span(empty, format!("{numbers} ")));
        line.push_span(theme.span(Tone::Accent, drawn));
        line.push_span(theme.span(Tone::Plain, " ".repeat(gap)));
    }
    line
}

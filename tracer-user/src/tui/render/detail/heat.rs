//! Latency over time: a column a stretch of time, a row a range of latencies, denser where
//! there were more I/Os.

use ratatui::{buffer::Buffer, layout::Rect, text::Line, widgets::Widget};

use super::{
    super::{
        fit::cells,
        theme::{HEAT_LEVELS, Theme, Tone},
    },
    Close,
    panel::{Panel, Piece},
    timeline::{self, Timeline},
};
use crate::{
    report::units::{clock, duration, float},
    tui::{
        snapshot::{HEAT_RANGES, heat_from_ns},
        state::{HeatOp, State},
    },
};

/// Columns of the scale at the left, `16.7 min` and a rule.
pub(super) const SCALE: u16 = 9;
/// Rows where there is little room.
const USUAL_ROWS: u16 = 8;

/// The heat map: what is needed to draw it into any height.
struct Heat {
    theme: Theme,
    axis: Line<'static>,
    /// I/Os by column and range.
    columns: Vec<[u64; HEAT_RANGES]>,
    lowest: usize,
    highest: usize,
}

/// The panel.
pub(super) fn panel(close: &Close, room: u16) -> Panel {
    let theme = close.theme;
    let timeline = timeline::fitted(&close.detail.timeline, room.saturating_sub(SCALE));
    let columns: Vec<[u64; HEAT_RANGES]> = timeline
        .columns
        .iter()
        .map(|column| match close.state.heat {
            HeatOp::Write => column.write.heat,
            HeatOp::Read => column.read.heat,
            HeatOp::Flush => column.flush.heat,
        })
        .collect();
    let (name, others) = match close.state.heat {
        HeatOp::Write => ("writes", "reads"),
        HeatOp::Read => ("reads", "flushes"),
        HeatOp::Flush => ("flushes", "writes"),
    };
    let few = theme.heat(0).content;
    let many = theme.heat(HEAT_LEVELS - 1).content;
    let title = format!("latency of {name}, {few} few {many} many (o: {others})");
    let seen = |range: &usize| columns.iter().any(|column| column[*range] > 0);
    let (lowest, highest) = ((0..HEAT_RANGES).find(seen), (0..HEAT_RANGES).rfind(seen));
    let (Some(lowest), Some(highest)) = (lowest, highest) else {
        let lines = vec![Line::from(format!("No {name} in this time."))];
        return Panel::new(title, vec![Piece::lines(lines)]);
    };
    let heat = Heat {
        theme,
        axis: axis(theme, close.state, &timeline, room),
        columns,
        lowest,
        highest,
    };
    let usual = cells(heat.rows(heat.together(USUAL_ROWS)));
    let all = cells(heat.rows(1));
    // One more for the axis.
    let piece = Piece::new(usual + 1, all + 1, move |area, buffer| {
        heat.draw(area, buffer);
    });
    Panel::new(title, vec![piece])
}

impl Heat {
    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let together = self.together(area.height.saturating_sub(1));
        let sums: Vec<Vec<u64>> = (self.lowest..=self.highest)
            .step_by(together)
            .map(|from| {
                let to = (from + together).min(HEAT_RANGES);
                let sum = |column: &[u64; HEAT_RANGES]| column[from..to].iter().sum();
                self.columns.iter().map(sum).collect()
            })
            .collect();
        let most = sums.iter().flatten().copied().max().unwrap_or(0);
        let mut places = area.rows();
        for ((row, sums), place) in sums.iter().enumerate().rev().zip(&mut places) {
            let range = self.lowest + row * together;
            let label = duration(heat_from_ns(range), self.theme.unicode());
            let width = usize::from(SCALE - 1);
            let rule = self.theme.either("│", "|");
            let mut line = Line::from(self.theme.span(Tone::Dim, format!("{label:>width$}{rule}")));
            let empty = usize::from(area.width.saturating_sub(SCALE)).saturating_sub(sums.len());
            line.push_span(" ".repeat(empty));
            for n in sums {
                line.push_span(match level(*n, most) {
                    Some(level) => self.theme.heat(level),
                    None => " ".into(),
                });
            }
            line.render(place, buffer);
        }
        if let Some(place) = places.next() {
            (&self.axis).render(place, buffer);
        }
    }

    /// Rows when so many ranges stand together in each.
    fn rows(&self, together: usize) -> usize {
        (self.highest + 1 - self.lowest).div_ceil(together)
    }

    /// How many ranges have to stand together in a row to need at most `height` rows.
    fn together(&self, height: u16) -> usize {
        self.rows(1).div_ceil(usize::from(height.max(1)))
    }
}

/// Step of a count among `most`, logarithmic, so that one slow I/O beside thousands is seen.
fn level(n: u64, most: u64) -> Option<usize> {
    if n == 0 {
        return None;
    }
    let share = float(n).ln_1p() / float(most.max(n)).ln_1p();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a few levels"
    )]
    let level = (share * HEAT_LEVELS as f64).ceil() as usize;
    Some(level.clamp(1, HEAT_LEVELS) - 1)
}

/// The line below anything that runs over time: where it begins and ends.
pub(super) fn axis(theme: Theme, state: &State, timeline: &Timeline, room: u16) -> Line<'static> {
    let (from, to) = if state.until_ns.is_none() && !state.paused {
        let ago_ns = timeline.to_ns.saturating_sub(timeline.from_ns);
        (format!("{} ago", clock(ago_ns)), "now".to_owned())
    } else {
        (clock(timeline.from_ns), clock(timeline.to_ns))
    };
    let scale = usize::from(SCALE);
    let empty = usize::from(room).saturating_sub(scale + timeline.columns.len());
    // Where there are few columns, the words for both ends have no room below them.
    let width = timeline.columns.len();
    let text = if width > from.len() + to.len() {
        let gap = width - from.len() - to.len();
        format!("{}{from}{}{to}", " ".repeat(scale + empty), " ".repeat(gap))
    } else {
        let both = format!("{from} to {to}");
        format!("{both:>room$}", room = usize::from(room))
    };
    Line::from(theme.span(Tone::Dim, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_write_beside_a_million_is_seen() {
        assert_eq!(level(0, 1_000_000), None);
        assert_eq!(level(1, 1_000_000), Some(0));
        assert_eq!(level(1_000_000, 1_000_000), Some(HEAT_LEVELS - 1));
        assert_eq!(level(1, 1), Some(HEAT_LEVELS - 1));
        assert!(level(1000, 1_000_000) > level(10, 1_000_000));
    }
}

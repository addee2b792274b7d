//! A page that is longer than the screen: drawn whole, shown in part, with a scrollbar.

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    widgets::{Scrollbar, ScrollbarOrientation, ScrollbarState, StatefulWidget},
};

use super::theme::Theme;

/// Lines of the longest page that is drawn; beyond it nothing is.
const LONGEST: u16 = 4096;

/// The first line of an area, and what is below it.
pub(super) fn split_first_line(area: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area)
}

/// Draws a page of `height` lines and shows it from line `scroll` on, as far as there are
/// lines. Says the furthest line that it can begin with.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    theme: Theme,
    height: u16,
    scroll: u16,
    content: impl FnOnce(Rect, &mut Buffer),
) -> u16 {
    let height = height.min(LONGEST);
    let last = height.saturating_sub(area.height);
    let first = scroll.min(last);
    let whole = Rect::new(0, 0, area.width, height.max(area.height));
    let mut page = Buffer::empty(whole);
    content(whole, &mut page);
    let screen = frame.buffer_mut();
    for y in 0..area.height {
        for x in 0..area.width {
            screen[(area.x + x, area.y + y)] = page[(x, first + y)].clone();
        }
    }
    if last > 0 {
        scrollbar(
            screen,
            area,
            theme,
            last.into(),
            first.into(),
            area.height.into(),
        );
    }
    last
}

/// Columns of a page in `area`, once a scrollbar has its own.
pub(super) fn width(area: Rect) -> u16 {
    area.width.saturating_sub(2).max(1)
}

/// A scrollbar at the right edge of `area`: at `position` of `last`, `seen` lines in sight.
pub(super) fn scrollbar(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    last: usize,
    position: usize,
    seen: usize,
) {
    let signs = theme.scrollbar();
    let mut state = ScrollbarState::new(last + 1)
        .position(position)
        .viewport_content_length(seen);
    Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .symbols(signs)
        .render(area, buffer, &mut state);
}

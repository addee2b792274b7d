//! What is drawn, as text, and its colours apart.

mod hostile;
mod looks;
mod screens;

use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use super::draw;
use crate::tui::{
    snapshot::Snapshot,
    state::State,
    style::{Colors, Style},
};

const COLORFUL: Style = Style {
    colors: Colors::Sixteen,
    unicode: true,
};
const PLAIN: Style = Style {
    colors: Colors::None,
    unicode: false,
};

fn drawn(state: &State, snapshot: &Snapshot, style: Style, size: (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal
        .draw(|frame| {
            draw(frame, state, snapshot, &style);
        })
        .unwrap();
    terminal.backend().buffer().clone()
}

/// The screen as a person sees it; what a wide sign covers is left out.
fn text(buffer: &Buffer) -> String {
    use unicode_width::UnicodeWidthStr;
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn screen(state: &State, snapshot: &Snapshot, size: (u16, u16)) -> String {
    text(&drawn(state, snapshot, COLORFUL, size))
}

//! A panel: a titled rule and pieces below it, whose heights are known before anything is drawn.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Text},
    widgets::{Block, Borders, Widget},
};

use super::super::{
    fit::cells,
    theme::{Theme, Tone},
};
use crate::report::prose::wrap;

type Draw = Box<dyn Fn(Rect, &mut Buffer)>;

/// Columns of the label of a labelled line.
const LABEL: usize = 12;

/// A part of a panel.
pub(super) struct Piece {
    height: u16,
    grows_to: u16,
    draw: Draw,
}

impl Piece {
    /// Draws itself into as many lines as `height` says, or up to `grows_to` if there is room.
    pub(super) fn new(
        height: u16,
        grows_to: u16,
        draw: impl Fn(Rect, &mut Buffer) + 'static,
    ) -> Self {
        Self {
            height,
            grows_to: grows_to.max(height),
            draw: Box::new(draw),
        }
    }

    /// Lines as they are.
    pub(super) fn lines(lines: Vec<Line<'static>>) -> Self {
        let height = cells(lines.len());
        Self::new(height, height, move |area, buffer| {
            // A borrow of the text would do, but only its owned form is a widget.
            Text::from(lines.clone()).render(area, buffer);
        })
    }
}

/// A titled rule and what stands below it.
pub(super) struct Panel {
    title: String,
    pieces: Vec<Piece>,
}

impl Panel {
    pub(super) fn new(title: impl Into<String>, pieces: Vec<Piece>) -> Self {
        Self {
            title: title.into(),
            pieces,
        }
    }

    /// Lines that it takes.
    pub(super) fn lines(&self) -> u16 {
        let pieces = self.pieces.iter().map(|piece| piece.height);
        pieces.fold(1, u16::saturating_add)
    }

    /// Takes of the spare lines what it can use; gives back the rest.
    pub(super) fn grow(&mut self, mut spare: u16) -> u16 {
        for piece in &mut self.pieces {
            let more = (piece.grows_to - piece.height).min(spare);
            piece.height += more;
            spare -= more;
        }
        spare
    }

    /// Draws it.
    pub(super) fn draw(self, theme: Theme, area: Rect, buffer: &mut Buffer) {
        let block = Block::new()
            .borders(Borders::TOP)
            .border_set(theme.border())
            .border_style(theme.look(Tone::Dim))
            .title(Line::from(
                theme.span(Tone::Heading, format!("{} ", self.title)),
            ));
        let inner = block.inner(area);
        block.render(area, buffer);
        let mut y = inner.y;
        for piece in self.pieces {
            let place = Rect {
                y,
                height: piece.height,
                ..inner
            };
            y = y.saturating_add(piece.height);
            (piece.draw)(place.intersection(inner), buffer);
        }
    }
}

/// Lines that panels take one below the other.
pub(super) fn height(panels: &[Panel]) -> u16 {
    panels.iter().map(Panel::lines).fold(0, u16::saturating_add)
}

/// A labelled statement, wrapped behind its label.
pub(super) fn labelled(
    theme: Theme,
    tone: Tone,
    label: &str,
    text: &str,
    room: u16,
) -> Vec<Line<'static>> {
    let room = usize::from(room).saturating_sub(LABEL).max(1);
    wrap("", "", &theme.safe(text), room)
        .into_iter()
        .enumerate()
        .map(|(n, text)| {
            let label = if n == 0 { label } else { "" };
            let dim = if tone == Tone::Plain { Tone::Dim } else { tone };
            Line::from(vec![
                theme.span(dim, format!("{label:<LABEL$}")),
                theme.span(tone, text),
            ])
        })
        .collect()
}

//! The last lines: what is being typed, what there is to say about the last key or capture, and
//! the keys.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    text::{Line, Span},
};

use super::{
    fit::{Item, line, width},
    theme::{Theme, Tone},
};
use crate::{
    report::{prose::wrap, units::duration},
    tui::{
        keys::{BINDINGS, Place},
        snapshot::{JobStage, Snapshot},
        state::{JobFormat, Prompt, Screen, State},
    },
};

/// The lines of the footer, and where the cursor stands in the last one while something is
/// typed.
pub(super) struct Footer {
    pub(super) lines: Vec<Line<'static>>,
    cursor: Option<u16>,
}

/// Makes the footer for a width.
pub(super) fn footer(theme: Theme, state: &State, snapshot: &Snapshot, room: u16) -> Footer {
    let mut lines = Vec::new();
    if let Some((tone, text)) = news(theme, state, snapshot) {
        for text in wrap("", "  ", &text, usize::from(room).max(1))
            .into_iter()
            .take(2)
        {
            lines.push(Line::from(theme.span(tone, text)));
        }
    }
    let (last, cursor) = match &state.prompt {
        Some(prompt) => typed(theme, state, prompt, room),
        None => (keys(theme, state, snapshot, room), None),
    };
    lines.push(last);
    Footer { lines, cursor }
}

impl Footer {
    /// Draws it.
    pub(super) fn draw(&self, frame: &mut Frame, area: Rect) {
        for (line, row) in self.lines.iter().zip(area.rows()) {
            frame.render_widget(line, row);
        }
        if let (Some(at), Some(last)) = (self.cursor, area.rows().next_back()) {
            let x = area.x + at.min(area.width.saturating_sub(1));
            frame.set_cursor_position(Position::new(x, last.y));
        }
    }
}

/// What there is to say: about the last key, else about the capture in the background.
fn news(theme: Theme, state: &State, snapshot: &Snapshot) -> Option<(Tone, String)> {
    if let Some(notice) = &state.notice {
        return Some((Tone::Warning, theme.safe(notice)));
    }
    let job = snapshot.job.as_ref()?;
    let path = theme.safe(&job.path);
    let seen = job.number <= state.job_seen;
    match &job.stage {
        JobStage::Running { left_ns } => {
            let left = duration(*left_ns, theme.unicode());
            Some((
                Tone::Note,
                format!("Capturing for {left} more, into {path}"),
            ))
        }
        JobStage::Written if !seen => Some((Tone::Good, format!("Capture written to {path}"))),
        JobStage::Failed(why) if !seen => Some((
            Tone::Alarm,
            format!("No capture in {path}: {}", theme.safe(why)),
        )),
        JobStage::Written | JobStage::Failed(_) => None,
    }
}

fn typed(theme: Theme, state: &State, prompt: &Prompt, room: u16) -> (Line<'static>, Option<u16>) {
    let (ask, input, keys) = match prompt {
        Prompt::Filter { .. } => (
            "Show only: ".to_owned(),
            theme.safe(&state.filter),
            "Enter keep  Esc as before".to_owned(),
        ),
        Prompt::Capture { seconds, format } => {
            let (is, other) = match format {
                JobFormat::Text => ("text", "JSON"),
                JobFormat::Json => ("JSON", "text"),
            };
            (
                format!("Capture as {is}, seconds: "),
                seconds.clone(),
                format!("Enter start  Tab {other}  Esc no"),
            )
        }
        Prompt::Reset => (
            "Begin \"since the start\" anew? ".to_owned(),
            String::new(),
            "y yes  Esc no".to_owned(),
        ),
    };
    let cursor = width(&ask).saturating_add(width(&input));
    let entry = vec![
        theme.span(Tone::Heading, ask),
        Span::raw(input),
        Span::raw(" "),
    ];
    let items = vec![Item::of(0, entry), Item::new(theme, 1, Tone::Dim, keys)];
    (line(items, room.max(cursor + 1)), Some(cursor))
}

/// As many keys as fit, of those that mean something here.
fn keys(theme: Theme, state: &State, snapshot: &Snapshot, room: u16) -> Line<'static> {
    let means_something = |place: Place| match place {
        Place::Everywhere => true,
        Place::Overview => state.screen == Screen::Overview,
        Place::Detail => state.screen == Screen::Detail,
        Place::Replay => snapshot.header.replay.is_some(),
    };
    let items = BINDINGS
        .iter()
        .filter(|binding| !binding.word.is_empty() && means_something(binding.place))
        .enumerate()
        .map(|(rank, binding)| {
            let spans = vec![
                theme.span(Tone::Accent, binding.footer_key()),
                Span::raw(" "),
                Span::raw(binding.word),
            ];
            Item::of(u8::try_from(rank).unwrap_or(u8::MAX), spans)
        })
        .collect();
    line(items, room)
}

//! How things stand out, and which signs draw them. Nothing is said by colour alone: the word,
//! bold or reverse say it too.

use ratatui::{
    style::{Color, Modifier, Style as Look},
    symbols::{bar, border, scrollbar},
    text::Span,
};

use crate::{
    report::{model::Severity, prose::printable},
    tui::style::{Colors, Style},
};

/// Steps of the heat map beside nothing.
pub(super) const HEAT_LEVELS: usize = 5;
/// Colours of the steps on a terminal of 16: none that means an alarm.
const HEAT_SIXTEEN: [Color; HEAT_LEVELS] = [
    Color::Blue,
    Color::Blue,
    Color::Cyan,
    Color::LightCyan,
    Color::White,
];
/// The same out of 256: evenly brighter, for eyes that see no red or green too.
const HEAT_INDEXED: [Color; HEAT_LEVELS] = [
    Color::Indexed(60),
    Color::Indexed(31),
    Color::Indexed(36),
    Color::Indexed(113),
    Color::Indexed(227),
];

/// How a word stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// What can be overlooked: zeros, labels, what is gone.
    Dim,
    Heading,
    /// Keys, marks, bars.
    Accent,
    Good,
    Note,
    Warning,
    Alarm,
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Ok => Self::Good,
            Severity::Info => Self::Note,
            Severity::Warning => Self::Warning,
            Severity::Critical => Self::Alarm,
        }
    }
}

/// The signs and looks of one [`Style`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    style: Style,
}

impl Theme {
    pub(super) fn new(style: Style) -> Self {
        Self { style }
    }

    /// Whether more than ASCII may be shown.
    pub(super) fn unicode(self) -> bool {
        self.style.unicode
    }

    /// The look of a tone.
    pub(super) fn look(self, tone: Tone) -> Look {
        let bold = Look::new().add_modifier(Modifier::BOLD);
        let look = match tone {
            Tone::Plain | Tone::Good | Tone::Note | Tone::Accent => Look::new(),
            Tone::Dim => Look::new().add_modifier(Modifier::DIM),
            Tone::Heading | Tone::Warning | Tone::Alarm => bold,
        };
        let color = match tone {
            Tone::Plain | Tone::Dim | Tone::Heading => None,
            Tone::Good => Some(Color::Green),
            Tone::Note | Tone::Accent => Some(Color::Cyan),
            Tone::Warning => Some(Color::Yellow),
            Tone::Alarm => Some(Color::Red),
        };
        match (self.style.colors, color) {
            (Colors::None, _) if tone == Tone::Alarm => look.add_modifier(Modifier::REVERSED),
            (Colors::None, _) | (_, None) => look,
            (_, Some(color)) => look.fg(color),
        }
    }

    /// Text of ours in a tone.
    pub(super) fn span(self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.look(tone))
    }

    /// Text from outside (names, messages) made safe to show: no commands to the terminal, no
    /// sign that it cannot show.
    pub(super) fn safe(self, text: &str) -> String {
        let safe = printable(text);
        if self.style.unicode {
            return safe;
        }
        safe.chars()
            .map(|c| match c {
                'µ' | 'μ' => 'u',
                '×' => 'x',
                '…' | '–' | '—' => '-',
                c if c.is_ascii() => c,
                _ => '?',
            })
            .collect()
    }

    /// One of two forms of a sign.
    pub(super) fn either(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.style.unicode { unicode } else { ascii }
    }

    pub(super) fn border(self) -> border::Set<'static> {
        if self.style.unicode {
            return border::PLAIN;
        }
        border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        }
    }

    /// Heights of a sparkline.
    pub(super) fn heights(self) -> bar::Set<'static> {
        if self.style.unicode {
            return bar::NINE_LEVELS;
        }
        bar::Set {
            full: "#",
            seven_eighths: "#",
            three_quarters: "+",
            five_eighths: "=",
            half: "=",
            three_eighths: "-",
            one_quarter: "_",
            one_eighth: ".",
            empty: " ",
        }
    }

    pub(super) fn scrollbar(self) -> scrollbar::Set<'static> {
        scrollbar::Set {
            track: self.either("│", "|"),
            thumb: self.either("█", "#"),
            begin: self.either("▲", "^"),
            end: self.either("▼", "v"),
        }
    }

    /// A step of the heat map; more I/Os are both denser and brighter.
    pub(super) fn heat(self, level: usize) -> Span<'static> {
        const SHADES: [&str; HEAT_LEVELS] = ["·", "░", "▒", "▓", "█"];
        const LETTERS: [&str; HEAT_LEVELS] = [".", ":", "+", "*", "#"];
        let level = level.min(HEAT_LEVELS - 1);
        let look = match self.style.colors {
            Colors::None => Look::new(),
            Colors::Sixteen => Look::new().fg(HEAT_SIXTEEN[level]),
            Colors::Indexed => Look::new().fg(HEAT_INDEXED[level]),
        };
        Span::styled(self.either(SHADES[level], LETTERS[level]), look)
    }
}

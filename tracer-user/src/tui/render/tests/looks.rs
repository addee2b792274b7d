//! Colours and other looks, apart from the text.

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use super::{COLORFUL, PLAIN, drawn, text};
use crate::{
    event::DeviceId,
    tui::{
        samples,
        state::{Screen, State},
        style::{Colors, Style},
    },
};

const SIZE: (u16, u16) = (120, 40);

/// The first cell of the first place where a word stands.
fn at<'a>(buffer: &'a Buffer, word: &str) -> &'a Cell {
    let text = text(buffer);
    let (y, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains(word))
        .unwrap_or_else(|| panic!("{word} is not in\n{text}"));
    let x = line[..line.find(word).unwrap()].chars().count();
    &buffer[(u16::try_from(x).unwrap(), u16::try_from(y).unwrap())]
}

fn is_bold(cell: &Cell) -> bool {
    cell.modifier.contains(Modifier::BOLD)
}

#[test]
fn a_loss_is_red_and_bold_and_none_is_neither() {
    let lossy = drawn(&State::default(), &samples::lossy(), COLORFUL, SIZE);
    for word in ["LOST 11,234", "11,234 I/Os lost"] {
        assert_eq!(at(&lossy, word).fg, Color::Red, "{word}");
        assert!(is_bold(at(&lossy, word)), "{word}");
    }
    let fine = drawn(&State::default(), &samples::busy(), COLORFUL, SIZE);
    assert_eq!(at(&fine, "lost 0").fg, Color::Reset);
}

#[test]
fn a_badge_has_the_colour_of_its_severity() {
    let screen = drawn(&State::default(), &samples::busy(), COLORFUL, SIZE);
    for (word, color) in [
        ("CRIT misaligned", Color::Red),
        ("WARN small writes", Color::Yellow),
        ("INFO mixed sizes", Color::Cyan),
        ("OK   fits", Color::Green),
    ] {
        assert_eq!(at(&screen, word).fg, color, "{word}");
    }
}

#[test]
fn a_suspended_pool_and_a_stuck_zvol_are_red() {
    let screen = drawn(&State::default(), &samples::suspended(), COLORFUL, SIZE);
    for word in [
        "tank SUSPENDED",
        "98 I/Os have not completed",
        "CRIT stuck 600 s",
    ] {
        assert_eq!(at(&screen, word).fg, Color::Red, "{word}");
    }
    assert_eq!(at(&screen, "rpool ONLINE").fg, Color::Green);
}

#[test]
fn the_cursor_is_reversed_and_has_a_mark() {
    let state = State {
        selected: Some(DeviceId(4)),
        ..State::default()
    };
    let screen = drawn(&state, &samples::busy(), COLORFUL, SIZE);
    let cell = at(&screen, "▶rpool/data/vm-104-disk-0");
    assert!(cell.modifier.contains(Modifier::REVERSED));
}

#[test]
fn without_colour_there_is_none_and_an_alarm_is_reversed() {
    let style = Style {
        colors: Colors::None,
        ..COLORFUL
    };
    for (style, screen) in [
        (style, Screen::Overview),
        (style, Screen::Detail),
        (PLAIN, Screen::Explain),
    ] {
        let state = State {
            screen,
            ..State::default()
        };
        let buffer = drawn(&state, &samples::lossy(), style, SIZE);
        let plain = |cell: &Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
        assert!(buffer.content().iter().all(plain));
        assert!(at(&buffer, "LOST").modifier.contains(Modifier::REVERSED));
    }
}

#[test]
fn sixteen_colours_are_enough_where_there_are_no_more() {
    let state = State {
        screen: Screen::Detail,
        selected: Some(DeviceId(0)),
        ..State::default()
    };
    let indexed = |colors| {
        let style = Style { colors, ..COLORFUL };
        let buffer = drawn(&state, &samples::busy(), style, (200, 60));
        let cells = buffer.content().iter();
        cells
            .filter(|cell| matches!(cell.fg, Color::Indexed(_) | Color::Rgb(..)))
            .count()
    };
    assert_eq!(indexed(Colors::Sixteen), 0);
    assert!(indexed(Colors::Indexed) > 100);
}

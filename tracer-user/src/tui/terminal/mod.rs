//! The terminal: raw mode and alternate screen on and off, a thread that draws, one that reads
//! keys.
//!
//! Whatever happens, the terminal is given back as it was. Drawing has a thread of its own, so
//! that a terminal that takes nothing (a stalled ssh session) keeps nobody from hearing keys and
//! signals; it draws the latest frame only.

mod keyboard;
mod panel;
mod screen;

pub(super) use keyboard::{Typed, listen};
pub(super) use panel::Panel;

/// Columns and lines of the terminal.
pub(super) fn size() -> (u16, u16) {
    // One that does not know is taken for the smallest that is in use.
    crossterm::terminal::size().unwrap_or((80, 24))
}

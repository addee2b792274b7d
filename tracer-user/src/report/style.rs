//! How text looks: colour, character set, width. Decided once, by the caller; renderers never
//! ask the environment.

/// Look of a text rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours beside the words.
    pub color: bool,
    /// Bars, units and rules beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

impl Default for Style {
    /// What a file gets: no colour, Unicode, 80 columns.
    fn default() -> Self {
        Self {
            color: false,
            unicode: true,
            width: 80,
        }
    }
}

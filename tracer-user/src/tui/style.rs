//! What the terminal can show. Decided once, by the caller; nothing that draws asks the
//! environment.

/// How many colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// None: bold, reverse and words only.
    None,
    /// The sixteen that every terminal has.
    Sixteen,
    /// The palette of 256.
    Indexed,
}

/// Look of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours.
    pub colors: Colors,
    /// Bars, borders and units beyond ASCII.
    pub unicode: bool,
}

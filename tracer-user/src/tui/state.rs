//! What the user chose: everything a frame shows that was not observed.
//!
//! Plain data; [`super::update`] is all that changes it.

use super::{
    column::Column,
    snapshot::{Wanted, Window},
};
use crate::event::DeviceId;

/// What the screen is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// The table of zvols.
    #[default]
    Overview,
    /// One zvol closely: [`State::selected`].
    Detail,
    /// Why its verdict is what it is.
    Explain,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By which column.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
}

impl Default for Sort {
    /// The slowest writes first.
    fn default() -> Self {
        Self {
            column: Column::WriteP99,
            descending: true,
        }
    }
}

/// Operations that the heat map can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeatOp {
    /// Writes with data.
    #[default]
    Write,
    /// Reads.
    Read,
    /// Bare flushes.
    Flush,
}

/// Form of a capture in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobFormat {
    /// The report as text.
    #[default]
    Text,
    /// The report as JSON.
    Json,
}

/// Something that is being typed, in the place of the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// `/`: the filter is [`State::filter`] itself and works while it is typed.
    Filter {
        /// What it was before, for Esc.
        before: String,
    },
    /// `c`: how many seconds to capture. Tab changes the form.
    Capture {
        /// Digits typed so far.
        seconds: String,
        /// Form.
        format: JobFormat,
    },
    /// `r`: whether to begin anew.
    Reset,
}

/// What the user chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// What the screen is about.
    pub screen: Screen,
    /// The help lies over it.
    pub help: bool,
    /// Something is being typed.
    pub prompt: Option<Prompt>,
    /// The row under the cursor; `None` until there is one.
    pub selected: Option<DeviceId>,
    /// Text that the dataset or device must contain, in any case.
    pub filter: String,
    /// Order of the table.
    pub sort: Sort,
    /// Time that rows cover.
    pub window: Window,
    /// Where the window ends, ns since the start; `None` follows time.
    pub until_ns: Option<u64>,
    /// The view stands still.
    pub paused: bool,
    /// Replay: times as fast as it was.
    pub speed: u32,
    /// Operation of the heat map.
    pub heat: HeatOp,
    /// First line shown of detail, explanation or help, where they are longer than the screen;
    /// whoever draws keeps it from running past the end.
    pub scroll: u16,
    /// Columns and lines of the terminal.
    pub size: (u16, u16),
    /// The job whose end the user has taken note of.
    pub job_seen: u64,
    /// Something to say about the last key, until the next.
    pub notice: Option<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            screen: Screen::default(),
            help: false,
            prompt: None,
            selected: None,
            filter: String::new(),
            sort: Sort::default(),
            window: Window::default(),
            until_ns: None,
            paused: false,
            speed: 1,
            heat: HeatOp::default(),
            scroll: 0,
            size: (80, 24),
            job_seen: 0,
            notice: None,
        }
    }
}

impl State {
    /// What the observing side is to publish for this.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            window: self.window,
            until_ns: self.until_ns,
            detail: self.selected.filter(|_| self.screen != Screen::Overview),
            frozen: self.paused,
            speed: if self.paused { 0 } else { self.speed },
        }
    }
}

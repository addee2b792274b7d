//! Where a capture comes from: live tracing, a recording, blktrace files.
//!
//! A source yields [`Input`]s one by one and knows nothing of analysis or output. Whoever
//! pulls it (capture, report, top, events, compare, export) does not know which one it is.

pub mod blktrace;
pub mod live;
pub mod open;
pub mod recording;

use crate::{input::Input, report::model::SourceKind};

/// A stream of [`Input`]s: first [`Input::Start`], last [`Input::End`] unless the capture was
/// cut off.
pub trait Source {
    /// What kind of source it is.
    fn kind(&self) -> SourceKind;

    /// The next input, or `None` at the end. A live source waits a short, bounded time for
    /// one. After an error what came before remains valid, and the next call returns `None`.
    fn next(&mut self) -> anyhow::Result<Option<Input>>;
}

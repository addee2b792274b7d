//! Recordings: every input of a capture in an Arrow IPC stream that any Arrow reader opens.
//!
//! Owns the format (columns, metadata, versions; `docs/recording.md` describes it to others),
//! the thread that writes it, and the reading of one file. It never judges what it stores:
//! an [`Input`](crate::input::Input) goes in and the same input comes out.
//!
//! [`Recorder`] takes inputs from the thread that drains the ring and never makes it wait.
//! [`crate::source::recording`] is the way back.

mod batch;
pub(crate) mod columns;
mod file;
mod message;
mod payload;
pub(crate) mod position;
pub(crate) mod reader;
mod recorder;
mod schema;
pub mod words;
mod writer;

pub use reader::{Problem, ReadError};
pub use recorder::{MIN_MAX_BYTES, Options, Recorder, Summary};
pub use schema::{Identity, VERSION};
pub use writer::{RecordError, Written};

pub(crate) use payload::{Control, Vanished};

#[cfg(test)]
mod tests;

//! Reading what blktrace writes and what blkparse prints, and writing blktrace files.
//!
//! Owns the record layout, the merge of per-CPU files, the pairing of records into one
//! [`crate::event::Event`] an I/O, and the way back. Never invents an I/O: what cannot be paired is counted.

mod blkparse;
mod files;
mod inflight;
mod layout;
mod merge;
mod pair;
mod reader;
mod record;
mod sort;
#[cfg(test)]
mod tests;
mod write;

pub use files::{FindError, Found, Traces, find};
pub use merge::Records;
pub use pair::{Arrival, Counts, DeviceCounts, Pairing, disk_name};
pub use record::{Action, Payload, Record};
pub use sort::{SortError, Sorter};
pub use write::TraceWriter;

/// Why a trace cannot be read further, and where. Everything before it has been read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Damage {
    /// File, or `standard input`.
    pub file: String,
    /// Offset of the record in bytes; for text, `None` (the fault names the line).
    pub offset: Option<u64>,
    /// What is wrong.
    pub fault: Fault,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at offset {offset}: {}", self.file, self.fault),
            None => write!(f, "{}: {}", self.file, self.fault),
        }
    }
}

/// Kinds of damage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is no blktrace file.
    #[error("not a blktrace file: it begins with bytes {0:02x?}")]
    NotATrace([u8; 4]),
    /// Something that is no record follows a record.
    #[error("bytes {0:02x?} are not the start of a record; nothing behind them was read")]
    NoRecord([u8; 4]),
    /// A protocol version that is not known.
    #[error("blktrace protocol version {0} is not known; versions 7 and 8 are read")]
    Version(u8),
    /// Two versions or byte orders in one file.
    #[error("a record of {found} follows records of {before}; nothing behind it was read")]
    Mixed {
        /// What stands here.
        found: String,
        /// What stood before.
        before: String,
    },
    /// The last record is not whole.
    #[error("the file ends inside a record: {have} of {need} bytes are there")]
    Truncated {
        /// Bytes that are there.
        have: usize,
        /// Bytes of the record, its payload included.
        need: usize,
    },
    /// A line that is not blkparse's default format.
    #[error(
        "line {line} is not in blkparse's default format, which is the only text that is read \
         (\"230,0 1 42 0.000123456 1234 Q WS 12345678 + 16 [qemu-kvm]\"): {text:?}{hint}"
    )]
    OtherText {
        /// Number of the line, from 1.
        line: u64,
        /// Its beginning.
        text: String,
        /// What it looks like instead, and what to do; may be empty.
        hint: &'static str,
    },
    /// Lines among blkparse's that cannot be read; all others were.
    #[error(
        "{lines} lines are not in blkparse's default format and were left out, the first is line {first}: {text:?}"
    )]
    LinesLeftOut {
        /// How many.
        lines: u64,
        /// Number of the first one, from 1.
        first: u64,
        /// Its beginning.
        text: String,
    },
    /// Text beside other files: its clock starts at 0, theirs at boot.
    #[error(
        "blkparse text is read alone, not merged with other files: its times count from its own start"
    )]
    TextAmongSeveral,
    /// No record at all.
    #[error("holds no record")]
    Empty,
    /// The operating system failed.
    #[error("cannot read: {0}")]
    Read(String),
}

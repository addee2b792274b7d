//! Captures in the formats of other tools: blktrace, fio, Parquet.
//!
//! Reads any [`Source`] to its end and writes files, each whole or not at all. What a format
//! cannot hold is said in the [`Summary`], never dropped in silence.

mod blktrace;
mod fio;
mod parquet;
mod walk;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::{blktrace::SortError, output::OutputError, source::Source};

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// blktrace, version 7: `PATH.blktrace.0`.
    Blktrace,
    /// A fio iolog, version 3, and two job files: `PATH`, `PATH.replay.fio`,
    /// `PATH.summary.fio`.
    Fio,
    /// Parquet: `PATH`.
    Parquet,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files, the main one first.
    pub files: Vec<PathBuf>,
    /// I/Os that were read.
    pub ios: u64,
    /// What the reader of the files should know: what the capture lacks, what the format
    /// cannot hold, how to go on. One sentence each.
    pub notes: Vec<String>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The capture cannot be read at all.
    #[error("{0:#}")]
    Source(anyhow::Error),
    /// The capture holds nothing to write.
    #[error("the capture holds no I/O{0}; nothing was written")]
    Nothing(&'static str),
    /// Sorting needs temporary files.
    #[error("{0}; point TMPDIR to a folder with more room")]
    Sort(#[from] SortError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Reads `source` to its end and writes it to `path` as `to` says.
///
/// # Errors
/// When the source gives nothing, or a file cannot be written; no file is left half-written.
pub fn export(source: &mut dyn Source, to: Target, path: &Path) -> Result<Summary, ExportError> {
    match to {
        Target::Blktrace => blktrace::export(source, path),
        Target::Fio => fio::export(source, path),
        Target::Parquet => parquet::export(source, path),
    }
}

/// `path` with `suffix` behind its name.
fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

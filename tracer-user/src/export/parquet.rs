//! A capture as Parquet: one row an I/O, in the order in which the capture holds them.
//!
//! Columns and example queries stand in `docs/parquet.md`; columns may be added, never renamed.

mod columns;

use std::{fs::File, io, path::Path};

use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties},
};

use crate::{input::Start, output::replace_file, source::Source};

use super::{
    ExportError, Summary,
    walk::{Capture, walk},
};
use columns::Columns;

/// Version of the columns, in the file's metadata.
const SCHEMA: &str = "zvoltrace.events/1";
/// Rows that are handed to the writer at once.
const BATCH_ROWS: usize = 16_384;
/// Rows of a row group: what a reader skips or reads as a whole.
const GROUP_ROWS: usize = 1 << 19;

pub(super) fn export(source: &mut dyn Source, path: &Path) -> Result<Summary, ExportError> {
    // The file is written while the source is read. When the source fails, that is the error,
    // not what became of the file.
    let mut capture = None;
    let mut source_failed = None;
    let replaced = replace_file(path, |file| match write(source, file) {
        Ok(read) => {
            capture = Some(read);
            Ok(())
        }
        Err(Failed::Write(error)) => Err(error),
        Err(Failed::Read(error)) => {
            source_failed = Some(error);
            Err(io::Error::other("the capture cannot be read"))
        }
    });
    if let Some(error) = source_failed {
        return Err(error);
    }
    replaced?;
    let capture = capture.unwrap_or_default();
    Ok(Summary {
        files: vec![path.to_owned()],
        ios: capture.ios,
        notes: capture.notes,
    })
}

/// Which side failed.
enum Failed {
    Read(ExportError),
    Write(io::Error),
}

impl From<ExportError> for Failed {
    fn from(error: ExportError) -> Self {
        Self::Read(error)
    }
}

impl From<ParquetError> for Failed {
    fn from(error: ParquetError) -> Self {
        Self::Write(match error {
            // The system's own error: its kind tells what to do.
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(error) => io::Error::other(error),
            },
            error => io::Error::other(error),
        })
    }
}

fn write(source: &mut dyn Source, file: &mut File) -> Result<Capture, Failed> {
    let schema = columns::schema();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(format!("zvoltrace {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
    let mut columns = Columns::new(schema);
    let capture = walk(
        source,
        |_| {},
        |capture, device, event| {
            columns.push(capture.start.as_ref(), device, event);
            if columns.rows() >= BATCH_ROWS {
                writer.write(&columns.take()?)?;
            }
            Ok::<_, Failed>(())
        },
    )?;
    if capture.ios == 0 {
        return Err(ExportError::Nothing("").into());
    }
    writer.write(&columns.take()?)?;
    for entry in metadata(&capture) {
        writer.append_key_value_metadata(entry);
    }
    writer.close()?;
    Ok(capture)
}

fn metadata(capture: &Capture) -> Vec<KeyValue> {
    let entry =
        |key: &str, value: &str| KeyValue::new(format!("zvoltrace.{key}"), value.to_owned());
    let mut entries = vec![
        entry("schema", SCHEMA),
        entry("tool_version", env!("CARGO_PKG_VERSION")),
        // Empty when the capture is complete.
        entry("incomplete", &capture.notes.join("\n")),
    ];
    if let Some(Start { host, clock, .. }) = &capture.start {
        entries.extend([
            entry("hostname", &host.hostname),
            entry("kernel", &host.kernel),
            entry(
                "zfs_version",
                host.zfs_version.as_deref().unwrap_or_default(),
            ),
            entry("clock", clock),
        ]);
    }
    entries
}

//! Writing of a recording: inputs become rows, rows become batches, batches go to a part.
//!
//! Owns the order of rows and the change from one part to the next. It knows no clock: whoever
//! drives it calls [`Writer::flush`] when a batch gets too old.

use std::{io, path::PathBuf};

use arrow_ipc::{
    CompressionType, MetadataVersion,
    writer::{IpcWriteOptions, StreamWriter},
};
use arrow_schema::ArrowError;

use super::{
    batch::BatchBuilder,
    file::{Parts, Sink},
    payload::Control,
    position::Position,
    schema::{Identity, schema},
};
use crate::{event::Event, input::Input};

/// zstd level. Higher levels gain under 3 % on these columns and take several times as long.
const ZSTD_LEVEL: i32 = 1;
/// Room that is left for the closing of a part.
const CLOSING_BYTES: u64 = 16 << 10;
/// JSON text of one row that a reader still takes.
pub(crate) const MAX_ROW_JSON_BYTES: usize = 16 << 20;

/// Why a recording cannot go on. What is on disk already stays readable.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file could not be created.
    #[error("cannot record to {}: {source}", path.display())]
    Create {
        /// Its name.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(
        "recording stopped: cannot write {}: {source}; the first {kept_bytes} bytes are kept and readable",
        path.display()
    )]
    Write {
        /// Its name.
        path: PathBuf,
        /// Bytes up to the last whole batch.
        kept_bytes: u64,
        /// Cause.
        source: io::Error,
    },
    /// A row that no reader would take.
    #[error("recording stopped: a row of {bytes} bytes of JSON is too long")]
    RowTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The Arrow library refused a batch.
    #[error("recording stopped: cannot encode a batch: {0}")]
    Encode(#[from] ArrowError),
    /// A value has no JSON.
    #[error("recording stopped: cannot encode a row: {0}")]
    Json(#[from] serde_json::Error),
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events.
    pub events: u64,
    /// Bytes, all parts together, those that were removed again included.
    pub bytes: u64,
    /// Parts, those that were removed again included.
    pub parts: u32,
}

/// Writes inputs to the parts of a recording.
pub(crate) struct Writer {
    parts: Box<dyn Parts>,
    max_bytes: Option<u64>,
    identity: Identity,
    builder: BatchBuilder,
    /// The encoder of the part and the bytes it has made but that are not written yet.
    stream: StreamWriter<Vec<u8>>,
    sink: Box<dyn Sink>,
    part_bytes: u64,
    largest_batch_bytes: u64,
    position: Position,
    written: Written,
    unwritten_events: u64,
}

impl Writer {
    /// Opens the first part and writes its schema. With `max_bytes` a part is closed, and the
    /// next one begun, when the next batch might not fit into that size any more.
    pub(crate) fn open(
        mut parts: Box<dyn Parts>,
        max_bytes: Option<u64>,
        identity: Identity,
    ) -> Result<Self, RecordError> {
        let (stream, sink) = open_part(&mut *parts, &identity)?;
        let mut writer = Self {
            builder: BatchBuilder::new(schema(&identity)),
            parts,
            max_bytes,
            identity,
            stream,
            sink,
            part_bytes: 0,
            largest_batch_bytes: 0,
            position: Position::default(),
            written: Written {
                parts: 1,
                ..Written::default()
            },
            unwritten_events: 0,
        };
        writer.write_out()?;
        Ok(writer)
    }

    /// What is on disk.
    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// Whether every row is on disk.
    pub(crate) fn is_flushed(&self) -> bool {
        self.builder.is_empty()
    }

    /// Adds an input; full batches are written.
    pub(crate) fn push(&mut self, input: Input) -> Result<(), RecordError> {
        if let Input::Events(events) = &input {
            return events.iter().try_for_each(|event| self.push_event(event));
        }
        Control::from_input(input).map_or(Ok(()), |control| self.push_control(&control))
    }

    fn push_event(&mut self, event: &Event) -> Result<(), RecordError> {
        if !self.builder.has_room_for(event) {
            self.flush()?;
            self.builder.forget();
        }
        self.builder.push_event(event);
        self.unwritten_events += 1;
        if self.max_bytes.is_some() {
            self.position.observe_event(event);
        }
        self.flush_when_full()
    }

    fn push_control(&mut self, control: &Control) -> Result<(), RecordError> {
        self.push_row(control)?;
        if self.max_bytes.is_some() {
            self.position.observe_control(control);
        }
        self.flush_when_full()
    }

    fn push_row(&mut self, control: &Control) -> Result<(), RecordError> {
        let json = control.to_json()?;
        if json.len() > MAX_ROW_JSON_BYTES {
            return Err(RecordError::RowTooLong { bytes: json.len() });
        }
        self.builder.push_control(control, &json);
        Ok(())
    }

    fn flush_when_full(&mut self) -> Result<(), RecordError> {
        if self.builder.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what has been added, and begins the next part when this one is full.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.write_batch()?;
        let full = self
            .max_bytes
            .is_some_and(|max| self.part_bytes + self.largest_batch_bytes + CLOSING_BYTES > max);
        if full {
            self.next_part()?;
        }
        Ok(())
    }

    /// Writes the rest and the end marker of the stream.
    pub(crate) fn finish(&mut self) -> Result<(), RecordError> {
        if !self.builder.is_empty() {
            self.write_batch()?;
        }
        self.stream.finish()?;
        self.write_out()
    }

    fn next_part(&mut self) -> Result<(), RecordError> {
        let preface = self.position.preface();
        if preface.is_empty() {
            return Ok(());
        }
        self.push_row(&Control::PartEnd(self.position.boundary()))?;
        self.finish()?;

        self.identity.part += 1;
        (self.stream, self.sink) = open_part(&mut *self.parts, &self.identity)?;
        self.builder = BatchBuilder::new(schema(&self.identity));
        self.part_bytes = 0;
        self.written.parts += 1;
        for control in &preface {
            self.push_row(control)?;
            if self.builder.is_full() {
                self.write_batch()?;
            }
        }
        if !self.builder.is_empty() {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), RecordError> {
        let batch = self.builder.finish()?;
        self.stream.write(&batch)?;
        let bytes = self.stream.get_ref().len() as u64;
        self.largest_batch_bytes = self.largest_batch_bytes.max(bytes);
        self.write_out()
    }

    /// Hands the encoded bytes over in one piece, so that a kill tears at most the last batch.
    fn write_out(&mut self) -> Result<(), RecordError> {
        let bytes = self.stream.get_mut();
        if let Err(source) = self.sink.append(bytes) {
            self.sink.cut(self.part_bytes);
            return Err(RecordError::Write {
                path: self.parts.name(self.identity.part),
                kept_bytes: self.part_bytes,
                source,
            });
        }
        self.part_bytes += bytes.len() as u64;
        self.written.bytes += bytes.len() as u64;
        self.written.events += std::mem::take(&mut self.unwritten_events);
        bytes.clear();
        Ok(())
    }
}

/// The encoder of a part, and where its bytes go.
type Part = (StreamWriter<Vec<u8>>, Box<dyn Sink>);

fn open_part(parts: &mut dyn Parts, identity: &Identity) -> Result<Part, RecordError> {
    let sink = parts
        .open(identity.part)
        .map_err(|source| RecordError::Create {
            path: parts.name(identity.part),
            source,
        })?;
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?
        .try_with_compression(Some(CompressionType::ZSTD))?
        .try_with_compression_level(Some(ZSTD_LEVEL))?;
    let stream = StreamWriter::try_new_with_options(Vec::new(), &schema(identity), options)?;
    Ok((stream, sink))
}

//! Arrow IPC messages cut out of a byte stream, and checked before Arrow's reader sees them.
//!
//! Owns the trust boundary of the format. Lengths come from the file and may lie, and Arrow's
//! reader asserts or allocates by some of them; so every length is checked here against what
//! the columns can need. Nothing is allocated for bytes that have not arrived.

use std::io::{self, Read};

use arrow_ipc::{Endianness, Message, MessageHeader, MetadataVersion, RecordBatch};
use arrow_schema::{DataType, Field};

use super::schema::fields;

/// Largest header of a message. Ours are under 4 KiB.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Largest body of a message. Ours are under 8 MiB.
const MAX_BODY_BYTES: usize = 32 << 20;
/// Most rows of a batch. Ours have 32,768.
const MAX_ROWS: usize = 1 << 18;
/// Longest text of a column in a batch, uncompressed.
const MAX_TEXT_BYTES: usize = 32 << 20;
/// Arrow pads a buffer to at most this.
const MAX_PADDING_BYTES: usize = 64;

const CONTINUATION: [u8; 4] = [0xff; 4];

/// What is wrong at some place of a stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    /// It ends inside a message.
    #[error("cut off in the middle of a message")]
    CutOff,
    /// It does not begin like an Arrow stream.
    #[error("{0}")]
    Foreign(String),
    /// It is damaged.
    #[error("{0}")]
    Damaged(String),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

/// One whole message: continuation marker, length, header, body.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    header_at: usize,
    body_at: usize,
}

/// What follows in a stream.
pub(crate) enum Next {
    Message(Frame),
    /// The end marker.
    EndMarker,
    /// The stream stops between two messages: its writer was killed.
    Nothing,
}

impl Frame {
    /// The header, verified anew; it was verified when the frame was read.
    pub(crate) fn message(&self) -> Result<Message<'_>, MessageError> {
        let header = &self.bytes[self.header_at..self.body_at];
        arrow_ipc::root_as_message(header)
            .map_err(|error| MessageError::Damaged(format!("message header: {error}")))
    }

    fn body(&self) -> &[u8] {
        &self.bytes[self.body_at..]
    }
}

/// Reads one message.
pub(crate) fn read_message(from: &mut impl Read) -> Result<Next, MessageError> {
    let mut bytes = Vec::new();
    take(from, 4, &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Next::Nothing);
    }
    if bytes.len() < 4 {
        return Err(MessageError::CutOff);
    }
    if bytes != CONTINUATION {
        return Err(MessageError::Foreign(foreign(&bytes)));
    }
    take_all(from, 4, &mut bytes)?;
    let [.., a, b, c, d] = bytes[..] else {
        return Err(MessageError::CutOff);
    };
    let length = i32::from_le_bytes([a, b, c, d]);
    if length == 0 {
        return Ok(Next::EndMarker);
    }
    let header_bytes = bounded(i64::from(length), MAX_HEADER_BYTES, "message header")?;
    let header_at = bytes.len();
    take_all(from, header_bytes, &mut bytes)?;
    let mut frame = Frame {
        header_at,
        body_at: bytes.len(),
        bytes,
    };
    let body_bytes = bounded(
        frame.message()?.bodyLength(),
        MAX_BODY_BYTES,
        "message body",
    )?;
    take_all(from, body_bytes, &mut frame.bytes)?;
    Ok(Next::Message(frame))
}

fn foreign(start: &[u8]) -> String {
    match start {
        b"ARRO" => "an Arrow file, not an Arrow stream; zvoltrace records streams",
        b"PAR1" => "a Parquet file, not a recording",
        [b'{' | b'[', ..] => "text (JSON?), not a recording",
        _ => "no message of an Arrow stream here",
    }
    .to_owned()
}

/// Appends up to `count` bytes, fewer only at the end of the stream.
fn take(from: &mut impl Read, count: usize, to: &mut Vec<u8>) -> Result<usize, MessageError> {
    let mut part = from.take(count as u64);
    part.read_to_end(to).map_err(MessageError::Io)
}

fn take_all(from: &mut impl Read, count: usize, to: &mut Vec<u8>) -> Result<(), MessageError> {
    if take(from, count, to)? < count {
        return Err(MessageError::CutOff);
    }
    Ok(())
}

fn bounded(value: i64, most: usize, what: &str) -> Result<usize, MessageError> {
    usize::try_from(value)
        .ok()
        .filter(|value| *value <= most)
        .ok_or_else(|| MessageError::Damaged(format!("{what} of {value} bytes (most: {most})")))
}

/// Checks the first message: a schema in this machine's byte order.
pub(crate) fn check_schema(frame: &Frame) -> Result<arrow_schema::Schema, MessageError> {
    let message = frame.message()?;
    let schema = message
        .header_as_schema()
        .ok_or_else(|| MessageError::Damaged("does not begin with a schema".to_owned()))?;
    if schema.endianness() != Endianness::Little {
        return Err(MessageError::Damaged(
            "big-endian Arrow data; rewrite it on a little-endian machine".to_owned(),
        ));
    }
    arrow_ipc::convert::try_fb_to_schema(schema)
        .map_err(|error| MessageError::Damaged(format!("schema: {error}")))
}

/// Number of the dictionary of each column, in the order of the columns.
pub(crate) fn dictionary_numbers(frame: &Frame) -> Result<Vec<Option<i64>>, MessageError> {
    let message = frame.message()?;
    let fields = message
        .header_as_schema()
        .and_then(|schema| schema.fields());
    let fields = fields.into_iter().flatten();
    Ok(fields
        .map(|field| field.dictionary().map(|d| d.id()))
        .collect())
}

/// What a message behind the schema is.
pub(crate) enum Content {
    Rows,
    Dictionary,
}

/// Checks a message behind the schema: every length in it against the columns.
pub(crate) fn check_content(
    frame: &Frame,
    dictionaries: &[Option<i64>],
) -> Result<Content, MessageError> {
    let message = frame.message()?;
    if message.version() != MetadataVersion::V5 {
        return Err(damaged("a message of another Arrow version"));
    }
    match message.header_type() {
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch();
            let batch = batch.ok_or_else(|| damaged("a batch without content"))?;
            check_batch(&batch, frame.body(), &fields())?;
            Ok(Content::Rows)
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch();
            let dictionary = dictionary.ok_or_else(|| damaged("a dictionary without content"))?;
            if dictionary.isDelta() {
                return Err(damaged("a dictionary that continues another"));
            }
            let column = dictionaries
                .iter()
                .position(|id| *id == Some(dictionary.id()));
            let values = column.and_then(|column| dictionary_values(&fields()[column]));
            let values = values.ok_or_else(|| damaged("a dictionary of no column"))?;
            let batch = dictionary.data();
            let batch = batch.ok_or_else(|| damaged("a dictionary without values"))?;
            check_batch(&batch, frame.body(), &[values])?;
            Ok(Content::Dictionary)
        }
        MessageHeader::Schema => Err(damaged("a second schema: files joined end to end?")),
        other => Err(MessageError::Damaged(format!(
            "unexpected message {other:?}"
        ))),
    }
}

fn damaged(what: &str) -> MessageError {
    MessageError::Damaged(what.to_owned())
}

fn dictionary_values(field: &Field) -> Option<Field> {
    match field.data_type() {
        DataType::Dictionary(_, values) => Some(Field::new("", (**values).clone(), true)),
        _ => None,
    }
}

/// Checks the lengths of a batch: those of its columns and of their buffers, compressed and
/// uncompressed.
fn check_batch(
    batch: &RecordBatch<'_>,
    body: &[u8],
    columns: &[Field],
) -> Result<(), MessageError> {
    let rows = bounded(batch.length(), MAX_ROWS, "batch")?;
    let compressed = match batch.compression() {
        None => false,
        Some(compression) if compression.codec() == arrow_ipc::CompressionType::ZSTD => true,
        Some(other) => {
            let codec = other.codec();
            return Err(MessageError::Damaged(format!(
                "compression {codec:?}, not zstd"
            )));
        }
    };
    let nodes = batch
        .nodes()
        .ok_or_else(|| damaged("a batch without columns"))?;
    let buffers = batch
        .buffers()
        .ok_or_else(|| damaged("a batch without buffers"))?;
    if nodes.len() != columns.len() {
        return Err(damaged("a batch with another number of columns"));
    }
    let mut buffers = buffers.iter();
    for (node, column) in nodes.iter().zip(columns) {
        let nulls = bounded(node.null_count(), rows, "count of nulls")?;
        if bounded(node.length(), MAX_ROWS, "column")? != rows {
            return Err(damaged("a column of another length than its batch"));
        }
        for needed in buffer_sizes(column.data_type(), rows, nulls) {
            let buffer = buffers
                .next()
                .ok_or_else(|| damaged("a batch lacks a buffer"))?;
            let offset = bounded(buffer.offset(), body.len(), "offset of a buffer")?;
            let length = bounded(buffer.length(), body.len() - offset, "buffer")?;
            let bytes = uncompressed_bytes(&body[offset..offset + length], compressed)?;
            let whole = bytes.is_multiple_of(needed.unit);
            if bytes < needed.least || bytes > needed.most || !whole {
                return Err(MessageError::Damaged(format!(
                    "a buffer of column `{}` of {bytes} bytes, for {rows} rows",
                    column.name()
                )));
            }
        }
    }
    if buffers.next().is_some() || batch.variadicBufferCounts().is_some_and(|c| !c.is_empty()) {
        return Err(damaged("a batch with more buffers than columns need"));
    }
    Ok(())
}

/// Size of a buffer as it will be in memory. A compressed buffer begins with it; -1 there means
/// that it was left uncompressed.
fn uncompressed_bytes(buffer: &[u8], compressed: bool) -> Result<usize, MessageError> {
    if !compressed || buffer.is_empty() {
        return Ok(buffer.len());
    }
    let (size, rest) = buffer
        .split_first_chunk()
        .ok_or_else(|| damaged("a compressed buffer without its size"))?;
    match i64::from_le_bytes(*size) {
        -1 => Ok(rest.len()),
        size => bounded(size, MAX_TEXT_BYTES, "buffer"),
    }
}

/// Bounds of the size of a buffer, and the unit of which it is a multiple: Arrow asserts that
/// there is no rest.
struct Needed {
    least: usize,
    most: usize,
    unit: usize,
}

impl Needed {
    /// `count` values of `unit` bytes, with or without padding.
    fn values(count: usize, unit: usize) -> Self {
        let bytes = count * unit;
        Self {
            least: bytes,
            most: bytes + MAX_PADDING_BYTES,
            unit,
        }
    }
}

/// What the buffers of a column need, in the order in which they stand in a batch: validity,
/// then offsets where there are any, then values.
fn buffer_sizes(data_type: &DataType, rows: usize, nulls: usize) -> Vec<Needed> {
    let mut validity = Needed::values(rows.div_ceil(8), 1);
    if nulls == 0 {
        validity.least = 0;
    }
    let width = match data_type {
        DataType::Dictionary(index, _) => index.primitive_width(),
        other => other.primitive_width(),
    };
    if let Some(width) = width {
        return vec![validity, Needed::values(rows, width)];
    }
    let mut offsets = Needed::values(rows + 1, size_of::<i32>());
    if rows == 0 {
        // An empty column may leave out its one offset.
        offsets.least = 0;
    }
    let text = Needed {
        least: 0,
        most: MAX_TEXT_BYTES,
        unit: 1,
    };
    vec![validity, offsets, text]
}

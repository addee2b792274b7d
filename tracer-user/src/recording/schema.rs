//! The columns of a recording and the metadata of its schema.
//!
//! Owns the one place where names and types of columns stand; `docs/recording.md` explains them
//! to other programs. A change of any column raises [`VERSION`].

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// Version of the format, the value of the metadata key [`VERSION_KEY`].
pub const VERSION: u32 = 1;
/// Metadata key of the format's version; its presence makes an Arrow stream a recording.
pub(super) const VERSION_KEY: &str = "zvoltrace.recording";
/// Metadata key of the version of the tool that wrote the file.
pub(super) const TOOL_KEY: &str = "zvoltrace.version";
/// Metadata key of the capture's identity: parts of one rotated recording share it.
pub(super) const CAPTURE_KEY: &str = "zvoltrace.capture";
/// Metadata key of the part's number, from 1.
pub(super) const PART_KEY: &str = "zvoltrace.part";

/// Position of each column.
pub(crate) mod column {
    pub(crate) const KIND: usize = 0;
    pub(crate) const START_NS: usize = 1;
    pub(crate) const QUEUE_NS: usize = 2;
    pub(crate) const SERVICE_NS: usize = 3;
    pub(crate) const DEVICE: usize = 4;
    pub(crate) const OFFSET_BYTES: usize = 5;
    pub(crate) const BYTES: usize = 6;
    pub(crate) const OP: usize = 7;
    pub(crate) const FLAGS: usize = 8;
    pub(crate) const ERROR: usize = 9;
    pub(crate) const PID: usize = 10;
    pub(crate) const TID: usize = 11;
    pub(crate) const COMM: usize = 12;
    pub(crate) const CPU: usize = 13;
    pub(crate) const JSON: usize = 14;
}

/// What sets one file apart from another, kept in the schema's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// Identity of the capture.
    pub capture: String,
    /// Number of the part, from 1; a recording that is not rotated is part 1.
    pub part: u32,
}

/// The columns, without metadata.
pub(crate) fn fields() -> Vec<Field> {
    let coded =
        |index: DataType, value: DataType| DataType::Dictionary(Box::new(index), Box::new(value));
    // Words and submitters are few, so their rows shrink to an index; kind, op and flags can
    // never need more than 256 in a batch (the writer starts a new one before that).
    let word = || coded(DataType::UInt8, DataType::Utf8);
    vec![
        Field::new("kind", word(), false),
        Field::new("start_ns", DataType::UInt64, true),
        Field::new("queue_ns", DataType::Int64, true),
        Field::new("service_ns", DataType::Int64, true),
        Field::new("device", DataType::UInt32, true),
        Field::new("offset_bytes", DataType::UInt64, true),
        Field::new("bytes", DataType::UInt32, true),
        Field::new("op", word(), true),
        Field::new("flags", word(), true),
        Field::new("error", DataType::UInt16, true),
        Field::new("pid", coded(DataType::UInt16, DataType::UInt32), true),
        Field::new("tid", coded(DataType::UInt16, DataType::UInt32), true),
        Field::new("comm", coded(DataType::UInt16, DataType::Utf8), true),
        Field::new("cpu", DataType::UInt16, true),
        Field::new("json", DataType::Utf8, true),
    ]
}

/// The schema of a file.
pub(crate) fn schema(identity: &Identity) -> SchemaRef {
    let metadata = HashMap::from([
        (VERSION_KEY.to_owned(), VERSION.to_string()),
        (TOOL_KEY.to_owned(), identity.tool_version.clone()),
        (CAPTURE_KEY.to_owned(), identity.capture.clone()),
        (PART_KEY.to_owned(), identity.part.to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields(), metadata))
}

/// Checks that a schema is one of ours, column by column.
///
/// # Errors
/// What is wrong with it, in words that follow "FILE: ".
pub(crate) fn check(schema: &Schema) -> Result<Identity, String> {
    let metadata = schema.metadata();
    let version = metadata
        .get(VERSION_KEY)
        .ok_or("an Arrow stream, but no zvoltrace recording (its schema does not say so)")?;
    if version.parse() != Ok(VERSION) {
        return Err(format!(
            "recording format version {version}; this zvoltrace reads version {VERSION}: use the \
             one that wrote it ({})",
            metadata.get(TOOL_KEY).map_or("not named", String::as_str)
        ));
    }
    let expected = fields();
    if schema.fields().len() != expected.len() {
        return Err(format!(
            "{} columns instead of {}",
            schema.fields().len(),
            expected.len()
        ));
    }
    for (found, expected) in schema.fields().iter().zip(&expected) {
        if found.name() != expected.name() || found.data_type() != expected.data_type() {
            return Err(format!(
                "column `{}` of type {} instead of `{}` of type {}",
                found.name(),
                found.data_type(),
                expected.name(),
                expected.data_type()
            ));
        }
    }
    Ok(Identity {
        tool_version: metadata.get(TOOL_KEY).cloned().unwrap_or_default(),
        capture: metadata.get(CAPTURE_KEY).cloned().unwrap_or_default(),
        part: metadata
            .get(PART_KEY)
            .and_then(|part| part.parse().ok())
            .unwrap_or(1),
    })
}

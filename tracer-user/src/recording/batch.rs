//! Rows on their way into a recording: collected column by column, then one Arrow batch.
//!
//! Owns the limits of a batch and its dictionaries. It knows neither files nor time.

use std::{hash::Hash, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt32Array,
    builder::{
        Int64Builder, PrimitiveBuilder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
    },
    types::{ArrowDictionaryKeyType, UInt8Type, UInt16Type},
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, SchemaRef};
use rustc_hash::FxHashMap;

use super::{
    payload::{Control, Kind},
    words::{comm_text, flag_words, op_word},
};
use crate::event::{Comm, Event, Flags, Op};

/// Most rows of a batch: large enough that a batch's header costs nothing, small enough that
/// reader and writer stay in a few MiB.
pub(crate) const MAX_ROWS: usize = 32_768;
/// JSON text of a batch, in bytes, beyond which it is full.
const MAX_JSON_BYTES: usize = 4 << 20;
/// A dictionary with more entries than this starts afresh with the next batch, since it is
/// written again whole whenever it has grown.
const KEPT_ENTRIES: usize = 256;

/// The distinct values of one column and their index.
#[derive(Debug)]
struct Dictionary<T, K: ArrowDictionaryKeyType> {
    values: Vec<T>,
    index: FxHashMap<T, K::Native>,
    /// The last value and its index: runs of one value are the rule.
    last: Option<(T, K::Native)>,
    keys: PrimitiveBuilder<K>,
    /// The values as Arrow holds them, kept while they do not change: the writer tells by the
    /// pointer that they need not be written again.
    array: Option<ArrayRef>,
}

impl<T: Copy + Eq + Hash, K: ArrowDictionaryKeyType> Dictionary<T, K> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            index: FxHashMap::default(),
            last: None,
            keys: PrimitiveBuilder::new(),
            array: None,
        }
    }

    /// Whether a value has an index or can get one.
    fn has_room_for(&self, value: T) -> bool {
        K::Native::from_usize(self.values.len()).is_some() || self.index.contains_key(&value)
    }

    /// Index of a value, which is added to the dictionary when it is new and there is room.
    fn key(&mut self, value: T) -> Option<K::Native> {
        if let Some((last, key)) = self.last
            && last == value
        {
            return Some(key);
        }
        let key = if let Some(key) = self.index.get(&value) {
            *key
        } else {
            let key = K::Native::from_usize(self.values.len())?;
            self.values.push(value);
            self.index.insert(value, key);
            self.array = None;
            key
        };
        self.last = Some((value, key));
        Some(key)
    }

    fn append(&mut self, value: T) {
        let key = self.key(value);
        self.keys.append_option(key);
    }

    /// The rows since the last time as a column; `encode` turns the values into Arrow's.
    fn finish(&mut self, encode: impl Fn(&[T]) -> ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = &self.values;
        let array = self.array.get_or_insert_with(|| encode(values));
        let column = DictionaryArray::<K>::try_new(self.keys.finish(), Arc::clone(array))?;
        if self.values.len() > KEPT_ENTRIES {
            self.forget();
        }
        Ok(Arc::new(column))
    }

    fn forget(&mut self) {
        self.values.clear();
        self.index.clear();
        self.last = None;
        self.array = None;
    }
}

fn strings<T: Copy, S: AsRef<str>>(text: impl Fn(T) -> S) -> impl Fn(&[T]) -> ArrayRef {
    move |values| {
        let words = values.iter().map(|value| text(*value));
        Arc::new(StringArray::from_iter_values(words))
    }
}

fn numbers(values: &[u32]) -> ArrayRef {
    Arc::new(UInt32Array::from(values.to_vec()))
}

/// Columns under construction.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    schema: SchemaRef,
    rows: usize,
    json_bytes: usize,
    kind: Dictionary<Kind, UInt8Type>,
    start_ns: UInt64Builder,
    queue_ns: Int64Builder,
    service_ns: Int64Builder,
    device: UInt32Builder,
    offset_bytes: UInt64Builder,
    bytes: UInt32Builder,
    op: Dictionary<Op, UInt8Type>,
    flags: Dictionary<Flags, UInt8Type>,
    error: UInt16Builder,
    pid: Dictionary<u32, UInt16Type>,
    tid: Dictionary<u32, UInt16Type>,
    comm: Dictionary<Comm, UInt16Type>,
    cpu: UInt16Builder,
    json: StringBuilder,
}

impl BatchBuilder {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        let mut kind = Dictionary::new();
        // All of them at once, so that this dictionary is written once.
        for known in Kind::ALL {
            kind.key(known);
        }
        Self {
            schema,
            rows: 0,
            json_bytes: 0,
            kind,
            start_ns: UInt64Builder::new(),
            queue_ns: Int64Builder::new(),
            service_ns: Int64Builder::new(),
            device: UInt32Builder::new(),
            offset_bytes: UInt64Builder::new(),
            bytes: UInt32Builder::new(),
            op: Dictionary::new(),
            flags: Dictionary::new(),
            error: UInt16Builder::new(),
            pid: Dictionary::new(),
            tid: Dictionary::new(),
            comm: Dictionary::new(),
            cpu: UInt16Builder::new(),
            json: StringBuilder::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the batch has to be finished before anything is added.
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS || self.json_bytes >= MAX_JSON_BYTES
    }

    /// Whether every dictionary takes this event; when not, the batch has to be finished and
    /// [`Self::forget`] called first.
    pub(crate) fn has_room_for(&self, event: &Event) -> bool {
        self.op.has_room_for(event.op)
            && self.flags.has_room_for(event.flags)
            && self.pid.has_room_for(event.pid)
            && self.tid.has_room_for(event.tid)
            && self.comm.has_room_for(event.comm)
    }

    /// Adds an I/O.
    pub(crate) fn push_event(&mut self, event: &Event) {
        let issued = event.issue_ns.unwrap_or(event.start_ns);
        // Wrapping, so that a time that runs backwards survives: it shows as a negative
        // duration.
        let queue_ns = event
            .issue_ns
            .map(|issue| issue.wrapping_sub(event.start_ns).cast_signed());
        self.kind.append(Kind::Io);
        self.start_ns.append_value(event.start_ns);
        self.queue_ns.append_option(queue_ns);
        self.service_ns
            .append_value(event.end_ns.wrapping_sub(issued).cast_signed());
        self.device.append_value(event.device.0);
        self.offset_bytes.append_value(event.offset_bytes);
        self.bytes.append_value(event.bytes);
        self.op.append(event.op);
        self.flags.append(event.flags);
        self.error.append_value(event.errno);
        self.pid.append(event.pid);
        self.tid.append(event.tid);
        self.comm.append(event.comm);
        self.cpu.append_value(event.cpu);
        self.json.append_null();
        self.rows += 1;
    }

    /// Adds a row that is no I/O, with its JSON.
    pub(crate) fn push_control(&mut self, control: &Control, json: &str) {
        self.kind.append(control.kind());
        self.start_ns.append_option(control.at_ns());
        self.queue_ns.append_null();
        self.service_ns.append_null();
        self.device
            .append_option(control.device().map(|device| device.0));
        self.offset_bytes.append_null();
        self.bytes.append_null();
        self.op.keys.append_null();
        self.flags.keys.append_null();
        self.error.append_null();
        self.pid.keys.append_null();
        self.tid.keys.append_null();
        self.comm.keys.append_null();
        self.cpu.append_null();
        self.json.append_value(json);
        self.json_bytes += json.len();
        self.rows += 1;
    }

    /// The rows since the last time as one batch, in the order in which they were added.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        self.json_bytes = 0;
        let columns: Vec<ArrayRef> = vec![
            self.kind.finish(strings(Kind::word))?,
            Arc::new(self.start_ns.finish()),
            Arc::new(self.queue_ns.finish()),
            Arc::new(self.service_ns.finish()),
            Arc::new(self.device.finish()),
            Arc::new(self.offset_bytes.finish()),
            Arc::new(self.bytes.finish()),
            self.op.finish(strings(op_word))?,
            self.flags.finish(strings(flag_words))?,
            Arc::new(self.error.finish()),
            self.pid.finish(numbers)?,
            self.tid.finish(numbers)?,
            self.comm.finish(strings(comm_text))?,
            Arc::new(self.cpu.finish()),
            Arc::new(self.json.finish()),
        ];
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    /// Empties the dictionaries; only between batches.
    pub(crate) fn forget(&mut self) {
        self.op.forget();
        self.flags.forget();
        self.pid.forget();
        self.tid.forget();
        self.comm.forget();
    }
}

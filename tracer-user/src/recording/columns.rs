//! The columns of one batch, and the rows that they make.
//!
//! Owns the way from Arrow's columns to events and other rows. Each column is looked up and each
//! dictionary decoded once a batch, so that a row costs only its reads.

use std::ops::Range;

use arrow_array::{
    Array, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
    cast::AsArray,
    types::{ArrowDictionaryKeyType, UInt8Type, UInt16Type, UInt32Type},
};
use arrow_buffer::{ArrowNativeType, NullBuffer};

use super::{
    payload::{Control, Kind},
    schema::column,
    words::{parse_comm, parse_flags, parse_op},
};
use crate::event::{Comm, DeviceId, Event, Flags, Op};

/// What a row, or a run of rows, is.
#[derive(Debug, PartialEq)]
pub(crate) enum Row {
    Events(Vec<Event>),
    Control(Box<Control>),
}

/// A column whose rows are indexes into values that were decoded once.
struct Coded<T, K: ArrowDictionaryKeyType> {
    keys: PrimitiveArray<K>,
    values: Vec<T>,
}

impl<T: Copy, K: ArrowDictionaryKeyType> Coded<T, K> {
    fn new(
        column: &dyn Array,
        decode: impl Fn(&dyn Array) -> Result<Vec<T>, String>,
    ) -> Result<Self, String> {
        let column: &DictionaryArray<K> = column.as_dictionary_opt().ok_or("a column's type")?;
        Ok(Self {
            keys: column.keys().clone(),
            values: decode(column.values())?,
        })
    }

    fn get(&self, row: usize) -> Option<T> {
        self.values.get(self.keys.values()[row].as_usize()).copied()
    }
}

fn words<T>(parse: impl Fn(&str) -> Option<T>) -> impl Fn(&dyn Array) -> Result<Vec<T>, String> {
    move |values| {
        let values = values.as_string_opt::<i32>().ok_or("a dictionary's type")?;
        let parsed = values.iter().map(|word| {
            let word = word.unwrap_or_default();
            parse(word).ok_or_else(|| format!("unknown word `{}`", word.escape_debug()))
        });
        parsed.collect()
    }
}

fn numbers(values: &dyn Array) -> Result<Vec<u32>, String> {
    let values = values
        .as_primitive_opt::<UInt32Type>()
        .ok_or("a dictionary's type")?;
    Ok(values.values().to_vec())
}

/// The columns of one batch, each looked up once, and the next row.
pub(super) struct Columns {
    row: usize,
    rows: usize,
    kind: Coded<Kind, UInt8Type>,
    start_ns: UInt64Array,
    queue_ns: Int64Array,
    service_ns: Int64Array,
    device: UInt32Array,
    offset_bytes: UInt64Array,
    bytes: UInt32Array,
    op: Coded<Op, UInt8Type>,
    flags: Coded<Flags, UInt8Type>,
    error: UInt16Array,
    pid: Coded<u32, UInt16Type>,
    tid: Coded<u32, UInt16Type>,
    comm: Coded<Comm, UInt16Type>,
    cpu: UInt16Array,
    json: StringArray,
}

impl Columns {
    pub(super) fn new(batch: &RecordBatch) -> Result<Self, String> {
        fn plain<A: Array + Clone + 'static>(batch: &RecordBatch, at: usize) -> Result<A, String> {
            let column = batch.column(at).as_any().downcast_ref::<A>();
            column.cloned().ok_or_else(|| "a column's type".to_owned())
        }
        let coded = |at: usize| batch.column(at).as_ref();
        Ok(Self {
            row: 0,
            rows: batch.num_rows(),
            kind: Coded::new(coded(column::KIND), words(Kind::parse))?,
            start_ns: plain(batch, column::START_NS)?,
            queue_ns: plain(batch, column::QUEUE_NS)?,
            service_ns: plain(batch, column::SERVICE_NS)?,
            device: plain(batch, column::DEVICE)?,
            offset_bytes: plain(batch, column::OFFSET_BYTES)?,
            bytes: plain(batch, column::BYTES)?,
            op: Coded::new(coded(column::OP), words(parse_op))?,
            flags: Coded::new(coded(column::FLAGS), words(parse_flags))?,
            error: plain(batch, column::ERROR)?,
            pid: Coded::new(coded(column::PID), numbers)?,
            tid: Coded::new(coded(column::TID), numbers)?,
            comm: Coded::new(coded(column::COMM), words(parse_comm))?,
            cpu: plain(batch, column::CPU)?,
            json: plain(batch, column::JSON)?,
        })
    }

    /// The next run of I/Os, or the next other row.
    pub(super) fn next(&mut self) -> Result<Option<Row>, String> {
        if self.row >= self.rows {
            return Ok(None);
        }
        let kind = self.kind.get(self.row).ok_or("a row without a kind")?;
        if kind == Kind::Io {
            return self.events().map(|events| Some(Row::Events(events)));
        }
        let json = self.json.value(self.row);
        self.row += 1;
        let control = Control::from_json(kind, json).ok_or("a row without a kind")?;
        let control = control.map_err(|error| format!("a row of kind {}: {error}", kind.word()))?;
        Ok(Some(Row::Control(Box::new(control))))
    }

    fn events(&mut self) -> Result<Vec<Event>, String> {
        let first = self.row;
        let run = (first..self.rows).take_while(|row| self.kind.get(*row) == Some(Kind::Io));
        let rows = first..first + run.count();
        self.row = rows.end;
        self.check_nulls(rows.clone())?;
        let (start_ns, service_ns) = (self.start_ns.values(), self.service_ns.values());
        let (queue_ns, queued) = (self.queue_ns.values(), self.queue_ns.nulls());
        let (device, cpu) = (self.device.values(), self.cpu.values());
        let (offset_bytes, bytes) = (self.offset_bytes.values(), self.bytes.values());
        let error = self.error.values();
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            let issue_ns = queued
                .is_none_or(|valid| valid.is_valid(row))
                .then(|| start_ns[row].wrapping_add(queue_ns[row].cast_unsigned()));
            let served_from_ns = issue_ns.unwrap_or(start_ns[row]);
            events.push(Event {
                device: DeviceId(device[row]),
                op: self.op.get(row).ok_or("an I/O without an operation")?,
                flags: self.flags.get(row).ok_or("an I/O without flags")?,
                start_ns: start_ns[row],
                issue_ns,
                end_ns: served_from_ns.wrapping_add(service_ns[row].cast_unsigned()),
                offset_bytes: offset_bytes[row],
                bytes: bytes[row],
                errno: error[row],
                cpu: cpu[row],
                pid: self.pid.get(row).ok_or("an I/O without a process")?,
                tid: self.tid.get(row).ok_or("an I/O without a thread")?,
                comm: self.comm.get(row).ok_or("an I/O without a command")?,
            });
        }
        Ok(events)
    }

    /// An I/O has every value but `queue_ns`.
    fn check_nulls(&self, rows: Range<usize>) -> Result<(), String> {
        let columns: [&dyn Array; 12] = [
            &self.start_ns,
            &self.service_ns,
            &self.device,
            &self.offset_bytes,
            &self.bytes,
            &self.op.keys,
            &self.flags.keys,
            &self.error,
            &self.pid.keys,
            &self.tid.keys,
            &self.comm.keys,
            &self.cpu,
        ];
        let holes = |nulls: &NullBuffer| nulls.slice(rows.start, rows.len()).null_count() > 0;
        if columns
            .iter()
            .any(|column| column.nulls().is_some_and(holes))
        {
            return Err("an I/O with a value missing".to_owned());
        }
        Ok(())
    }
}

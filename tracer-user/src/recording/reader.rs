//! Reading of one file of a recording: bytes become batches, batches become rows, rows become
//! inputs.
//!
//! Owns the checks of what rows say. It holds one batch at a time, whatever the length of the
//! file. After an error nothing more comes; what came before stands.

use std::{io::Read, ops::Range};

use arrow_array::{
    Array, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
    cast::AsArray,
    types::{ArrowDictionaryKeyType, UInt8Type, UInt16Type, UInt32Type},
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_ipc::reader::StreamDecoder;

use super::{
    message::{
        Content, Frame, MessageError, Next, check_content, check_schema, dictionary_numbers,
        read_message,
    },
    payload::{Control, Kind},
    schema::{self, Identity, column},
    words::{parse_comm, parse_flags, parse_op},
};
use crate::event::{Comm, DeviceId, Event, Flags, Op};

/// Most devices of one recording: bounds what a file that lies can make the analysis hold.
const MAX_DEVICES: usize = 1 << 20;

/// Why a recording cannot be read (further).
#[derive(Debug, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct ReadError {
    /// Name of the file.
    pub name: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It cannot be opened or read.
    #[error("{0}")]
    Io(std::io::Error),
    /// It has no bytes.
    #[error("empty: not a recording (was the capture killed before it began?)")]
    Empty,
    /// It is something else, or of another version.
    #[error("not a recording this zvoltrace reads: {0}")]
    NotRecording(String),
    /// It ends inside a message, as when its writer was killed or its disk was full.
    #[error("cut off at byte {at}: what comes before was read")]
    CutOff {
        /// Where the torn message begins.
        at: u64,
    },
    /// It is damaged.
    #[error("damaged at byte {at}: {what}; what comes before was read")]
    Damaged {
        /// Where the damaged message begins.
        at: u64,
        /// What is wrong there.
        what: String,
    },
    /// It does not belong to the files given with it.
    #[error("does not join the other files: {0}")]
    DoesNotJoin(String),
    /// It has bytes behind its end.
    #[error("more bytes follow the end of the recording at byte {at}; what comes before was read")]
    Trailing {
        /// Where they begin.
        at: u64,
    },
}

/// What a row, or a run of rows, is.
#[derive(Debug, PartialEq)]
pub(crate) enum Row {
    Events(Vec<Event>),
    Control(Box<Control>),
}

/// One file, read from its beginning to its end.
pub(crate) struct Reader<R> {
    from: R,
    name: String,
    /// Where the message that is being read begins.
    at: u64,
    next_at: u64,
    identity: Identity,
    dictionaries: Vec<Option<i64>>,
    decoder: StreamDecoder,
    batch: Option<Batch>,
    progress: Progress,
    finished: bool,
}

/// Which rows may come next.
#[derive(Debug, Default)]
struct Progress {
    started: bool,
    ended: bool,
    devices: usize,
}

impl<R: Read> Reader<R> {
    /// Reads the schema of a file; `name` is for messages.
    pub(crate) fn open(mut from: R, name: &str) -> Result<Self, ReadError> {
        let fail = |problem| ReadError {
            name: name.to_owned(),
            problem,
        };
        let frame = match read_message(&mut from) {
            Ok(Next::Message(frame)) => frame,
            Ok(Next::Nothing) => return Err(fail(Problem::Empty)),
            Ok(Next::EndMarker) => {
                return Err(fail(Problem::NotRecording("it has no schema".to_owned())));
            }
            Err(error) => return Err(fail(in_schema(error))),
        };
        let schema = check_schema(&frame).map_err(|error| fail(in_schema(error)))?;
        let identity = schema::check(&schema).map_err(|e| fail(Problem::NotRecording(e)))?;
        let dictionaries = dictionary_numbers(&frame).map_err(|error| fail(in_schema(error)))?;
        let mut reader = Self {
            from,
            name: name.to_owned(),
            at: 0,
            next_at: 0,
            identity,
            dictionaries,
            decoder: StreamDecoder::new(),
            batch: None,
            progress: Progress::default(),
            finished: false,
        };
        reader.decode(frame)?;
        Ok(reader)
    }

    /// What the file says of itself.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Name of the file, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next rows; `None` at the end of the file, and after an error.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, ReadError> {
        while !self.finished {
            if let Some(row) = self.next_of_batch()? {
                return Ok(Some(row));
            }
            self.next_message()?;
        }
        Ok(None)
    }

    fn next_of_batch(&mut self) -> Result<Option<Row>, ReadError> {
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        match batch.next() {
            Ok(Some(row)) => match self.progress.check(&row) {
                Ok(()) => Ok(Some(row)),
                Err(what) => Err(self.damaged(what)),
            },
            Ok(None) => {
                self.batch = None;
                Ok(None)
            }
            Err(what) => Err(self.damaged(what)),
        }
    }

    fn next_message(&mut self) -> Result<(), ReadError> {
        self.at = self.next_at;
        match read_message(&mut self.from) {
            Ok(Next::Message(frame)) => {
                match check_content(&frame, &self.dictionaries) {
                    Ok(Content::Rows | Content::Dictionary) => {}
                    Err(error) => return Err(self.fail(in_content(error, self.at))),
                }
                self.decode(frame)
            }
            Ok(Next::Nothing) => {
                self.finished = true;
                Ok(())
            }
            Ok(Next::EndMarker) => {
                self.finished = true;
                let mut more = [0];
                match self.from.read(&mut more) {
                    Ok(0) => Ok(()),
                    Ok(_) => Err(self.fail(Problem::Trailing { at: self.at + 8 })),
                    Err(error) => Err(self.fail(Problem::Io(error))),
                }
            }
            Err(error) => Err(self.fail(in_content(error, self.at))),
        }
    }

    /// Hands a checked message to Arrow.
    fn decode(&mut self, frame: Frame) -> Result<(), ReadError> {
        self.next_at = self.at + frame.bytes.len() as u64;
        let mut buffer = Buffer::from_vec(frame.bytes);
        let decoded = self.decoder.decode(&mut buffer);
        match decoded.map(|batch| batch.map(|batch| Batch::new(&batch)).transpose()) {
            Ok(Ok(batch)) => {
                self.batch = batch;
                Ok(())
            }
            Ok(Err(what)) => Err(self.damaged(what)),
            Err(error) => Err(self.damaged(error.to_string())),
        }
    }

    fn damaged(&mut self, what: String) -> ReadError {
        self.fail(Problem::Damaged { at: self.at, what })
    }

    fn fail(&mut self, problem: Problem) -> ReadError {
        self.finished = true;
        self.batch = None;
        ReadError {
            name: self.name.clone(),
            problem,
        }
    }
}

fn in_schema(error: MessageError) -> Problem {
    match error {
        MessageError::CutOff => Problem::CutOff { at: 0 },
        MessageError::Io(error) => Problem::Io(error),
        MessageError::Foreign(what) | MessageError::Damaged(what) => Problem::NotRecording(what),
    }
}

fn in_content(error: MessageError, at: u64) -> Problem {
    match error {
        MessageError::CutOff => Problem::CutOff { at },
        MessageError::Io(error) => Problem::Io(error),
        MessageError::Foreign(what) | MessageError::Damaged(what) => Problem::Damaged { at, what },
    }
}

impl Progress {
    /// Whether this row may follow those before it; devices are numbered in order of arrival.
    fn check(&mut self, row: &Row) -> Result<(), String> {
        if self.ended {
            return Err("rows behind the end".to_owned());
        }
        let is_start = matches!(row, Row::Control(control) if control.kind() == Kind::Start);
        if is_start == self.started {
            return Err(if is_start {
                "a second start"
            } else {
                "rows before the start"
            }
            .to_owned());
        }
        self.started = true;
        let known = self.devices;
        let check = |device: DeviceId| {
            if (device.0 as usize) < known {
                return Ok(());
            }
            Err(format!("device {} was never announced", device.0))
        };
        match row {
            Row::Events(events) => events.iter().try_for_each(|event| check(event.device)),
            Row::Control(control) => match &**control {
                Control::Appeared(device) => {
                    if device.id.0 as usize != known || known >= MAX_DEVICES {
                        return Err(format!("device {} instead of {known}", device.id.0));
                    }
                    self.devices += 1;
                    Ok(())
                }
                Control::Changed(device) => check(device.id),
                Control::Vanished(vanished) => check(vanished.device),
                Control::Sample(sample)
                | Control::PartEnd(sample)
                | Control::Start(_, Some(sample)) => {
                    // A part's start names devices that its next rows announce.
                    if is_start {
                        return Ok(());
                    }
                    self.ended = control.kind() == Kind::PartEnd;
                    sample
                        .devices
                        .iter()
                        .try_for_each(|sample| check(sample.device))
                }
                Control::End(_) => {
                    self.ended = true;
                    Ok(())
                }
                Control::Start(_, None) | Control::Pools(_) => Ok(()),
            },
        }
    }
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
struct Batch {
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

impl Batch {
    fn new(batch: &RecordBatch) -> Result<Self, String> {
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
    fn next(&mut self) -> Result<Option<Row>, String> {
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

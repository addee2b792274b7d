//! Reading of one file of a recording: bytes become batches, batches become rows, rows become
//! inputs.
//!
//! Owns the checks of what rows say. It holds one batch at a time, whatever the length of the
//! file. After an error nothing more comes; what came before stands.

use std::io::Read;

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::{
    columns::{Columns, Row},
    message::{
        Content, Frame, MessageError, Next, check_content, check_schema, dictionary_numbers,
        read_message,
    },
    payload::{Control, Kind},
    schema::{self, Identity},
};
use crate::event::DeviceId;

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
    batch: Option<Columns>,
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
        match decoded.map(|batch| batch.map(|batch| Columns::new(&batch)).transpose()) {
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

//! Merges the files of a trace into one stream of records in order of time.
//!
//! A damaged file ends alone: its damage is kept and the other files are read on.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

use super::{
    Damage, Fault, blkparse::TextReader, files::Traces, layout::Magic, reader::RecordReader,
    record::Record,
};

/// Memory for the buffers of all files together, and the bounds of one.
const ALL_BUFFERS_BYTES: usize = 32 << 20;
const MAX_BUFFER_BYTES: usize = 256 << 10;
const MIN_BUFFER_BYTES: usize = 8 << 10;

type Input = Box<dyn Read + Send>;

enum Stream {
    Binary(RecordReader<Input>),
    Text(TextReader<BufReader<Input>>),
}

impl Stream {
    /// Tells binary from text by the first bytes, without losing them: a pipe cannot seek.
    fn new(mut input: Input, name: String, buffer_bytes: usize) -> Result<Self, Damage> {
        let mut first = [0; 4];
        let mut have = 0;
        while have < first.len() {
            match input.read(&mut first[have..]) {
                Ok(0) => break,
                Ok(read) => have += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let fault = Fault::Read(error.to_string());
                    return Err(Damage {
                        file: name,
                        offset: Some(have as u64),
                        fault,
                    });
                }
            }
        }
        let text = Magic::of(first) == Magic::Foreign && looks_like_text(&first[..have]);
        let input: Input = Box::new(Cursor::new(first).take(have as u64).chain(input));
        Ok(if text {
            Self::Text(TextReader::new(
                BufReader::with_capacity(buffer_bytes, input),
                name,
            ))
        } else {
            Self::Binary(RecordReader::new(input, name, buffer_bytes))
        })
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Record>, Box<Damage>> {
        match self {
            Self::Binary(reader) => reader.next(),
            Self::Text(reader) => reader.next(),
        }
    }
}

impl Records {
    /// The next record, `None` at the end; it stays here until the next call.
    #[inline]
    pub fn advance(&mut self) -> Option<&Record> {
        let first_waiting = self.queue.peek().map(|Reverse(first)| *first);
        // The record that was lent makes room for the next of its file.
        let head = self.current.and_then(|index| {
            self.heads[index] = self.read(index);
            Some((self.heads[index].as_ref()?.time_ns, index))
        });
        let index = match (head, first_waiting) {
            (Some(head), Some(waiting)) if waiting < head => {
                self.queue.pop();
                self.queue.push(Reverse(head));
                waiting.1
            }
            (Some((_, index)), _) => index,
            (None, Some((_, index))) => {
                self.queue.pop();
                index
            }
            (None, None) => {
                self.current = None;
                return None;
            }
        };
        self.current = Some(index);
        self.heads[index].as_ref()
    }
}

impl Iterator for Records {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.advance().copied()
    }
}

fn open_file(path: &Path) -> Result<Input, Damage> {
    let failed = |error: io::Error| Damage {
        file: path.display().to_string(),
        offset: None,
        fault: Fault::Read(error.to_string()),
    };
    Ok(Box::new(File::open(path).map_err(failed)?))
}

fn looks_like_text(first: &[u8]) -> bool {
    first.len() == 4
        && first
            .iter()
            .all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}

/// The records of a trace in order of time.
pub struct Records {
    streams: Vec<Option<Stream>>,
    /// Next record of each stream.
    heads: Vec<Option<Record>>,
    /// Time and index of every head but the current stream's.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// Records of one file come in runs: the queue is touched only where a run ends.
    current: Option<usize>,
    damage: Vec<Damage>,
}

impl Records {
    /// Opens the files and reads the first record of each.
    ///
    /// # Errors
    /// When nothing can be read: no file opens, or none begins with a record. A trace of which
    /// only a part is damaged opens, and [`Records::damage`] tells.
    pub fn open(traces: &Traces) -> Result<Self, Damage> {
        let mut inputs: Vec<(Input, String)> = Vec::new();
        match traces {
            Traces::Stdin => inputs.push((Box::new(io::stdin()), "standard input".into())),
            Traces::Files(files) => {
                for file in files {
                    inputs.push((open_file(file)?, file.display().to_string()));
                }
            }
        }
        Self::merge(inputs)
    }

    /// Reads one stream, for which `name` stands in messages.
    ///
    /// # Errors
    /// When it does not begin with a record.
    pub fn from_reader(input: impl Read + Send + 'static, name: &str) -> Result<Self, Damage> {
        Self::merge(vec![(Box::new(input), name.to_owned())])
    }

    pub(super) fn merge(inputs: Vec<(Input, String)>) -> Result<Self, Damage> {
        let share = ALL_BUFFERS_BYTES / inputs.len().max(1);
        let buffer_bytes = share.clamp(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
        let mut records = Self {
            streams: Vec::new(),
            heads: Vec::new(),
            queue: BinaryHeap::new(),
            current: None,
            damage: Vec::new(),
        };
        let first_name = inputs
            .first()
            .map(|(_, name)| name.clone())
            .unwrap_or_default();
        let (mut texts, several) = (0, inputs.len() > 1);
        for (input, name) in inputs {
            records.heads.push(None);
            let index = records.streams.len();
            match Stream::new(input, name.clone(), buffer_bytes) {
                Ok(stream) => {
                    texts += usize::from(matches!(stream, Stream::Text(_)));
                    records.streams.push(Some(stream));
                }
                Err(damage) => {
                    records.streams.push(None);
                    records.damage.push(damage);
                }
            }
            if texts > 0 && several {
                let fault = Fault::TextAmongSeveral;
                return Err(Damage {
                    file: name,
                    offset: None,
                    fault,
                });
            }
            records.heads[index] = records.read(index);
            if let Some(head) = records.heads[index] {
                records.queue.push(Reverse((head.time_ns, index)));
            }
        }
        if !records.queue.is_empty() {
            return Ok(records);
        }
        let empty = || Damage {
            file: first_name,
            offset: None,
            fault: Fault::Empty,
        };
        Err(records.damage.into_iter().next().unwrap_or_else(empty))
    }

    fn read(&mut self, index: usize) -> Option<Record> {
        match self.streams[index].as_mut()?.next() {
            Ok(Some(record)) => Some(record),
            Ok(None) => {
                self.streams[index] = None;
                None
            }
            Err(damage) => {
                self.streams[index] = None;
                self.damage.push(*damage);
                None
            }
        }
    }

    /// What ended a file early, so far.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}

//! Reads the records of one file or pipe, in the order in which they stand there.
//!
//! Never guesses: what is no record ends the file with an error that names the file and the
//! offset, and every record before it has been yielded. Holds one buffer, which grows to the
//! longest record at most (a header and 65,535 bytes of payload).

use std::io::{self, Read};

use super::{
    Damage, Fault,
    layout::{HEADER_V7_BYTES, Layout, Magic},
    record::Record,
};

/// One file of records.
pub(super) struct RecordReader<R> {
    input: R,
    /// Name for messages.
    name: String,
    buffer: Vec<u8>,
    /// Unread part of the buffer.
    from: usize,
    to: usize,
    /// Offset of `buffer[0]` in the file.
    base: u64,
    layout: Option<Layout>,
    /// First bytes of every record, once the layout is known.
    magic: [u8; 4],
    finished: bool,
}

impl<R: Read> RecordReader<R> {
    pub(super) fn new(input: R, name: String, buffer_bytes: usize) -> Self {
        let buffer = vec![0; buffer_bytes];
        Self {
            input,
            name,
            buffer,
            from: 0,
            to: 0,
            base: 0,
            layout: None,
            magic: [0; 4],
            finished: false,
        }
    }

    /// The next record, `None` at the end; after an error always `None`.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Record>, Box<Damage>> {
        // Nearly always a record like the one before, whole in the buffer.
        if let Some(layout) = self.layout
            && let Some(bytes) = self.buffer.get(self.from..self.to)
            && bytes.first_chunk() == Some(&self.magic)
            && let Ok((record, length)) = layout.decode(bytes)
        {
            self.from += length;
            return Ok(Some(record));
        }
        self.next_slowly()
    }

    #[cold]
    fn next_slowly(&mut self) -> Result<Option<Record>, Box<Damage>> {
        if self.finished {
            return Ok(None);
        }
        let read = self.read_record();
        self.finished = !matches!(read, Ok(Some(_)));
        read.map_err(|fault| {
            let offset = Some(self.base + self.from as u64);
            Box::new(Damage {
                file: self.name.clone(),
                offset,
                fault,
            })
        })
    }

    fn read_record(&mut self) -> Result<Option<Record>, Fault> {
        let have = self.fill(4)?;
        if have == 0 {
            return Ok(None);
        }
        if have < 4 {
            return Err(Fault::Truncated {
                have,
                need: HEADER_V7_BYTES,
            });
        }
        let mut first = [0; 4];
        first.copy_from_slice(&self.buffer[self.from..self.from + 4]);
        let layout = match (Magic::of(first), self.layout) {
            (Magic::Known(layout), None) => {
                self.magic = first;
                *self.layout.insert(layout)
            }
            (Magic::Known(layout), Some(before)) if layout == before => layout,
            (Magic::Known(found), Some(before)) => {
                return Err(Fault::Mixed {
                    found: found.to_string(),
                    before: before.to_string(),
                });
            }
            (Magic::OtherVersion(version), _) => return Err(Fault::Version(version)),
            (Magic::Foreign, None) => return Err(Fault::NotATrace(first)),
            (Magic::Foreign, Some(_)) => return Err(Fault::NoRecord(first)),
        };
        // Twice at most: for the header, then for the payload.
        loop {
            match layout.decode(&self.buffer[self.from..self.to]) {
                Ok((record, length)) => {
                    self.from += length;
                    return Ok(Some(record));
                }
                Err(need) => {
                    let have = self.fill(need)?;
                    if have < need {
                        return Err(Fault::Truncated { have, need });
                    }
                }
            }
        }
    }

    /// Reads until `bytes` are there or the file ends; returns how many are there, at most
    /// `bytes`.
    fn fill(&mut self, bytes: usize) -> Result<usize, Fault> {
        if self.to - self.from >= bytes {
            return Ok(bytes);
        }
        self.buffer.copy_within(self.from..self.to, 0);
        self.base += self.from as u64;
        self.to -= self.from;
        self.from = 0;
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        while self.to < bytes {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => break,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Read(error.to_string())),
            }
        }
        Ok(self.to.min(bytes))
    }
}

//! Reads the lines that blkparse prints by default.
//!
//! Tickets often hold nothing else. Any other text is refused with the format that is read;
//! blkparse's own messages and summary are passed over. A line that is broken is counted and
//! left out, since the next line begins anew.

mod line;

use std::io::{self, BufRead, Read};

use super::{Damage, Fault, record::Record};
use line::Line;

/// Longest line that is looked at; the rest of a longer one is skipped.
const MAX_LINE_BYTES: u64 = 16 * 1024;
/// Lines of something else before the first record. A ticket has some prose, another format
/// never ends.
const MAX_PREFACE_LINES: u64 = 200;
/// Characters of a line that a message quotes.
const QUOTE_CHARS: usize = 60;

/// A text in blkparse's default format.
pub(super) struct TextReader<R> {
    input: R,
    name: String,
    line: Vec<u8>,
    number: u64,
    records: u64,
    /// Lines that were left out: the first one's number and beginning, and how many.
    foreign: Option<(u64, String)>,
    foreign_lines: u64,
    finished: bool,
}

impl<R: BufRead> TextReader<R> {
    pub(super) fn new(input: R, name: String) -> Self {
        Self {
            input,
            name,
            line: Vec::new(),
            number: 0,
            records: 0,
            foreign: None,
            foreign_lines: 0,
            finished: false,
        }
    }

    /// The next record, `None` at the end; after an error always `None`. Lines that were left
    /// out are reported at the end.
    pub(super) fn next(&mut self) -> Result<Option<Record>, Box<Damage>> {
        while !self.finished {
            match self.read_line() {
                Ok(true) => {}
                Ok(false) => {
                    self.finished = true;
                    return self.end();
                }
                Err(error) => {
                    self.finished = true;
                    return Err(Box::new(self.damage(Fault::Read(error.to_string()))));
                }
            }
            match Line::parse(&self.line) {
                Line::Record(record) => {
                    self.records += 1;
                    return Ok(Some(record));
                }
                Line::Passed => {}
                // A first line that begins as blkparse's do, but goes on differently, was
                // printed with a format of its own (-f).
                Line::Broken if self.records == 0 => return self.refuse(),
                Line::Broken | Line::Foreign => {
                    self.leave_out();
                    if self.records == 0 && self.foreign_lines > MAX_PREFACE_LINES {
                        return self.refuse();
                    }
                }
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.input)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.line)?;
        if read as u64 == MAX_LINE_BYTES && self.line.last() != Some(&b'\n') {
            self.input.skip_until(b'\n')?;
        }
        Ok(read > 0)
    }

    fn leave_out(&mut self) {
        self.foreign_lines += 1;
        if self.foreign.is_none() {
            self.foreign = Some((self.number, quote(&self.line)));
        }
    }

    fn refuse(&mut self) -> Result<Option<Record>, Box<Damage>> {
        self.finished = true;
        if self.foreign.is_none() {
            self.foreign = Some((self.number, quote(&self.line)));
        }
        let (line, text) = self.foreign.clone().unwrap_or_default();
        let hint = line::hint(&text);
        Err(Box::new(self.damage(Fault::OtherText { line, text, hint })))
    }

    fn end(&mut self) -> Result<Option<Record>, Box<Damage>> {
        match self.foreign.take() {
            None => Ok(None),
            Some(foreign) if self.records == 0 => {
                self.foreign = Some(foreign);
                self.refuse()
            }
            Some((first, text)) => {
                let lines = self.foreign_lines;
                Err(Box::new(self.damage(Fault::LinesLeftOut {
                    lines,
                    first,
                    text,
                })))
            }
        }
    }

    fn damage(&self, fault: Fault) -> Damage {
        Damage {
            file: self.name.clone(),
            offset: None,
            fault,
        }
    }
}

fn quote(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end().chars().take(QUOTE_CHARS).collect()
}

//! One line of blkparse's default output.
//!
//! `230,0    1       42     0.000123456  1234  Q  WS 12345678 + 16 [qemu-kvm]`: device, CPU,
//! sequence, seconds, pid, action, operation and flags, then what the action prints
//! (`process_default` in blktrace's `blkparse_fmt.c`).

use std::str;

use crate::event::Comm;

use super::super::record::{Action, Payload, Record, category};

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A record.
    Record(Record),
    /// Something blkparse prints beside records.
    Passed,
    /// Begins with a device number and is no record.
    Broken,
    /// Anything else.
    Foreign,
}

/// Beginnings of the lines that blkparse prints beside records, blanks trimmed.
const SUMMARY: [&str; 22] = [
    "CPU",
    "Total (",
    "Reads Queued:",
    "Read Dispatches:",
    "Reads Requeued:",
    "Reads Completed:",
    "Read Merges:",
    "Read depth:",
    "PC Reads Queued:",
    "PC Read Disp.:",
    "PC Reads Req.:",
    "PC Reads Compl.:",
    "IO unplugs:",
    "Throughput (",
    "Events (",
    "Skips:",
    "Input file ",
    "Trace started at",
    "Allocation wait:",
    "Dispatch wait:",
    "Completion wait:",
    "PC Writes",
];

impl Line {
    pub(super) fn parse(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Self::Passed;
        }
        let mut fields = Fields { rest: line };
        let Some(device) = fields.next().and_then(device_number) else {
            let known = SUMMARY
                .iter()
                .any(|start| line.starts_with(start.as_bytes()));
            return if known { Self::Passed } else { Self::Foreign };
        };
        record(device, &mut fields).unwrap_or(Self::Broken)
    }
}

/// What a text looks like instead, for the refusal.
pub(super) fn hint(text: &str) -> &'static str {
    let text = text.trim_start();
    if text.starts_with("fio version") {
        " (a fio iolog: fio replays it, and it holds no completions)"
    } else if text.starts_with("# tracer:") || text.contains("-0     [") {
        " (ftrace's output: trace with blktrace instead)"
    } else if text.starts_with('{') || text.starts_with('[') {
        " (JSON: a report is read by `compare`)"
    } else if text.starts_with("TIME") {
        " (a biosnoop table)"
    } else if text.starts_with(|c: char| c.is_ascii_digit()) {
        " (printed with a format of its own, -f or -F? run blkparse without it)"
    } else {
        ""
    }
}

struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The next word.
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.trim_ascii_start();
        let end = line
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn peek(&self) -> Option<&'a [u8]> {
        Fields { rest: self.rest }.next()
    }

    /// The next word as a number, left in place when it is none.
    fn number(&mut self) -> Option<u64> {
        let value = number(self.peek()?)?;
        self.next();
        Some(value)
    }

    /// Steps over `word`.
    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes `(...)`, with what stands inside.
    fn group(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.trim_ascii_start().strip_prefix(b"(")?;
        let end = line.iter().position(|byte| *byte == b')')?;
        self.rest = &line[end + 1..];
        Some(&line[..end])
    }

    /// What stands between the next `[` and the last `]`.
    fn bracket(&self) -> Option<&'a [u8]> {
        let line = self.rest.trim_ascii_start().strip_prefix(b"[")?;
        let end = line.iter().rposition(|byte| *byte == b']')?;
        Some(&line[..end])
    }
}

fn number(word: &[u8]) -> Option<u64> {
    str::from_utf8(word).ok()?.parse().ok()
}

fn small_number(word: &[u8]) -> Option<u32> {
    str::from_utf8(word).ok()?.parse().ok()
}

fn device_number(word: &[u8]) -> Option<(u32, u32)> {
    let comma = word.iter().position(|byte| *byte == b',')?;
    Some((
        small_number(&word[..comma])?,
        small_number(&word[comma + 1..])?,
    ))
}

/// `0.000123456` in nanoseconds; blkparse prints nine decimals.
fn seconds(word: &[u8]) -> Option<u64> {
    let dot = word.iter().position(|byte| *byte == b'.')?;
    let (seconds, nanos) = (number(&word[..dot])?, &word[dot + 1..]);
    if nanos.len() != 9 {
        return None;
    }
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(number(nanos)?)
}

/// `FWFSM`: a preflush, the operation, FUA, then the rest (`fill_rwbs` in `blkparse_fmt.c`).
fn categories(rwbs: &[u8]) -> Option<u32> {
    let (preflush, rest) = match rwbs.strip_prefix(b"F") {
        Some(rest) => (category::FLUSH, rest),
        None => (0, rwbs),
    };
    let (operation, flags) = rest.split_first()?;
    let operation = match operation {
        b'D' => category::DISCARD | category::WRITE,
        b'W' => category::WRITE,
        b'R' | b'N' => category::READ,
        _ => return None,
    };
    flags.iter().try_fold(preflush | operation, |all, flag| {
        Some(
            all | match flag {
                b'F' => category::FUA,
                b'A' => category::AHEAD,
                b'S' => category::SYNC,
                b'M' => category::META,
                // Version 8 prints write zeroes as WZ; E is secure erase in kernel text.
                b'Z' => category::WRITE_ZEROES,
                b'E' => category::DISCARD,
                _ => return None,
            },
        )
    })
}

/// The rest of a line; `None` when it is broken.
fn record(device: (u32, u32), fields: &mut Fields<'_>) -> Option<Line> {
    let cpu = small_number(fields.next()?)?;
    number(fields.next()?)?;
    let time_ns = seconds(fields.next()?)?;
    let pid = small_number(fields.next()?)?;
    let action = Action::of_letter(str::from_utf8(fields.next()?).ok()?)?;
    let categories = categories(fields.next()?)?;
    let mut record = Record {
        time_ns,
        sector: 0,
        bytes: 0,
        action,
        categories,
        pid,
        device,
        cpu,
        errno: 0,
        payload: Payload::None,
    };
    match action {
        Action::Notify | Action::Other | Action::Split | Action::Remap => {
            return Some(Line::Passed);
        }
        Action::Complete | Action::Requeue => {
            place(&mut record, fields, true)?;
            let error = str::from_utf8(fields.bracket()?)
                .ok()?
                .parse::<i32>()
                .ok()?;
            record.errno = errno(error);
        }
        _ => {
            place(&mut record, fields, false)?;
            let comm = str::from_utf8(fields.bracket()?).ok()?;
            record.payload = Payload::Process(Comm::new(comm));
        }
    }
    Some(Line::Record(record))
}

/// blkparse prints the 16 bits of the record, so -5 as 65531.
fn errno(printed: i32) -> u16 {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the low half is what the record holds"
    )]
    let low = printed as i16;
    low.unsigned_abs()
}

/// `SECTOR + SECTORS`, `SECTOR`, a passthrough's `BYTES (PAYLOAD)` or nothing, each perhaps
/// with the elapsed time of `blkparse -t` in parentheses.
fn place(record: &mut Record, fields: &mut Fields<'_>, ends: bool) -> Option<()> {
    let first = fields.number();
    if first.is_some() && fields.word(b"+") {
        let sectors = fields.number()?;
        record.sector = first?;
        record.bytes = u32::try_from(sectors.checked_mul(512)?).ok()?;
        fields.group();
        return Some(());
    }
    let group = fields.group();
    // Elapsed time is one number, right-aligned in eight columns; a payload is bytes in hex.
    let is_elapsed = |group: &[u8]| group.len() >= 8 && number(group.trim_ascii()).is_some();
    let payload = group.is_some_and(|group| !is_elapsed(group));
    let write = record.is(category::WRITE);
    match first {
        Some(sector) if ends && !payload => record.sector = sector,
        Some(bytes) => {
            record.bytes = u32::try_from(bytes).ok()?;
            record.categories |= category::PC;
        }
        // A bare flush prints no sector; neither does a passthrough request without data.
        None if payload || !(write || record.is(category::FLUSH)) => {
            record.categories |= category::PC;
        }
        None if ends && !record.is(category::FLUSH) => record.categories |= category::PC,
        None => {}
    }
    Some(())
}

//! The fio iolog, version 3 (fio 3.31 and later).
//!
//! What its reader (`read_iolog` in fio's `iolog.c`) demands: every I/O line has all five
//! fields, a name has no blanks, a line stays under 4,096 bytes, a length fits in 32 bits, and
//! time starts at 1, since a gap after 0 is lost. Times are microseconds.

use std::io::{self, Write};

/// Longest name of a file.
const MAX_NAME_BYTES: usize = 200;
/// Longest trim of one line: fio allocates a buffer of the largest length for every I/O in
/// flight, a trim's too, and a guest may trim 4 GiB at once.
pub const MAX_TRIM_BYTES: u32 = 4 << 20;

/// An operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IologOp {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Flush of everything written before.
    Sync,
    /// Discard. fio 3.33 says `bad ddir: 2` and passes over it; later versions take it.
    Trim,
}

impl IologOp {
    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Trim => "trim",
        }
    }
}

/// Writes a log.
pub struct IologWriter<W> {
    out: W,
    files: Vec<String>,
    /// Time of the first I/O, which becomes 1 us.
    first_ns: Option<u64>,
    last_us: u64,
}

impl<W: Write> IologWriter<W> {
    /// A log of I/O to files of these names (see [`file_name`]). `out` should be buffered.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(mut out: W, files: Vec<String>) -> io::Result<Self> {
        writeln!(out, "fio version 3 iolog")?;
        for action in ["add", "open"] {
            for file in &files {
                writeln!(out, "0 {file} {action}")?;
            }
        }
        Ok(Self {
            out,
            files,
            first_ns: None,
            last_us: 1,
        })
    }

    /// Writes an I/O to the file of index `file`; times do not fall.
    ///
    /// # Errors
    /// When the output fails.
    pub fn put(
        &mut self,
        time_ns: u64,
        file: usize,
        op: IologOp,
        offset_bytes: u64,
        bytes: u32,
    ) -> io::Result<()> {
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        self.last_us = self
            .last_us
            .max(1 + time_ns.saturating_sub(first_ns) / 1000);
        let Some(name) = self.files.get(file) else {
            return Ok(());
        };
        let (at, word) = (self.last_us, op.word());
        let mut done = 0;
        loop {
            let most = if op == IologOp::Trim {
                MAX_TRIM_BYTES
            } else {
                u32::MAX
            };
            let piece = (bytes - done).min(most);
            let offset = offset_bytes.saturating_add(done.into());
            writeln!(self.out, "{at} {name} {word} {offset} {piece}")?;
            done += piece;
            if done >= bytes {
                return Ok(());
            }
        }
    }

    /// Closes the files and ends the log.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        for file in &self.files {
            writeln!(self.out, "{} {file} close", self.last_us)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A name for a device in a log: never a path, so that a replay cannot reach the captured
/// disk by accident; without blanks and `:`, which fio takes for separators.
#[must_use]
pub fn file_name(device: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = device.chars().map(plain).take(MAX_NAME_BYTES).collect();
    format!("target-{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_starts_at_one_and_cuts_large_trims() {
        let names = vec![file_name("zd16"), file_name("/dev/a b:c")];
        let mut log = IologWriter::new(Vec::new(), names).unwrap();
        log.put(9_000_000, 0, IologOp::Write, 8192, 16_384).unwrap();
        log.put(9_002_500, 1, IologOp::Sync, 0, 0).unwrap();
        log.put(9_002_400, 0, IologOp::Read, 1 << 50, u32::MAX)
            .unwrap();
        log.put(9_500_000, 0, IologOp::Trim, 4096, MAX_TRIM_BYTES + 4096)
            .unwrap();
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let expected = "\
fio version 3 iolog
0 target-zd16 add
0 target-_dev_a_b_c add
0 target-zd16 open
0 target-_dev_a_b_c open
1 target-zd16 write 8192 16384
3 target-_dev_a_b_c sync 0 0
3 target-zd16 read 1125899906842624 4294967295
501 target-zd16 trim 4096 4194304
501 target-zd16 trim 4198400 4096
501 target-zd16 close
501 target-_dev_a_b_c close
";
        assert_eq!(text, expected);
    }
}

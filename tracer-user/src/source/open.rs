//! Which source reads the files somebody names: told by their first bytes, never by the name.
//!
//! Owns the sniffing and nothing else; each format's source checks the rest itself.

use std::{
    fs::{self, File},
    io::{self, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{
    blktrace::Records,
    source::{
        Source,
        blktrace::{BlktraceSource, Options},
        recording::RecordingSource,
    },
};

/// Bytes that tell the formats apart.
const HEAD_BYTES: usize = 8;
/// What is read at once.
const READ_BYTES: usize = 256 << 10;

/// A format, as the first bytes of a file tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A recording (an Arrow IPC stream).
    Recording,
    /// A JSON report.
    JsonReport,
    /// No bytes at all.
    Empty,
    /// Something else: a blktrace trace, or nothing known.
    Other,
}

/// A file that was opened and looked at.
pub struct Opened {
    /// Path, or `standard input`.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// All its bytes, from the first one on.
    pub from: Box<dyn Read + Send>,
}

impl Format {
    /// The format of a file that begins with these bytes.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let text = head.iter().find(|byte| !byte.is_ascii_whitespace());
        match head {
            [] => Self::Empty,
            [0xff, 0xff, 0xff, 0xff, ..] => Self::Recording,
            _ if text == Some(&b'{') => Self::JsonReport,
            _ => Self::Other,
        }
    }
}

/// Opens a file, `-` for standard input, and looks at its first bytes.
///
/// # Errors
/// It cannot be opened or read.
pub fn look(path: &Path) -> anyhow::Result<Opened> {
    let (name, mut from): (_, Box<dyn Read + Send>) = if path.as_os_str() == "-" {
        ("standard input".to_owned(), Box::new(io::stdin()))
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        (path.display().to_string(), Box::new(file))
    };
    let mut head = Vec::new();
    let mut first = from.by_ref().take(HEAD_BYTES as u64);
    first
        .read_to_end(&mut head)
        .with_context(|| format!("cannot read {name}"))?;
    let format = Format::of(&head);
    let rest = BufReader::with_capacity(READ_BYTES, from);
    let from = Box::new(Cursor::new(head).chain(rest));
    Ok(Opened { name, format, from })
}

/// Opens what `inputs` name as one source: a recording or its parts, or a blktrace trace
/// (a folder, a base name, files), or either on standard input (`-`).
///
/// # Errors
/// A file cannot be read or is of no known format, or the files do not belong together.
pub fn open(inputs: &[PathBuf], options: Options) -> anyhow::Result<Box<dyn Source + Send>> {
    let mut opened = Vec::new();
    for path in inputs {
        // A folder or a base name is a trace's; so may be a name that leads to nothing, which
        // the trace's own search then explains.
        if path.as_os_str() == "-" || fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            opened.push(look(path)?);
        }
    }
    let recordings = opened
        .iter()
        .filter(|file| file.format == Format::Recording);
    match (recordings.count(), inputs.len()) {
        (0, _) => {}
        (some, all) if some == all => {
            return Ok(Box::new(RecordingSource::open(
                opened,
                options.block_size_bytes,
            )?));
        }
        _ => bail!("{}", mixed(inputs, &opened)),
    }
    if let Some(report) = opened.iter().find(|file| file.format == Format::JsonReport) {
        bail!(
            "{} is a JSON report, which holds no I/Os; `zvoltrace compare` reads it",
            report.name
        );
    }
    match <[Opened; 1]>::try_from(opened) {
        Ok([only]) if only.format == Format::Empty => {
            bail!(
                "{} is empty (was the capture killed before it began?)",
                only.name
            )
        }
        Ok([only]) if inputs[0].as_os_str() == "-" => {
            let records = Records::from_reader(only.from, &only.name)?;
            Ok(Box::new(BlktraceSource::new(records, options)?))
        }
        _ => Ok(Box::new(BlktraceSource::open(inputs, options)?)),
    }
}

fn mixed(inputs: &[PathBuf], opened: &[Opened]) -> String {
    let name_of = |is_recording: bool| {
        let found = opened
            .iter()
            .find(|file| (file.format == Format::Recording) == is_recording);
        found.map(|file| file.name.clone())
    };
    let folder = inputs.iter().find(|path| path.is_dir() || !path.exists());
    let other = name_of(false).or_else(|| folder.map(|path| path.display().to_string()));
    format!(
        "{} is a recording and {} is not: give files of one kind",
        name_of(true).unwrap_or_default(),
        other.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(paths: &[PathBuf]) -> String {
        match open(paths, Options::default()) {
            Ok(_) => panic!("opened"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn a_format_is_told_by_its_first_bytes() {
        assert_eq!(Format::of(b""), Format::Empty);
        assert_eq!(Format::of(&[0xff; 8]), Format::Recording);
        assert_eq!(Format::of(b"\n {\"sche"), Format::JsonReport);
        assert_eq!(Format::of(b"230,0 1 "), Format::Other);
    }

    #[test]
    fn files_that_cannot_be_reported_on_say_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let empty = file("empty", b"");
        let json = file("report.json", b"{\"schema\": \"zvoltrace.report/1\"}");
        let recording = file("rec.arrow", &[0xff; 64]);
        let text = file(
            "trace.txt",
            b"230,16   0  1  0.000001000 77 Q W 0 + 8 [fio]\n",
        );
        assert!(error_of(&[empty]).contains("empty is empty"));
        assert!(error_of(&[json]).contains("`zvoltrace compare` reads it"));
        let error = error_of(&[text.clone(), recording.clone()]);
        assert!(error.contains("rec.arrow is a recording") && error.contains("trace.txt is not"));
        assert!(error_of(&[recording]).contains("message header of -1 bytes"));
        assert!(open(&[text], Options::default()).is_ok());
    }
}

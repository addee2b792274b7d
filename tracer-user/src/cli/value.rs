//! Values of the command line: sizes, durations, outputs, `--fail-on`. Each error says what was
//! given, what is wrong with it and what is right.

use std::{ffi::OsString, path::PathBuf, str::FromStr};

use clap::{
    ValueEnum,
    builder::{OsStringValueParser, PossibleValue, TypedValueParser},
};
use jiff::SignedDuration;
use serde::{Deserialize, de::IntoDeserializer, de::value::Error as DeError};

use crate::report::model::{Code, Report, Severity};

/// Smallest block size ZFS knows.
const MIN_BLOCK_BYTES: u64 = 512;
/// Largest block size ZFS knows (`large_blocks`, `zfs_max_recordsize`).
const MAX_BLOCK_BYTES: u64 = 16 << 20;
/// Smallest part of a recording: a smaller one would hold little beside its header.
const MIN_PART_BYTES: u64 = 1 << 20;
/// Largest ring: beyond it a faster reader helps more than more memory.
const MAX_RING_BYTES: u64 = 1 << 30;

/// Reads a size in bytes: `8192`, `8K`, `128K`, `1M`. Units are binary.
pub(super) fn size(text: &str) -> Result<u64, String> {
    parse_size::Config::new()
        .with_binary()
        .parse_size(text.trim())
        .map_err(|_| "not a size: write bytes or a binary unit, as in 8192, 8K or 1M".into())
}

/// Reads the size at which a part of a recording is closed.
pub(super) fn part_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes >= MIN_PART_BYTES => Ok(bytes),
        _ => Err("the smallest part of a recording is 1M".into()),
    }
}

/// Reads a block size: a power of two that ZFS can have.
pub(super) fn block_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes.is_power_of_two() && (MIN_BLOCK_BYTES..=MAX_BLOCK_BYTES).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a block size is a power of two from 512 to 16M, as in 8K or 128K".into())
    }
}

/// Reads the size of the ring: a power of two, at least a page.
pub(super) fn ring_size(text: &str) -> Result<u32, String> {
    let page = rustix::param::page_size() as u64;
    let bytes = size(text)?;
    let bounds = format!("from {}K to 1024M", page >> 10);
    if !(page..=MAX_RING_BYTES).contains(&bytes) {
        return Err(format!(
            "the kernel's ring takes a power of two {bounds}, as in 16M"
        ));
    }
    if !bytes.is_power_of_two() {
        let above = bytes.next_power_of_two();
        return Err(format!(
            "the kernel's ring takes a power of two {bounds}: the nearest are {} and {above} bytes",
            above / 2
        ));
    }
    u32::try_from(bytes).map_err(|error| error.to_string())
}

/// Reads a duration in nanoseconds: `60s`, `1m30s`, `500ms`, `2h`; a bare number is seconds.
pub(super) fn duration_ns(text: &str) -> Result<u64, String> {
    let wrong = "not a duration: write seconds or units, as in 60, 90s, 1m30s or 2h";
    let text = text.trim();
    let with_unit = if text.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{text}s")
    } else {
        text.to_owned()
    };
    let duration = SignedDuration::from_str(&with_unit).map_err(|_| wrong.to_owned())?;
    match u64::try_from(duration.as_nanos()) {
        Ok(0) => Err("a duration of 0 shows nothing: give at least 1ms".into()),
        Ok(ns) => Ok(ns),
        Err(_) => Err(wrong.into()),
    }
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: 80 columns, made to be pasted into a ticket
    Text,
    /// For programs: one object, schema zvoltrace.report/1
    Json,
    /// The text as headings and tables, for tickets that render them
    Markdown,
}

/// What `--format` takes: a form, or no report at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaybeFormat(pub Option<Format>);

impl ValueEnum for MaybeFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Some(Format::Text)),
            Self(Some(Format::Json)),
            Self(Some(Format::Markdown)),
            Self(None),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.0 {
            Some(format) => format.to_possible_value(),
            None => Some(PossibleValue::new("none").help("No report, only a recording")),
        }
    }
}

/// Form of what is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people
    Text,
    /// For programs: one object
    Json,
}

/// A second form of the same report, `FORMAT:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Also {
    /// Form.
    pub format: Format,
    /// File.
    pub path: PathBuf,
}

/// Reads [`Also`]; a path need not be UTF-8.
pub(super) fn also() -> impl TypedValueParser<Value = Also> {
    OsStringValueParser::new().try_map(|text: OsString| {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let wrong = "write FORMAT:FILE, as in json:report.json (formats: text, json, markdown)";
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|b| *b == b':').ok_or(wrong)?;
        let format = std::str::from_utf8(&bytes[..colon]).map_err(|_| wrong)?;
        let format = Format::from_str(format, false).map_err(|_| wrong)?;
        let path = PathBuf::from(OsString::from_vec(bytes[colon + 1..].to_vec()));
        if path.as_os_str().is_empty() {
            return Err(wrong);
        }
        Ok(Also { format, path })
    })
}

/// Condition of exit status 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// A verdict is at least this severe.
    Severity(Severity),
    /// A verdict has this code.
    Code(Code),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let de = || IntoDeserializer::<DeError>::into_deserializer(text);
        if let Ok(severity) = Severity::deserialize(de()) {
            return Ok(Self::Severity(severity));
        }
        // serde's message lists the codes, so that the list cannot fall behind the enum.
        Code::deserialize(de()).map(Self::Code).map_err(|error| {
            format!("neither a severity (ok, info, warning, critical) nor a code: {error}")
        })
    }
}

impl FailOn {
    /// Whether a verdict of the report meets the condition.
    #[must_use]
    pub fn is_met(self, report: &Report) -> bool {
        report.devices.iter().any(|device| match self {
            Self::Severity(least) => device.verdict.severity >= least,
            Self::Code(code) => device.verdict.code == code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary() {
        for (text, bytes) in [
            ("8192", 8192),
            ("8K", 8192),
            ("8k", 8192),
            ("8KiB", 8192),
            ("8KB", 8192),
            ("128K", 131_072),
            ("1M", 1 << 20),
            ("1.5M", 3 << 19),
            ("2G", 2 << 30),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "8X", "-8K", "eight", "99999999E"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_size_is_one_that_zfs_can_have() {
        assert_eq!(block_size("512"), Ok(512));
        assert_eq!(block_size("16M"), Ok(16 << 20));
        for text in ["0", "256", "12K", "32M"] {
            assert!(block_size(text).unwrap_err().contains("power of two"));
        }
    }

    #[test]
    fn a_ring_is_a_power_of_two_of_pages_and_the_neighbours_are_named() {
        assert_eq!(ring_size("16M"), Ok(16 << 20));
        assert_eq!(ring_size("1G"), Ok(1 << 30));
        assert!(ring_size("512").unwrap_err().contains("4K to 1024M"));
        assert!(ring_size("2G").unwrap_err().contains("4K to 1024M"));
        let error = ring_size("3M").unwrap_err();
        assert!(error.contains("2097152 and 4194304"), "{error}");
    }

    #[test]
    fn a_bare_number_is_seconds() {
        for (text, ms) in [
            ("60", 60_000),
            ("60s", 60_000),
            ("0.5", 500),
            ("1m30s", 90_000),
            ("1m 30s", 90_000),
            ("2h", 7_200_000),
            ("250ms", 250),
        ] {
            assert_eq!(duration_ns(text), Ok(ms * 1_000_000), "{text}");
        }
        for text in ["", "s", "-5s", "-5", "soon", "1 fortnight", "0", "0s"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fail_on_takes_severities_and_codes() {
        assert_eq!("warning".parse(), Ok(FailOn::Severity(Severity::Warning)));
        assert_eq!("misaligned".parse(), Ok(FailOn::Code(Code::Misaligned)));
        let error = "bad".parse::<FailOn>().unwrap_err();
        assert!(error.contains("write_smaller_than_block"), "{error}");
    }
}

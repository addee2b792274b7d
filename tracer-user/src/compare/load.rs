//! One side of a comparison, from whatever file it is in.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{
    analysis::{Collector, Options},
    report::model::{Report, SCHEMA},
    source::{
        blktrace,
        open::{Format, look, open},
    },
};

/// Largest JSON report: thousands of devices take far less.
const MAX_JSON_BYTES: u64 = 256 << 20;

/// A report, and what its file lacks.
#[derive(Debug)]
pub struct Loaded {
    /// The report of what could be read.
    pub report: Report,
    /// Why not all could be read; the caller says so.
    pub damage: Option<anyhow::Error>,
}

/// Reads a JSON report, or makes the report of a recording or a trace.
///
/// # Errors
/// The file cannot be read, or is neither.
pub fn load(path: &Path, options: blktrace::Options) -> anyhow::Result<Loaded> {
    if path.as_os_str() == "-" {
        bail!("compare reads files, not `-`");
    }
    if path.is_file() {
        let opened = look(path)?;
        if opened.format == Format::JsonReport {
            let report = json_report(opened.from, &opened.name)?;
            return Ok(Loaded {
                report,
                damage: None,
            });
        }
    }
    let mut source = open(&[PathBuf::from(path)], options)?;
    let mut collector = Collector::new(Options::default(), source.kind());
    let damage = loop {
        match source.next() {
            Ok(Some(input)) => collector.feed(&input),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let report = collector.report();
    Ok(Loaded { report, damage })
}

fn json_report(from: impl Read, name: &str) -> anyhow::Result<Report> {
    let mut text = Vec::new();
    from.take(MAX_JSON_BYTES)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read {name}"))?;
    parse(&text, name)
}

/// Reads a JSON report, for which `name` stands in messages.
///
/// # Errors
/// It is no JSON, no report, or one of another schema.
pub fn parse(text: &[u8], name: &str) -> anyhow::Result<Report> {
    #[derive(serde::Deserialize)]
    struct Tagged {
        schema: Option<String>,
    }
    let tagged: Tagged =
        serde_json::from_slice(text).with_context(|| format!("{name} is no JSON report"))?;
    match tagged.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => bail!("{name} has the schema {other}; this zvoltrace compares {SCHEMA}"),
        None => bail!("{name} is JSON, but no report: it names no schema (expected {SCHEMA})"),
    }
    serde_json::from_slice(text).with_context(|| format!("{name} is a damaged report"))
}

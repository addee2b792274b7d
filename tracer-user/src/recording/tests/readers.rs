//! What other programs make of a recording.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::given::capture;
use crate::recording::{Options, Recorder};

/// Opens the file with pyarrow, and asks `DuckDB` what it holds.
const PYARROW: &str = r#"
import sys, pyarrow as pa, duckdb
rec = pa.ipc.open_stream(sys.argv[1]).read_all()
print(rec.schema.metadata[b"zvoltrace.recording"].decode(), rec.num_rows)
print(duckdb.sql("""
    SELECT comm, op, flags, count(*), sum(bytes), min(service_ns), max(offset_bytes),
           min(pid), max(tid), count(queue_ns)
    FROM rec WHERE kind = 'io' GROUP BY ALL""").fetchall())
print(duckdb.sql("""
    SELECT json_extract_string(json, '$.dataset') FROM rec WHERE kind = 'appeared'""").fetchall())
print(duckdb.sql("SELECT kind, count(*) FROM rec GROUP BY kind ORDER BY kind").fetchall())
"#;

/// Opens the file with polars, whose reader shares no code with pyarrow's or with ours.
const POLARS: &str = r#"
import sys, polars as pl
rec = pl.read_ipc_stream(sys.argv[1])
io = rec.filter(pl.col("kind") == "io")
print(rec.height, io.height)
print(io.group_by("comm", "op", "flags").agg(
    pl.len(), pl.sum("bytes"), service_ns=pl.min("service_ns"), offset=pl.max("offset_bytes"),
    pid=pl.min("pid"), tid=pl.max("tid"), queued=pl.count("queue_ns")).rows())
kinds = rec.group_by(pl.col("kind").cast(pl.String)).len()
print(sorted(kinds.rows()))
"#;

/// Runs Python (`ZVOLTRACE_PYTHON`, else `python3`) on a recording; `None`, said aloud, where it
/// lacks the modules, which is a failure where the environment was made for it.
fn python(modules: &str, script: &str) -> Option<String> {
    let required = std::env::var("ZVOLTRACE_PYTHON");
    let python = required.as_deref().unwrap_or("python3");
    let dir = tempfile::tempdir().unwrap();
    let file = recording(dir.path());
    let run = |script: &str| {
        Command::new(python)
            .args(["-c", script])
            .arg(&file)
            .output()
    };
    let probe = run(&format!("import {modules}")).ok();
    if !probe.is_some_and(|output| output.status.success()) {
        assert!(required.is_err(), "{python} lacks one of {modules}");
        eprintln!("skipped: {python} lacks one of {modules} (`cargo xtask test` has them)");
        return None;
    }
    let output = run(script).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A recording of more than one batch.
fn recording(folder: &Path) -> PathBuf {
    let path = folder.join("rec.arrow");
    let recorder = Recorder::spawn(&path, &Options::default()).unwrap();
    for input in capture(40_000) {
        recorder.offer(input);
    }
    assert!(recorder.finish().error.is_none());
    path
}

#[test]
fn pyarrow_and_duckdb_read_a_recording() {
    let Some(output) = python("pyarrow, duckdb", PYARROW) else {
        return;
    };
    insta::assert_snapshot!(output);
}

#[test]
fn polars_reads_a_recording() {
    let Some(output) = python("polars", POLARS) else {
        return;
    };
    insta::assert_snapshot!(output);
}

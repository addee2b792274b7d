//! What other programs make of a recording.

use std::{path::Path, process::Command};

use super::given::capture;
use crate::recording::{Options, Recorder};

/// Opens the file with pyarrow, and asks `DuckDB` what it holds.
const SCRIPT: &str = r#"
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

/// Runs Python (`ZVOLTRACE_PYTHON`, else `python3`); `None`, said aloud, where it lacks what the
/// script needs, which is a failure where the environment was made for it.
fn python(script: &str, file: &Path) -> Option<String> {
    let required = std::env::var("ZVOLTRACE_PYTHON");
    let python = required.as_deref().unwrap_or("python3");
    let run = |script: &str| Command::new(python).args(["-c", script]).arg(file).output();
    let probe = run("import pyarrow, duckdb").ok();
    if !probe.is_some_and(|output| output.status.success()) {
        assert!(required.is_err(), "{python} lacks pyarrow or duckdb");
        eprintln!("skipped: {python} lacks pyarrow or duckdb (`cargo xtask test` has them)");
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

#[test]
fn pyarrow_and_duckdb_read_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rec.arrow");
    let recorder = Recorder::spawn(&path, &Options::default()).unwrap();
    for input in capture(40_000) {
        recorder.offer(input);
    }
    assert!(recorder.finish().error.is_none());
    let Some(output) = python(SCRIPT, &path) else {
        return;
    };
    insta::assert_snapshot!(output);
}

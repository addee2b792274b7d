//! `events` and `export` through the real binary.

use std::{fs, process::Output};

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::{
    binary::command,
    blkparse_text::{WRITES, trace},
};

fn run(args: &[&str]) -> Output {
    command(args).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn lines(output: &Output) -> u64 {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    text(&output.stdout).lines().count() as u64
}

#[test]
fn one_line_an_io_as_text_or_as_json() {
    let folder = TempDir::new().expect("folder");
    let trace = trace(&folder);
    assert_eq!(lines(&run(&["events", "--from", &trace])), WRITES);
    let output = run(&["events", "--from", &trace, "--format", "jsonl"]);
    assert_eq!(lines(&output), WRITES);
    for line in text(&output.stdout).lines() {
        let event: Value = serde_json::from_str(line).expect("each line is one object");
        assert!(event.is_object());
    }
}

#[test]
fn every_filter_must_be_met() {
    let folder = TempDir::new().expect("folder");
    let trace = trace(&folder);
    let shown = |filters: &[&str]| {
        let mut args = vec!["events", "--from", &trace];
        args.extend(filters);
        lines(&run(&args))
    };
    assert_eq!(
        shown(&["--op", "write", "--pid", "4321", "--comm", "k*m"]),
        WRITES
    );
    assert_eq!(shown(&["--op", "read,flush"]), 0);
    assert_eq!(shown(&["--flags", "sync,!fua"]), WRITES);
    assert_eq!(shown(&["--min-latency", "1ms"]), WRITES);
    assert_eq!(shown(&["--min-latency", "1.1ms"]), 0);
    assert_eq!(shown(&["--min-size", "8K"]), WRITES);
    assert_eq!(shown(&["--min-size", "12K"]), 0);
    assert_eq!(shown(&["--offset-range", "0-8K"]), 1);
}

#[test]
fn a_filter_that_is_wrong_is_wrong_usage() {
    for (filter, why) in [
        (["--op", "writ"], "not an operation"),
        (["--flags", "durable"], "no flag"),
        (["--offset-range", "5"], "FROM-TO"),
        (["--min-latency", "soon"], "not a duration"),
    ] {
        let output = run(&["events", "--from", "x", filter[0], filter[1]]);
        assert_eq!(output.status.code(), Some(2), "{filter:?}");
        assert!(
            text(&output.stderr).contains(why),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_lines_go_to_a_file_whole() {
    let folder = TempDir::new().expect("folder");
    let trace = trace(&folder);
    let path = folder.path().join("events.txt").display().to_string();
    let output = run(&["events", "--from", &trace, "-o", &path]);
    assert_eq!(lines(&output), 0);
    let written = fs::read_to_string(&path).expect("written");
    assert_eq!(written.lines().count() as u64, WRITES);
    let output = run(&["events", "--from", &trace, "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output.stderr).contains("free some space"),
        "{output:?}"
    );
}

#[test]
fn an_export_says_what_it_wrote_unless_it_is_quiet() {
    let folder = TempDir::new().expect("folder");
    let trace = trace(&folder);
    for (to, file) in [
        ("blktrace", "out.blktrace.0"),
        ("fio", "out"),
        ("parquet", "out"),
    ] {
        let path = folder.path().join("out").display().to_string();
        let output = run(&["export", &trace, "--to", to, "-o", &path]);
        assert_eq!(output.status.code(), Some(0), "{to}: {output:?}");
        let written = folder.path().join(file);
        assert!(fs::metadata(&written).expect("written").len() > 0, "{to}");
        assert!(
            text(&output.stderr).contains(&written.display().to_string()),
            "{to}"
        );
        let output = run(&["export", &trace, "--to", to, "-o", &path, "--quiet"]);
        assert!(
            output.stderr.is_empty() && output.stdout.is_empty(),
            "{to}: {output:?}"
        );
    }
    let back = folder.path().join("out").display().to_string();
    let output = run(&["events", "--from", &format!("{back}.blktrace.0")]);
    assert_eq!(
        lines(&output),
        WRITES,
        "what was exported reads as what it was"
    );
}

#[test]
fn an_export_needs_a_format_and_a_place() {
    for args in [
        vec!["export", "x", "-o", "y"],
        vec!["export", "x", "--to", "fio"],
        vec!["export", "--to", "fio", "-o", "y"],
        vec!["export", "x", "--to", "csv", "-o", "y"],
    ] {
        assert_eq!(run(&args).status.code(), Some(2), "{args:?}");
    }
}

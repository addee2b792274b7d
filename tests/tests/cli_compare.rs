//! `compare` through the real binary.

use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::{binary::command, blkparse_text::trace};

fn run(args: &[&str]) -> Output {
    command(args).output().expect("the binary starts")
}

/// The trace and its JSON report.
fn inputs(folder: &TempDir) -> (String, String) {
    let trace = trace(folder);
    let json = folder.path().join("report.json").display().to_string();
    let output = run(&[
        "report",
        "--block-size",
        "8K",
        &trace,
        "--format",
        "json",
        "-o",
        &json,
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (trace, json)
}

#[test]
fn a_capture_and_its_own_report_do_not_differ() {
    let folder = TempDir::new().expect("folder");
    let (trace, json) = inputs(&folder);
    let output = run(&[
        "compare",
        &trace,
        &json,
        "--block-size",
        "8K",
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let comparison: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(comparison["schema"], "zvoltrace.compare/1");
    let devices = comparison["devices"].as_array().expect("devices");
    assert_eq!(devices.len(), 1);
    let metrics = devices[0]["metrics"].as_array().expect("metrics");
    assert!(!metrics.is_empty());
    for metric in metrics {
        assert_eq!(metric["a"], metric["b"], "{metric}");
        assert_ne!(metric["beyond_noise"], true, "{metric}");
    }
}

#[test]
fn text_fits_the_page_and_redaction_hides_the_files() {
    let folder = TempDir::new().expect("folder");
    let (trace, json) = inputs(&folder);
    let output = run(&["compare", &trace, &json, "--redact"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        !text.contains(folder.path().to_str().expect("UTF-8")),
        "{text}"
    );
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn what_is_no_capture_is_named() {
    let folder = TempDir::new().expect("folder");
    let (trace, _) = inputs(&folder);
    let other = folder.path().join("other.json").display().to_string();
    std::fs::write(&other, "{\"schema\": \"else/1\"}").expect("written");
    let output = run(&["compare", &trace, &other]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8(output.stderr).expect("text");
    assert!(
        error.contains("other.json") && error.contains("else/1"),
        "{error}"
    );
}

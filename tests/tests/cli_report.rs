//! `report` through the real binary: forms, files, exit statuses, look.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::{
    binary::command,
    blkparse_text::{WRITES, trace},
};

fn run(folder: &TempDir, args: &[&str], env: &[(&str, &str)]) -> Output {
    let trace = trace(folder);
    let mut all = vec!["report", "--block-size", "128K", &trace];
    all.extend(args);
    let mut command = command(&all);
    for name in ["LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
        .envs(env.iter().copied())
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("folder")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

#[test]
fn json_has_the_counts_of_the_trace() {
    let folder = TempDir::new().expect("folder");
    let output = run(&folder, &["--format", "json"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["schema"], "zvoltrace.report/1");
    assert_eq!(report["capture"]["source"], "blktrace");
    let write = &report["devices"][0]["ops"]["write"];
    assert_eq!(write["count"], WRITES);
    assert_eq!(write["bytes"], WRITES * 8192);
    assert_eq!(write["sizes"][0]["bytes"], 8192);
    assert_eq!(write["latency_ns"]["max"], 1_000_000);
}

#[test]
fn text_is_ascii_without_a_locale_and_unicode_with_one() {
    let folder = TempDir::new().expect("folder");
    let plain = run(&folder, &[], &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]);
    assert!(plain.stdout.is_ascii());
    assert!(text(&plain.stdout).contains("####"));
    let german = run(&folder, &[], &[("LANG", "de_DE.UTF-8")]);
    assert!(text(&german.stdout).contains('█'));
    assert!(
        text(&german.stdout).contains("1.00 ms"),
        "the decimal point is a point"
    );
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let folder = TempDir::new().expect("folder");
    let has_colour = |output: Output| text(&output.stdout).contains('\u{1b}');
    assert!(!has_colour(run(&folder, &[], &[])));
    assert!(has_colour(run(
        &folder,
        &["--color", "always"],
        &[("NO_COLOR", "1")]
    )));
}

#[test]
fn the_report_is_written_in_all_forms_asked_for() {
    let folder = TempDir::new().expect("folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let also = format!("json:{}", path("b.json"));
    let other = format!("markdown:{}", path("c.md"));
    let output = run(
        &folder,
        &["-o", &path("a.txt"), "--also", &also, "--also", &other],
        &[],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty());
    assert_eq!(
        names(folder.path()),
        ["a.txt", "b.json", "c.md", "trace.txt"]
    );
    let read = |name| fs::read_to_string(path(name)).expect(name);
    assert!(read("a.txt").contains("zvoltrace"));
    assert!(read("b.json").ends_with("}\n"));
    assert!(read("c.md").starts_with("# zvoltrace"));
}

#[test]
fn an_output_that_cannot_be_written_is_named_before_anything_is_read() {
    let folder = TempDir::new().expect("folder");
    let missing = folder.path().join("none/report.txt");
    let inside = missing.to_str().expect("UTF-8");
    for (path, why) in [
        (inside, "make the folder first"),
        (folder.path().to_str().expect("UTF-8"), "is a folder"),
    ] {
        let output = run(&folder, &["-o", path], &[]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = text(&output.stderr);
        assert!(error.contains(path) && error.contains(why), "{error}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(names(folder.path()), ["trace.txt"]);
    let output = run(&folder, &["-o", "/dev/full"], &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output.stderr).contains("free some space"),
        "{output:?}"
    );
}

#[test]
fn a_verdict_decides_the_exit_status_only_when_asked() {
    let folder = TempDir::new().expect("folder");
    let report = run(&folder, &["--format", "json"], &[]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let verdict = &report["devices"][0]["verdict"];
    let code = verdict["code"].as_str().expect("a code");
    let severity = verdict["severity"].as_str().expect("a severity");
    for condition in [code, severity, "ok"] {
        let output = run(&folder, &["--fail-on", condition], &[]);
        assert_eq!(output.status.code(), Some(4), "{condition}");
        assert!(
            !output.stdout.is_empty(),
            "the report is printed all the same"
        );
    }
    assert_eq!(
        run(&folder, &["--fail-on", "idle"], &[]).status.code(),
        Some(0)
    );
}

#[test]
fn rules_are_explained_behind_the_report_when_asked() {
    let folder = TempDir::new().expect("folder");
    let plain = run(&folder, &[], &[]);
    let explained = run(&folder, &["--explain"], &[]);
    assert!(!text(&plain.stdout).contains("Why zd0"));
    let (report, why) = text(&explained.stdout)
        .split_once("Why zd0")
        .expect("explained");
    assert!(report.contains("Sizes are binary"));
    for word in ["silent  idle", "rule: ", "400 writes"] {
        assert!(why.contains(word), "{word}: {why}");
    }
    let markdown = run(&folder, &["--explain", "--format", "markdown"], &[]);
    assert!(text(&markdown.stdout).contains("## Why zd0"));
}

#[test]
fn space_is_told_when_the_layout_is() {
    let folder = TempDir::new().expect("folder");
    let raw = |args: &[&str]| {
        let output = run(&folder, args, &[]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["devices"][0]["candidates"]
            .as_array()
            .expect("candidates")
            .iter()
            .find(|candidate| candidate["block_bytes"] == 8192)
            .expect("8K is a candidate")["space_raw"]
            .clone()
    };
    assert_eq!(raw(&["--format", "json"]), Value::Null);
    assert_eq!(raw(&["--format", "json", "--layout", "raidz2:6"]), 3.0);
}

#[test]
fn redaction_hides_paths_and_keeps_the_numbers() {
    let folder = TempDir::new().expect("folder");
    let output = run(&folder, &["--redact", "--format", "json"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json = text(&output.stdout);
    assert!(
        !json.contains(folder.path().to_str().expect("UTF-8")),
        "{json}"
    );
    let report: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(report["devices"][0]["ops"]["write"]["count"], WRITES);
}

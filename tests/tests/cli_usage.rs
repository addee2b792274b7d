//! What scripts rely on: help, version, wrong usage, exit statuses, closed pipes.

use std::{
    io::Read,
    process::{Command, Output, Stdio},
};

use zvoltrace_tests::binary::command;

fn run(args: &[&str]) -> Output {
    command(args)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

#[test]
fn the_version_is_one_line_on_standard_output() {
    let output = run(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("zvoltrace "), "{output:?}");
    assert_eq!(stdout(&output).lines().count(), 1);
    assert!(stderr(&output).is_empty());
}

#[test]
fn help_goes_to_standard_output_and_fits_80_columns() {
    let verbs: Vec<String> = stdout(&run(&["--help"]))
        .lines()
        .skip_while(|line| *line != "Verbs:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(verbs.iter().any(|verb| verb == "report"), "{verbs:?}");
    for verb in &verbs {
        let output = run(&[verb, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{verb}");
        assert!(stderr(&output).is_empty(), "{verb}");
        let text = stdout(&output);
        assert!(text.contains("Usage: zvoltrace"), "{verb}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{verb}: {line}");
        }
    }
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right_on_standard_error() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: zvoltrace"),
        (&["top"], "use `zvoltrace capture`"),
        (&["top", "--from", "x"], "standard output is no terminal"),
        (&["top", "zd0", "--from", "x"], "cannot be used with"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["report"], "<INPUT>"),
        (
            &["report", "--block-size", "12K", "x"],
            "power of two from 512 to 16M",
        ),
        (&["report", "--block-size", "8X", "x"], "8192, 8K or 1M"),
        (
            &["report", "--format", "xml", "x"],
            "possible values: text, json, markdown, none",
        ),
        (&["report", "--also", "json", "x"], "FORMAT:FILE"),
        (&["report", "--also", "json:-", "x"], "a file of its own"),
        (
            &["report", "--fail-on", "awful", "x"],
            "ok, info, warning, critical",
        ),
        (
            &["report", "--fail-on", "awful", "x"],
            "write_smaller_than_block",
        ),
        (
            &["report", "--color", "sometimes", "x"],
            "auto, always, never",
        ),
        (&["report", "--layout", "raid5", "x"], "raidz2:6"),
        (&["report", "--ashift", "12", "x"], "--layout"),
        (
            &["report", "--layout", "mirror", "--ashift", "8", "x"],
            "9..=16",
        ),
        (
            &["list", "--format", "markdown"],
            "possible values: text, json",
        ),
        (&["list", "[zd"], "not a valid pattern"),
        (&["list", ""], "pattern is empty"),
        (&["completions", "tcsh"], "bash"),
        (&["man", "frobnicate"], "no verb frobnicate"),
    ];
    for (args, text) in cases {
        let output = run(args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(text),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn an_input_that_is_not_there_is_a_failure_that_names_it() {
    let output = run(&["report", "no-such-trace"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.starts_with("zvoltrace: ") && text.contains("no-such-trace"),
        "{text}"
    );
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn a_disk_that_is_not_there_is_a_missing_prerequisite() {
    for pattern in ["zd999999", "/dev/no-such-disk-at-all/x", "no/such/dataset"] {
        let output = run(&["list", pattern]);
        assert_eq!(output.status.code(), Some(3), "{pattern}: {output:?}");
        assert!(stderr(&output).contains(pattern), "{output:?}");
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn the_list_is_there_for_people_and_for_programs() {
    let output = run(&["list"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "a host without zvols is no error: {output:?}"
    );
    let output = run(&["list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["schema"], "zvoltrace.list/1");
    assert!(list["devices"].is_array());
}

#[test]
fn the_check_says_whether_the_machine_is_ready_and_the_status_says_it_too() {
    let output = run(&["check", "--format", "json"]);
    let check: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = check["checks"].as_array().expect("a list");
    assert!(checks.iter().any(|check| check["id"] == "kernel"));
    for check in checks {
        let is_ok = check["status"] == "ok";
        assert_eq!(
            check["remedy"].is_null(),
            is_ok,
            "a remedy whenever it is not ok: {check}"
        );
    }
    let missing = checks.iter().any(|check| check["status"] == "missing");
    assert_eq!(output.status.code(), Some(if missing { 3 } else { 0 }));
    assert_eq!(run(&["check"]).status.code(), output.status.code());
}

#[test]
fn completions_and_manual_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(stdout(&output).contains("zvoltrace"), "{shell}");
    }
    let manual = run(&["man"]);
    assert!(stdout(&manual).contains(".TH zvoltrace 1"), "{manual:?}");
    let manual = run(&["man", "report"]);
    assert!(stdout(&manual).contains("block\\-size"), "{manual:?}");
}

#[test]
fn a_reader_that_leaves_early_ends_it_quietly() {
    // `man` prints more than the reader takes, and the pipe is closed before it ends.
    for args in [["completions", "bash"].as_slice(), &["man"], &["--help"]] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        let mut text = String::new();
        child
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut text)
            .expect("text");
        assert_eq!(child.wait().expect("ends").code(), Some(0), "{args:?}");
        assert_eq!(text, "", "{args:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = command(&["man"])
        .stdout(full)
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("No space left"), "{output:?}");
}

#[test]
fn a_shell_sees_the_same() {
    let path = zvoltrace_tests::binary::zvoltrace();
    let output = Command::new("bash")
        .args(["-c", "set -o pipefail; \"$0\" man | head -1"])
        .arg(path)
        .output()
        .expect("bash");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stderr(&output).is_empty(), "{output:?}");
}

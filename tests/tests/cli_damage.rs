//! Files that are damaged or something else, through the real binary: the error names the file,
//! the place and the cause, and what came before is reported.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;
use zvoltrace_tests::binary::command;

/// The continuation word before each message of an Arrow stream.
const MESSAGE: [u8; 4] = [0xff; 4];

/// A recording of five writes, whole.
fn recording() -> Vec<u8> {
    of_repository("fuzz/seeds/recording/capture")
}

/// One CPU's file of a blktrace capture.
fn blktrace() -> Vec<u8> {
    of_repository("tests/fixtures/forky/blktrace-bio/zd0.blktrace.0")
}

fn of_repository(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read(root.join(path)).expect("a file of the repository")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Reports these files, which `folder` gets under their names.
fn report(folder: &TempDir, files: &[(&str, &[u8])]) -> Output {
    let mut report = command(&["report", "--format", "json"]);
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        report.arg(path);
    }
    report.output().expect("the binary starts")
}

/// The one line on standard error, with the status that a failure has.
fn error(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn assert_says(error: &str, all: &[&str]) {
    for words in all {
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// I/Os of the report, which is marked as incomplete.
fn kept(output: &Output) -> u64 {
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report all the same");
    assert_eq!(report["capture"]["complete"], false);
    let reasons = report["capture"]["incomplete_reasons"].as_array();
    assert!(reasons.is_some_and(|reasons| !reasons.is_empty()));
    report["capture"]["events"]["delivered"]
        .as_u64()
        .expect("a count")
}

/// Where the messages of a recording begin.
fn messages(recording: &[u8]) -> Vec<usize> {
    let aligned = (0..recording.len() - 8).step_by(8);
    let starts = aligned.filter(|at| {
        recording[*at..].starts_with(&MESSAGE) && !recording[at + 4..].starts_with(&MESSAGE)
    });
    starts.collect()
}

#[test]
fn a_recording_that_is_cut_off_is_reported_up_to_there() {
    let folder = TempDir::new().expect("folder");
    let whole = recording();
    let last = *messages(&whole).last().expect("messages");
    let torn = &whole[..last + 40];
    let output = report(&folder, &[("torn.arrow", torn)]);
    assert_says(
        error(&output),
        &["torn.arrow", &format!("cut off at byte {last}")],
    );
    kept(&output);
}

#[test]
fn a_recording_with_a_hostile_length_is_reported_up_to_there() {
    let folder = TempDir::new().expect("folder");
    let mut bytes = recording();
    let last = *messages(&bytes).last().expect("messages");
    bytes[last + 4..last + 8].copy_from_slice(&i32::MAX.to_le_bytes());
    let output = report(&folder, &[("hostile.arrow", &bytes)]);
    assert_says(
        error(&output),
        &["hostile.arrow", &format!("damaged at byte {last}")],
    );
    kept(&output);
}

#[test]
fn a_recording_of_another_version_says_which_and_who_wrote_it() {
    let folder = TempDir::new().expect("folder");
    let mut bytes = recording();
    let key = b"zvoltrace.recording\0";
    let at = bytes.windows(key.len()).position(|found| found == key);
    // In front of the key its length, and in front of that the padded value.
    let value = at.expect("the key") - 8;
    assert_eq!(bytes[value..value + 2], *b"1\0");
    bytes[value] = b'9';
    let output = report(&folder, &[("new.arrow", &bytes)]);
    assert_says(
        error(&output),
        &["new.arrow", "version 9", "reads version 1", "use the one"],
    );
}

#[test]
fn files_that_do_not_belong_together_are_named() {
    let folder = TempDir::new().expect("folder");
    let (recording, blktrace) = (recording(), blktrace());
    let files: [(&str, &[u8]); 2] = [("rec.arrow", &recording), ("zd0.blktrace.0", &blktrace)];
    let output = report(&folder, &files);
    assert_says(
        error(&output),
        &["rec.arrow is a recording", "zd0.blktrace.0 is not"],
    );
    let files: [(&str, &[u8]); 2] = [("a.arrow", &recording), ("b.arrow", &recording)];
    let output = report(&folder, &files);
    assert_says(error(&output), &["b.arrow", "does not join"]);
}

#[test]
fn a_file_without_bytes_or_of_no_known_kind_says_so() {
    let folder = TempDir::new().expect("folder");
    let output = report(&folder, &[("nothing", b"")]);
    assert_says(error(&output), &["nothing is empty"]);
    let output = report(&folder, &[("noise", b"\x01\x02\x03\x04\x05\x06\x07\x08")]);
    assert_says(error(&output), &["noise"]);
}

#[test]
fn a_trace_with_a_damaged_tail_is_reported_up_to_there() {
    let folder = TempDir::new().expect("folder");
    let whole = blktrace();
    for (name, bytes, cause) in [
        (
            "cut",
            whole[..whole.len() - 10].to_vec(),
            "ends inside a record",
        ),
        (
            "other",
            [&whole[..], b"no record at all, but long enough for one"].concat(),
            "not the start of a record",
        ),
    ] {
        let output = report(&folder, &[(name, &bytes)]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        kept(&output);
        let reasons: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let reasons = reasons["capture"]["incomplete_reasons"].to_string();
        assert_says(&reasons, &[name, "offset", cause]);
    }
}

#[test]
fn a_trace_of_another_protocol_is_refused_by_its_number() {
    let folder = TempDir::new().expect("folder");
    let mut bytes = blktrace();
    bytes[0] = 9;
    let output = report(&folder, &[("zd0.blktrace.0", &bytes)]);
    assert_says(error(&output), &["zd0.blktrace.0", "version 9", "7 and 8"]);
}

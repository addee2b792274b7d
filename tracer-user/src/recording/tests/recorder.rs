//! The thread and its queue, on real files.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    given::{capture, device, event, start},
    joined, read,
};
use crate::{
    input::Input,
    recording::{Options, RecordError, Recorder},
};

#[test]
fn what_is_offered_is_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rec.arrow");
    let inputs = capture(50_000);
    let recorder = Recorder::spawn(&path, &Options::default()).unwrap();
    for input in &inputs {
        recorder.offer(input.clone());
    }
    let summary = recorder.finish();
    assert!(summary.error.is_none());
    assert_eq!(
        (summary.written.events, summary.dropped_events),
        (50_000, 0)
    );
    let bytes = fs::read(&path).unwrap();
    assert_eq!(summary.written.bytes, bytes.len() as u64);
    assert_eq!(read(&[bytes]), (joined(inputs), None));
}

#[test]
fn a_batch_reaches_the_file_though_nothing_more_comes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rec.arrow");
    let options = Options {
        max_age: Duration::from_millis(50),
        ..Options::default()
    };
    let recorder = Recorder::spawn(&path, &options).unwrap();
    let inputs = [Input::Start(start()), Input::Appeared(device(0))];
    for input in &inputs {
        recorder.offer(input.clone());
    }
    let began = Instant::now();
    let found = loop {
        let (found, _) = read(&[fs::read(&path).unwrap()]);
        if found.len() == 2 || began.elapsed() > Duration::from_secs(30) {
            break found;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(found, inputs);
}

#[test]
fn events_that_find_no_room_are_counted_and_the_recording_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rec.arrow");
    let options = Options {
        queue_events: 0,
        ..Options::default()
    };
    let recorder = Recorder::spawn(&path, &options).unwrap();
    recorder.offer(Input::Start(start()));
    recorder.offer(Input::Appeared(device(0)));
    for n in 0..20_000 {
        recorder.offer(Input::Events(vec![event(0, n)]));
    }
    recorder.offer(super::given::end(2_000_000_000));
    let dropped = recorder.dropped_events();
    let summary = recorder.finish();
    assert_eq!(summary.written.events, 20_000 - dropped);
    assert!(
        dropped > 0,
        "the writer cannot have kept up with a queue of one"
    );

    let (found, error) = read(&[fs::read(&path).unwrap()]);
    assert_eq!(error, None);
    let [.., Input::Sample(sample), Input::End(end)] = &found[..] else {
        panic!("no sample and end");
    };
    assert_eq!(sample.lost.queue, dropped);
    assert!(end.incomplete_reasons[0].contains(&dropped.to_string()));
}

#[test]
fn a_full_disk_stops_the_recording_once_and_clearly() {
    let recorder = match Recorder::spawn(Path::new("/dev/full"), &Options::default()) {
        Ok(_) => panic!("the schema found room on a full disk"),
        Err(error) => error.to_string(),
    };
    assert!(
        recorder.contains("/dev/full") && recorder.contains("No space left"),
        "{recorder}"
    );
}

#[test]
fn a_disk_that_fills_up_keeps_what_is_on_it() {
    // The reader of a pipe that goes away is the failing disk.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    let of_reader = path.clone();
    let reader = std::thread::spawn(move || {
        use std::io::Read;
        let mut schema = vec![0; 64];
        fs::File::open(of_reader)
            .unwrap()
            .read_exact(&mut schema)
            .unwrap();
    });
    let recorder = Recorder::spawn(&path, &Options::default()).unwrap();
    reader.join().unwrap();
    for input in capture(100_000) {
        recorder.offer(input);
    }
    let summary = recorder.finish();
    assert!(
        matches!(summary.error, Some(RecordError::Write { .. })),
        "{:?}",
        summary.error
    );
    assert_eq!(summary.written.events + summary.dropped_events, 100_000);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let spawn = |max_bytes, max_files, path: &str| {
        let options = Options {
            max_bytes,
            max_files,
            ..Options::default()
        };
        Recorder::spawn(Path::new(path), &options)
            .unwrap_err()
            .to_string()
    };
    assert!(spawn(Some(5), None, "x").contains("smallest is 1M"));
    assert!(spawn(None, Some(3), "x").contains("--max-size"));
    assert!(spawn(Some(1 << 20), Some(0), "x").contains("at least 1"));
    assert!(spawn(Some(1 << 20), None, "-").contains("needs a file"));
    assert!(spawn(None, None, "/nowhere/rec").contains("/nowhere/rec"));
}

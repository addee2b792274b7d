//! Recordings that were rotated.

use super::{given::capture, joined, read, write};
use crate::input::{Input, Sample};

/// Far less than a user may ask for, so that few events make several parts.
const MAX_BYTES: u64 = 200_000;

fn events(inputs: &[Input]) -> u64 {
    let events = inputs.iter().map(|input| match input {
        Input::Events(events) => events.len() as u64,
        _ => 0,
    });
    events.sum()
}

fn last_sample(inputs: &[Input]) -> &Sample {
    let samples = inputs.iter().rev().find_map(|input| match input {
        Input::Sample(sample) => Some(sample),
        _ => None,
    });
    samples.unwrap()
}

#[test]
fn parts_read_together_are_the_capture_they_were_cut_from() {
    let inputs = capture(30_000);
    let mut parts = write(&inputs, Some(MAX_BYTES), true).parts();
    assert!(parts.len() > 2, "{} parts", parts.len());
    for part in &parts {
        assert!((part.len() as u64) <= MAX_BYTES, "{} bytes", part.len());
    }
    // However they are ordered on the command line.
    parts.reverse();
    let (found, error) = read(&parts);
    assert_eq!(error, None);
    assert_eq!(found, joined(inputs));
}

#[test]
fn a_part_read_alone_counts_its_own_events() {
    let inputs = capture(30_000);
    let parts = write(&inputs, Some(MAX_BYTES), true).parts();
    let mut all = 0;
    for (index, part) in parts.iter().enumerate() {
        let (found, error) = read(std::slice::from_ref(part));
        assert_eq!(error, None);
        let counters = last_sample(&found).devices[0].counters;
        assert_eq!(counters.count[1], events(&found), "part {}", index + 1);
        assert_eq!(
            counters.bytes[1],
            events(&found) * 4096,
            "part {}",
            index + 1
        );
        let Some(Input::Start(start)) = found.first() else {
            panic!("part {} does not begin with a start", index + 1);
        };
        let Some(Input::End(end)) = found.last() else {
            panic!("part {} has no end", index + 1);
        };
        assert!(!end.incomplete_reasons.is_empty());
        assert!(end.at_ns > start.started_ns);
        let later_ns = start.started_ns - 1_000_000_000;
        assert_eq!(
            start.started_unix_ns,
            1_700_000_000_000_000_000 + later_ns.cast_signed()
        );
        all += events(&found);
    }
    assert_eq!(all, 30_000);
}

#[test]
fn a_missing_part_and_a_foreign_file_are_told() {
    let parts = write(&capture(30_000), Some(MAX_BYTES), true).parts();
    let error = read(&[parts[0].clone(), parts[2].clone()]).1.unwrap();
    assert!(error.contains("a part is missing"), "{error}");
    let error = read(&[parts[1].clone(), parts[1].clone()]).1.unwrap();
    assert!(error.contains("the same part (2)"), "{error}");
}

#[test]
fn losses_before_a_part_are_not_its_own() {
    let mut inputs = capture(30_000);
    for input in &mut inputs {
        if let Input::Sample(sample) = input {
            // A hundredth of what the kernel counted found no room in the ring.
            let counters = &mut sample.devices[0].counters;
            counters.ring_lost = counters.count[1] / 100;
            counters.count[1] += counters.ring_lost;
        }
    }
    let parts = write(&inputs, Some(MAX_BYTES), true).parts();
    let (found, _) = read(&parts[1..2]);
    let counters = last_sample(&found).devices[0].counters;
    assert!(counters.ring_lost < events(&found) / 50, "{counters:?}");
    assert!(counters.count[1] >= events(&found), "{counters:?}");
}

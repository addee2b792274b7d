//! The report of a recording is the report of the capture.

use proptest::prelude::*;

use super::{
    given::{arbitrary_capture, capture, end},
    source, write,
};
use crate::{
    analysis::{Collector, Options},
    input::{Input, Overhead},
    report::model::{Report, SourceKind},
    source::Source,
};

fn live(inputs: &[Input]) -> Report {
    let mut collector = Collector::new(Options::default(), SourceKind::Live);
    for input in inputs {
        collector.feed(input);
    }
    collector.report()
}

fn replayed(inputs: &[Input], max_bytes: Option<u64>) -> Report {
    let parts = write(inputs, max_bytes, true).parts();
    let mut source = source(&parts).unwrap();
    let mut collector = Collector::new(Options::default(), source.kind());
    while let Some(input) = source.next().unwrap() {
        collector.feed(&input);
    }
    collector.report()
}

/// A report without the two fields that may differ.
fn comparable(mut report: Report) -> Report {
    report.capture.source = SourceKind::Live;
    report.capture.overhead = Overhead::default();
    report
}

/// Leaves counters that a machine can reach; the sums over devices then fit.
fn make_plausible(input: &mut Input) {
    let Input::Sample(sample) = input else {
        return;
    };
    let lost = &mut sample.lost;
    for counter in [&mut lost.recursion, &mut lost.undecodable, &mut lost.queue] {
        *counter >>= 24;
    }
    for device in &mut sample.devices {
        let counters = &mut device.counters;
        let rest = [
            &mut counters.errors,
            &mut counters.submitted,
            &mut counters.ring_lost,
            &mut counters.not_tracked,
            &mut counters.without_start,
            &mut counters.overwritten,
            &mut device.outstanding,
        ];
        for counter in counters
            .count
            .iter_mut()
            .chain(&mut counters.bytes)
            .chain(rest)
        {
            *counter >>= 24;
        }
    }
}

#[test]
fn a_replayed_capture_gives_the_report_that_was_printed_live() {
    let inputs = capture(30_000);
    let report = live(&inputs);
    assert_eq!(report.totals.write.count, 30_000);
    let alone = replayed(&inputs, None);
    assert_eq!(alone.capture.source, SourceKind::Recording);
    assert_eq!(comparable(alone), comparable(report.clone()));
    let in_parts = replayed(&inputs, Some(200_000));
    assert_eq!(comparable(in_parts), comparable(report));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_capture_replays_to_its_own_report(mut inputs in arbitrary_capture()) {
        inputs.iter_mut().for_each(make_plausible);
        if !matches!(inputs.last(), Some(Input::End(_))) {
            // Without one, a live report says that it still runs, a replayed one that it was cut.
            inputs.push(end(0));
        }
        let expected = comparable(live(&inputs));
        prop_assert_eq!(comparable(replayed(&inputs, None)), expected);
    }
}

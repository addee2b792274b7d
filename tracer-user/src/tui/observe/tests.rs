//! The observer fed with inputs of known content.

use super::*;
use crate::{
    analysis::testing::{SECOND, STARTED_NS, counted, end, sample, start, write, zvol},
    event::Event,
    input::Device,
    report::model::Code,
    tui::{
        snapshot::{JobStage, Presence, Span, Window},
        state::JobFormat,
    },
};

fn observer(inputs: &[Input]) -> Observer {
    let mut observer = Observer::new(Options::default(), SourceKind::Live, "zd*".into());
    for input in inputs {
        assert!(observer.feed(input).is_none());
    }
    observer
}

fn on(device: u32, event: Event) -> Event {
    Event {
        device: DeviceId(device),
        ..event
    }
}

/// `per_s` writes of 4K a second on a device, in the given seconds.
fn writes(device: u32, seconds: std::ops::Range<u64>, per_s: u64) -> Vec<Event> {
    seconds
        .flat_map(|s| (0..per_s).map(move |n| s * SECOND + 1 + n * 1_000))
        .map(|at| on(device, write(at, at * 4096, 4096)))
        .collect()
}

fn wanted(window: Window) -> Wanted {
    Wanted {
        window,
        ..Wanted::default()
    }
}

#[test]
fn rows_have_rates_of_the_window_and_verdicts_of_all_time() {
    let mut all = writes(0, 0..30, 20);
    all.extend(writes(1, 25..26, 5));
    all.sort_by_key(|event| event.end_ns);
    let last = sample(30, vec![counted(0, &writes(0, 0..30, 20)), counted(1, &[])]);
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 65536)),
        Input::Appeared(zvol(1, 8192)),
        Input::Events(all),
        last,
    ]);
    observer.advance(STARTED_NS + 31 * SECOND);
    observer.judge();
    assert!(observer.take_fresh() && !observer.take_fresh());
    let counts = |observer: &mut Observer, window| {
        let snapshot = observer.snapshot(&wanted(window));
        let rows = snapshot.rows.iter().map(|row| row.load.write.count);
        (rows.collect::<Vec<u64>>(), snapshot.totals.write.count)
    };
    assert_eq!(counts(&mut observer, Window::Second), (vec![20, 0], 20));
    assert_eq!(
        counts(&mut observer, Window::TenSeconds),
        (vec![200, 5], 205)
    );
    assert_eq!(counts(&mut observer, Window::Minute), (vec![600, 5], 605));
    assert_eq!(
        counts(&mut observer, Window::SinceStart),
        (vec![600, 5], 605)
    );
    let snapshot = observer.snapshot(&wanted(Window::TenSeconds));
    assert_eq!(snapshot.rows[0].load.duration_ns, 10 * SECOND);
    assert_eq!(
        snapshot.rows[0].badge.map(|badge| badge.code),
        Some(Code::WriteSmallerThanBlock)
    );
    assert_eq!(
        snapshot.rows[1].badge.map(|badge| badge.code),
        Some(Code::TooFewWrites)
    );
    let back = observer.snapshot(&Wanted {
        window: Window::Second,
        until_ns: Some(26 * SECOND),
        ..Wanted::default()
    });
    assert_eq!(
        back.span,
        Span {
            from_ns: 25 * SECOND,
            to_ns: 26 * SECOND
        }
    );
    assert_eq!(back.rows[1].load.write.count, 5);
}

#[test]
fn a_disk_below_another_traced_one_counts_once_in_the_sum() {
    let below = zvol(0, 8192);
    let above = Device {
        name: "dm-0".into(),
        dataset: None,
        stacked_on: vec![below.name.clone()],
        ..zvol(1, 8192)
    };
    let mut events = writes(0, 0..1, 10);
    events.extend(writes(1, 0..1, 10));
    let hung = |device| DeviceSample {
        outstanding: 2,
        oldest_ns: 600 * SECOND,
        ..counted(device, &[])
    };
    let mut observer = observer(&[
        start(60),
        Input::Appeared(below),
        Input::Appeared(above),
        Input::Events(events),
        sample(1, vec![hung(0), hung(1)]),
    ]);
    observer.advance(STARTED_NS + 2 * SECOND);
    let snapshot = observer.snapshot(&wanted(Window::TenSeconds));
    assert_eq!(snapshot.totals.write.count, 10);
    assert_eq!(snapshot.outstanding.count, 2);
    assert_eq!(snapshot.outstanding.oldest_ns, 600 * SECOND);
    assert_eq!(snapshot.rows[1].outstanding.count, 2);
}

#[test]
fn zvols_that_came_are_new_for_a_while_and_gone_ones_stay_for_a_while() {
    let came = Device {
        appeared_ns: Some(STARTED_NS + 5 * SECOND),
        ..zvol(1, 8192)
    };
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 8192)),
        sample(5, Vec::new()),
        Input::Appeared(came),
        Input::Vanished {
            device: DeviceId(0),
            at_ns: STARTED_NS + 6 * SECOND,
        },
    ]);
    let presence = |observer: &mut Observer, at_s: u64| -> Vec<Presence> {
        observer.advance(STARTED_NS + at_s * SECOND);
        let snapshot = observer.snapshot(&Wanted::default());
        snapshot.rows.iter().map(|row| row.presence).collect()
    };
    assert_eq!(
        presence(&mut observer, 7),
        [Presence::Vanished, Presence::New]
    );
    assert_eq!(
        presence(&mut observer, 20),
        [Presence::Vanished, Presence::There]
    );
    assert_eq!(presence(&mut observer, 67), [Presence::There]);
    assert_eq!(observer.snapshot(&Wanted::default()).header.devices, 1);
}

#[test]
fn without_a_disk_it_waits_and_says_for_what() {
    let mut observer = observer(&[start(60)]);
    let header = observer.snapshot(&Wanted::default()).header;
    assert_eq!(header.waiting_for.as_deref(), Some("zd*"));
    observer.feed(&Input::Appeared(zvol(0, 8192)));
    let header = observer.snapshot(&Wanted::default()).header;
    assert_eq!(header.waiting_for, None);
}

#[test]
fn every_loss_is_in_the_header_and_in_the_row() {
    let mut lossy = counted(0, &[]);
    lossy.counters.ring_lost = 7;
    lossy.counters.not_tracked = 1;
    let Input::Sample(mut at) = sample(1, vec![lossy]) else {
        unreachable!()
    };
    at.lost = crate::input::Lost {
        recursion: 2,
        undecodable: 3,
        queue: 4,
    };
    let mut observer = observer(&[start(60), Input::Appeared(zvol(0, 8192)), Input::Sample(at)]);
    observer.advance(STARTED_NS + 3 * SECOND);
    let snapshot = observer.snapshot(&Wanted::default());
    assert_eq!(snapshot.header.losses.total(), 7 + 1 + 2 + 3 + 4);
    assert_eq!(snapshot.rows[0].load.lost, 7);
}

#[test]
fn a_reset_counts_from_the_next_sample_on() {
    let before = writes(0, 0..3, 100);
    let after = writes(0, 3..6, 10);
    let both: Vec<Event> = before.iter().chain(&after).copied().collect();
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 8192)),
        Input::Events(before.clone()),
        sample(2, vec![counted(0, &writes(0, 0..2, 100))]),
    ]);
    observer.reset();
    for input in [
        sample(3, vec![counted(0, &before)]),
        // The last one completed before that sample and was delivered after it.
        Input::Events([&before[299..], &after].concat()),
        sample(6, vec![counted(0, &both)]),
    ] {
        observer.feed(&input);
    }
    observer.judge();
    let snapshot = observer.snapshot(&wanted(Window::SinceStart));
    assert_eq!(snapshot.rows[0].load.write.count, 30);
    assert_eq!(snapshot.span.from_ns, 3 * SECOND);
    assert_eq!(snapshot.span.to_ns, 6 * SECOND);
}

#[test]
fn a_capture_in_the_background_has_its_seconds_and_nothing_else() {
    let all = writes(0, 0..9, 100);
    let until = |s: u64| counted(0, &all[..usize::try_from(s).unwrap() * 100]);
    let slice = |from: usize, to: usize| Input::Events(all[from * 100..to * 100].to_vec());
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 65536)),
        slice(0, 2),
        sample(2, vec![until(2)]),
    ]);
    let order = Order {
        seconds: 4,
        format: JobFormat::Text,
        path: "report.txt".into(),
    };
    observer.start_job(order.clone()).unwrap();
    assert!(observer.start_job(order).is_err(), "one at a time");
    let inputs = [
        slice(2, 3),
        sample(3, vec![until(3)]),
        slice(3, 6),
        sample(6, vec![until(6)]),
        slice(6, 7),
        sample(7, vec![until(7)]),
        slice(7, 9),
    ];
    let finished: Vec<Finished> = inputs.iter().filter_map(|i| observer.feed(i)).collect();
    let [finished] = finished.try_into().unwrap();
    let report = &finished.report;
    assert_eq!(report.devices[0].ops.write.count, 400);
    assert_eq!(report.capture.duration_ns, 4 * SECOND);
    assert_eq!(report.capture.requested_ns, Some(4 * SECOND));
    assert!(
        report.capture.complete,
        "{:?}",
        report.capture.incomplete_reasons
    );
    assert_eq!(report.capture.started, "2023-11-14T22:13:23Z");
    let stage = |observer: &mut Observer| {
        let job = observer.snapshot(&Wanted::default()).job;
        job.map(|job| job.stage)
    };
    assert_eq!(stage(&mut observer), Some(JobStage::Running { left_ns: 0 }));
    observer.job_written(finished.number, Ok(()));
    assert_eq!(stage(&mut observer), Some(JobStage::Written));
}

#[test]
fn a_capture_that_is_cut_short_says_so() {
    let mut observer = observer(&[start(60), Input::Appeared(zvol(0, 8192))]);
    let order = Order {
        seconds: 60,
        format: JobFormat::Json,
        path: "report.json".into(),
    };
    observer.start_job(order).unwrap();
    observer.feed(&sample(1, Vec::new()));
    observer.advance(STARTED_NS + 3 * SECOND);
    let finished = observer.end_job("left").unwrap();
    let capture = finished.report.capture;
    assert!(!capture.complete);
    assert!(capture.incomplete_reasons.contains(&"left".to_owned()));
    assert!(observer.end_job("left").is_none(), "once");
}

#[test]
fn the_end_shows_the_last_second_and_the_whole_report() {
    let all = writes(0, 0..5, 80);
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 65536)),
        Input::Events(all.clone()),
        sample(5, vec![counted(0, &all)]),
        end(5),
    ]);
    observer.judge();
    let snapshot = observer.snapshot(&Wanted {
        detail: Some(DeviceId(0)),
        ..wanted(Window::Second)
    });
    assert_eq!(snapshot.span.to_ns, 5 * SECOND);
    assert_eq!(snapshot.rows[0].load.write.count, 80);
    let detail = snapshot.detail.unwrap();
    assert_eq!(detail.timeline.len(), 5);
    assert!(detail.rules.iter().any(|rule| rule.fired.is_some()));
    assert_eq!(detail.report.unwrap().ops.write.count, 400);
}

#[test]
fn flushes_have_their_latencies_since_the_start_too() {
    let flush = |event: Event| Event {
        op: crate::event::Op::Flush,
        bytes: 0,
        ..event
    };
    let all: Vec<Event> = writes(0, 0..3, 10).into_iter().map(flush).collect();
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 8192)),
        Input::Events(all),
        sample(3, Vec::new()),
    ]);
    observer.advance(STARTED_NS + 4 * SECOND);
    observer.judge();
    for window in [Window::Minute, Window::SinceStart] {
        let snapshot = observer.snapshot(&Wanted {
            detail: Some(DeviceId(0)),
            ..wanted(window)
        });
        let latency = snapshot.detail.unwrap().flush.latency;
        let counts = latency.iter().map(|range| range.count);
        assert_eq!(counts.sum::<u64>(), 30, "{window:?}");
    }
}

#[test]
fn counters_that_no_kernel_gives_make_no_numbers_that_no_disk_has() {
    let hostile = |device, value| DeviceSample {
        counters: DiskCounters {
            count: [value; 5],
            bytes: [value; 5],
            errors: value,
            submitted: value,
            ring_lost: value,
            not_tracked: value,
            without_start: value,
            overwritten: value,
        },
        outstanding: value,
        oldest_ns: value,
        ..counted(device, &[])
    };
    let both = |at_s, value| sample(at_s, vec![hostile(0, value), hostile(1, value)]);
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 8192)),
        Input::Appeared(zvol(1, 8192)),
        both(1, u64::MAX),
    ]);
    observer.reset();
    // They run backwards: less than what "since the start" began with.
    for input in [both(2, u64::MAX), both(3, 7), both(4, u64::MAX), both(5, 0)] {
        observer.feed(&input);
    }
    observer.advance(STARTED_NS + 7 * SECOND);
    observer.judge();
    for window in [Window::Second, Window::Minute, Window::SinceStart] {
        let snapshot = observer.snapshot(&Wanted {
            detail: Some(DeviceId(0)),
            ..wanted(window)
        });
        if window == Window::SinceStart {
            assert_eq!(snapshot.rows[0].load.write.count, 0);
        }
    }
}

#[test]
fn a_minute_moves_every_other_second_and_loses_none() {
    let mut observer = observer(&[
        start(60),
        Input::Appeared(zvol(0, 8192)),
        Input::Events(writes(0, 0..70, 10)),
    ]);
    let mut spans = Vec::new();
    for at_s in [64, 65, 66, 67] {
        observer.advance(STARTED_NS + at_s * SECOND + SECOND / 2);
        let snapshot = observer.snapshot(&wanted(Window::Minute));
        assert_eq!(snapshot.rows[0].load.write.count, 600);
        spans.push(snapshot.span.to_ns / SECOND);
    }
    assert!(
        spans.is_sorted() && spans.iter().all(|s| s.is_multiple_of(2)),
        "{spans:?}"
    );
    let until_s = |at_s: u64| Wanted {
        until_ns: Some(at_s * SECOND),
        ..wanted(Window::Minute)
    };
    assert_eq!(observer.snapshot(&until_s(65)).span.to_ns, 65 * SECOND);
}

#[test]
fn the_cost_is_that_of_the_last_second_and_a_capture_has_its_own() {
    let mut observer = observer(&[start(60), Input::Appeared(zvol(0, 8192))]);
    let cost = |observer: &mut Observer| observer.snapshot(&Wanted::default()).header.cost;
    let spent = |ms: u64| Overhead {
        kernel_ns_per_io: Some(700),
        user_cpu_ns: ms * 1_000_000,
        max_rss_bytes: 40 << 20,
    };
    let at = |s: u64| STARTED_NS + s * SECOND;
    observer.set_cost(at(1), spent(500));
    assert_eq!(cost(&mut observer), None, "one reading is no rate");
    observer.feed(&sample(1, Vec::new()));
    let order = Order {
        seconds: 2,
        format: JobFormat::Text,
        path: "report.txt".into(),
    };
    observer.start_job(order).unwrap();
    observer.feed(&sample(2, Vec::new()));
    // The same reading twice is one.
    for (s, ms) in [(2, 530), (2, 530), (4, 570)] {
        observer.set_cost(at(s), spent(ms));
    }
    let known = cost(&mut observer).unwrap();
    assert!((known.cpu_share - 0.02).abs() < 1e-9, "{known:?}");
    assert_eq!(known.kernel_ns_per_io, Some(700));
    let finished = observer.feed(&sample(4, Vec::new())).unwrap();
    assert_eq!(finished.report.capture.overhead.user_cpu_ns, 70_000_000);
    assert_eq!(finished.report.capture.overhead.kernel_ns_per_io, Some(700));
}

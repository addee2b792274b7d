//! The history against counting everything again, and its bounds.

use proptest::prelude::*;

use super::*;
use crate::{
    analysis::testing::{STARTED_NS, write},
    event::Op,
};

/// A write or flush that completes `at_ns` after the start.
fn io(device: u32, op: Op, at_ns: u64, took_ns: u64, bytes: u32) -> Event {
    let end_ns = STARTED_NS + at_ns;
    Event {
        op,
        start_ns: end_ns.saturating_sub(took_ns),
        end_ns,
        device: DeviceId(device),
        ..write(0, 0, bytes)
    }
}

fn of(events: &[Event]) -> History {
    let mut history = History::new(STARTED_NS);
    for event in events {
        history.record(std::slice::from_ref(event));
    }
    history
}

/// Within 4 %, or within the first range.
fn close(found: u64, exact: u64) -> bool {
    found.abs_diff(exact) * 25 <= exact.max(512 * 25)
}

proptest! {
    #[test]
    fn windows_match_counting_every_event_again(
        ios in prop::collection::vec((0..4_u32, any::<bool>(), 0..40_000_u64, 0..3_000_000_000_u64, 1..5_u32), 1..300),
        length_s in prop_oneof![Just(1_u64), Just(10), Just(60)],
        until_s in 0..45_u64,
    ) {
        let mut ios = ios;
        ios.sort_by_key(|io| io.2);
        let events: Vec<Event> = ios.iter().map(|(device, flush, at_ms, took, blocks)| {
            let (op, bytes) = if *flush { (Op::Flush, 0) } else { (Op::Write, blocks * 4096) };
            io(*device, op, at_ms * 1_000_000, *took, bytes)
        }).collect();
        let mut history = of(&events);
        history.finish(STARTED_NS + 45 * SECOND_NS);
        let span = history.window(length_s, Some(until_s * SECOND_NS));
        prop_assert_eq!(span.to_ns, until_s * SECOND_NS);
        prop_assert_eq!(span.from_ns, until_s.saturating_sub(length_s) * SECOND_NS);
        let inside = |event: &&Event| {
            (span.from_ns..span.to_ns).contains(&(event.end_ns - STARTED_NS))
        };
        let loads = history.loads(span, |device| device.0 != 3);
        for device in 0..4 {
            let its: Vec<&Event> = events.iter().filter(inside).filter(|e| e.device.0 == device).collect();
            let found = loads.devices.get(&DeviceId(device)).map(|(load, _)| *load).unwrap_or_default();
            for (op, load) in [(Op::Write, found.write), (Op::Flush, found.flush)] {
                let mut times: Vec<u64> = its.iter().filter(|e| e.op == op).map(|e| e.end_ns - e.start_ns).collect();
                times.sort_unstable();
                prop_assert_eq!(load.count, times.len() as u64);
                prop_assert_eq!(load.max_ns, times.last().copied());
                if let Some(p99) = load.p99_ns {
                    let exact = times[(times.len() * 99).div_ceil(100) - 1];
                    prop_assert!(close(p99, exact), "p99 {p99} for {exact}");
                }
            }
            let bytes: u64 = its.iter().map(|e| u64::from(e.bytes)).sum();
            prop_assert_eq!(found.write.bytes, bytes);
        }
        let summed = events.iter().filter(inside).filter(|e| e.device.0 != 3 && e.op == Op::Write).count();
        prop_assert_eq!(loads.total.write.count, summed as u64);
        for device in 0..4 {
            let steps = history.timeline(DeviceId(device), span.to_ns);
            prop_assert_eq!(steps.len() as u64, until_s);
            let count: u64 = steps.iter().map(|step| step.write.count + step.flush.count).sum();
            let exact = events.iter().filter(|e| e.device.0 == device && e.end_ns - STARTED_NS < span.to_ns).count();
            prop_assert_eq!(count, exact as u64);
            for step in &steps {
                let heat: u64 = step.write.heat.iter().map(|n| u64::from(*n)).sum();
                prop_assert_eq!(heat, step.write.count);
            }
        }
    }
}

#[test]
fn a_second_is_closed_a_little_after_its_end_and_latecomers_count_in_the_next() {
    let mut history = History::new(STARTED_NS);
    history.record(&[io(0, Op::Write, 900_000_000, 1, 4096)]);
    assert!(!history.advance(STARTED_NS + SECOND_NS + GRACE_NS - 1));
    history.record(&[io(0, Op::Write, 999_999_999, 1, 4096)]);
    assert!(history.advance(STARTED_NS + SECOND_NS + GRACE_NS));
    assert_eq!(history.events_in_last_second(), 2);
    history.record(&[io(0, Op::Write, 999_999_998, 1, 4096)]);
    history.advance(STARTED_NS + 3 * SECOND_NS);
    assert_eq!(
        history.events_in_last_second(),
        1,
        "the second second has the latecomer"
    );
}

#[test]
fn what_is_in_flight_is_told_of_the_windows_end_only() {
    let mut history = History::new(STARTED_NS);
    let hung = Outstanding {
        count: 3,
        oldest_ns: 600 * SECOND_NS,
    };
    history.sample(STARTED_NS + 500_000_000, DeviceId(7), hung, 2);
    history.finish(STARTED_NS + 3 * SECOND_NS);
    let at = |until_s: u64| {
        let span = history.window(10, Some(until_s * SECOND_NS));
        history.loads(span, |_| true).devices[&DeviceId(7)]
    };
    assert_eq!(at(1).1, hung);
    assert_eq!(at(3).1, Outstanding::default());
    assert_eq!(at(3).0.lost, 2);
}

#[test]
fn a_write_that_took_an_hour_is_shown_as_one() {
    let hour_ns = 3_600 * SECOND_NS;
    let mut event = io(0, Op::Write, 10, 0, 4096);
    event.start_ns = 0;
    event.end_ns = STARTED_NS + hour_ns;
    let mut history = History::new(STARTED_NS);
    history.record(&[event]);
    history.finish(STARTED_NS + hour_ns + SECOND_NS);
    let loads = history.loads(history.window(1, None), |_| true);
    assert_eq!(loads.total.write.max_ns, Some(STARTED_NS + hour_ns));
}

/// `devices` busy zvols for `seconds`, twenty writes each a second.
fn fill(history: &mut History, devices: u32, seconds: u64) {
    for second in 0..seconds {
        let events: Vec<Event> = (0..devices)
            .flat_map(|device| {
                (0..20_u64).map(move |n| {
                    let took_ns = 50_000 << (n % 7) | u64::from(device) << 6;
                    io(device, Op::Write, second * SECOND_NS + n, took_ns, 8192)
                })
            })
            .collect();
        history.record(&events);
    }
    history.finish(STARTED_NS + seconds * SECOND_NS);
}

#[test]
fn memory_stays_within_the_budget_and_what_that_costs_is_said() {
    let mut unbounded = History::new(STARTED_NS);
    fill(&mut unbounded, 20, 60);
    // Room for the seconds that stay apart, and for some tens.
    let budget_bytes = unbounded.frames_bytes / 60 * 150;
    let mut history = History::with_budget(STARTED_NS, budget_bytes);
    fill(&mut history, 20, 600);
    assert!(history.frames_bytes <= budget_bytes);
    let sum: usize = history.frames.iter().map(Frame::memory_bytes).sum();
    assert_eq!(sum, history.frames_bytes);
    let held = history.span();
    assert!(held.from_ns > 0, "the oldest are gone");
    let coarse_ns = history.coarse_until_ns().unwrap();
    assert!(coarse_ns > held.from_ns && coarse_ns + FINE_S * SECOND_NS <= held.to_ns);
    for step in history.timeline(DeviceId(3), held.to_ns) {
        let seconds = if step.from_ns < coarse_ns { 10 } else { 1 };
        assert_eq!(step.duration_ns, seconds * SECOND_NS);
        assert_eq!(step.write.count, 20 * seconds, "joining loses nothing");
    }
    let old = history.window(1, Some(held.from_ns + 15 * SECOND_NS));
    assert_eq!(
        old.to_ns - old.from_ns,
        10 * SECOND_NS,
        "and a window says what it covers"
    );
    let loads = history.loads(old, |_| true);
    assert_eq!(loads.total.write.count, 20 * 20 * 10);
}

#[test]
fn fifteen_minutes_are_kept_and_an_hour_of_silence_costs_nothing() {
    let mut history = History::new(STARTED_NS);
    fill(&mut history, 2, 1_000);
    assert_eq!(history.span().from_ns, 100 * SECOND_NS);
    assert_eq!(history.frames.len(), 900);
    history.advance(STARTED_NS + 5_000 * SECOND_NS);
    assert!(history.frames.is_empty());
    assert_eq!(history.frames_bytes, 0);
    assert_eq!(
        history.timeline(DeviceId(0), history.span().to_ns).len(),
        900
    );
}

#[test]
fn a_thousand_busy_zvols_for_fifteen_minutes_stay_within_the_budget() {
    let mut history = History::new(STARTED_NS);
    fill(&mut history, 1_000, 30);
    let a_second = history.frames_bytes / 30;
    assert!(a_second < 60 * 1_000, "{a_second} B");
    assert!(history.spare.len() <= 3 * 1_000);
}

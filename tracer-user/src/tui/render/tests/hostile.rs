//! Sizes, names and numbers that nobody foresees.

use proptest::prelude::*;

use super::{COLORFUL, PLAIN, drawn, text};
use crate::{
    event::DeviceId,
    tui::{
        column::Column,
        samples,
        snapshot::{Dominant, Snapshot, Window},
        state::{HeatOp, Prompt, Screen, Sort, State},
    },
};

const SCREENS: [Screen; 3] = [Screen::Overview, Screen::Detail, Screen::Explain];

fn all_samples() -> Vec<Snapshot> {
    vec![
        Snapshot::default(),
        samples::empty(),
        samples::lossy(),
        samples::awkward_names(),
        samples::suspended(),
        samples::comings_and_goings(),
    ]
}

#[test]
fn every_small_size_can_be_drawn() {
    let snapshots = all_samples();
    for width in 1..=34 {
        for height in 1..=10 {
            for snapshot in &snapshots {
                for screen in SCREENS {
                    let state = State {
                        screen,
                        help: width % 5 == 0,
                        filter: if width % 3 == 0 {
                            "vm".into()
                        } else {
                            String::new()
                        },
                        prompt: (width % 4 == 0).then_some(Prompt::Reset),
                        ..State::default()
                    };
                    drawn(&state, snapshot, COLORFUL, (width, height));
                }
            }
        }
    }
}

#[test]
fn the_smallest_terminal_gets_one_short_line() {
    let text_at = |size| text(&drawn(&State::default(), &samples::busy(), COLORFUL, size));
    assert_eq!(text_at((1, 1)), "3\n");
    assert_eq!(text_at((29, 2)), "3 zvols need a look\n\n");
}

#[test]
fn no_command_reaches_the_terminal_and_ascii_stays_ascii() {
    for screen in SCREENS {
        for width in [40, 80, 200] {
            let state = State {
                screen,
                filter: if width == 80 {
                    "\u{1b}[2J".into()
                } else {
                    String::new()
                },
                selected: Some(DeviceId(2)),
                ..State::default()
            };
            let snapshot = samples::awkward_names();
            let text = text(&drawn(&state, &snapshot, COLORFUL, (width, 24)));
            assert!(
                !text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\u{200b}']),
                "{text}"
            );
            let ascii = super::text(&drawn(&state, &snapshot, PLAIN, (width, 24)));
            assert!(ascii.is_ascii(), "{ascii}");
        }
    }
}

#[test]
fn drawing_twice_draws_the_same() {
    let snapshot = samples::busy();
    for screen in SCREENS {
        let state = State {
            screen,
            ..State::default()
        };
        let size = (100, 30);
        assert_eq!(
            drawn(&state, &snapshot, COLORFUL, size),
            drawn(&state, &snapshot, COLORFUL, size)
        );
    }
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..10_000_u64]
}

prop_compose! {
    fn any_snapshot()(
        sample in 0_usize..6,
        names in prop::collection::vec(any::<String>(), 9),
        numbers in prop::collection::vec(any_number(), 40),
        share in 0.0..=1.0,
        keep in 0_usize..9,
    ) -> Snapshot {
        let mut snapshot = all_samples().swap_remove(sample);
        let mut numbers = numbers.into_iter().cycle();
        let mut next = || numbers.next().unwrap_or(0);
        snapshot.rows.truncate(keep);
        for (row, name) in snapshot.rows.iter_mut().zip(names) {
            row.dataset = Some(name.into());
            row.block_bytes = Some(next());
            let load = &mut row.load;
            // The observing side sums: what does not fit into a sum cannot come from there.
            load.duration_ns = next();
            load.write.count = next();
            load.write.bytes = next() / 2;
            load.read.bytes = next() / 2;
            load.write.p99_ns = Some(next());
            load.dominant_write = Some(Dominant { bytes: next(), share });
            load.lost = next();
            load.errors = next();
            row.outstanding.count = next();
            row.outstanding.oldest_ns = next();
        }
        snapshot.span.from_ns = next();
        snapshot.span.to_ns = next();
        snapshot.header.elapsed_ns = next();
        snapshot.header.losses.ring = next();
        snapshot.window = [Window::Second, Window::Minute, Window::SinceStart][keep % 3];
        if let Some(detail) = &mut snapshot.detail {
            detail.timeline.truncate(keep * 100);
            for size in &mut detail.write.sizes {
                size.count = next() / 100;
            }
            for step in &mut detail.timeline {
                step.write.count = next();
                step.write.p99_ns = Some(next());
                step.duration_ns = step.duration_ns.max(next() % (1 << 40));
            }
        }
        snapshot
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_was_observed_can_be_drawn_at_any_size(
        snapshot in any_snapshot(),
        width in 1_u16..260,
        height in 1_u16..80,
        screen in 0_usize..3,
        scroll in any::<u16>(),
        column in 0_usize..15,
        help in any::<bool>(),
        filter in "[a-z0-9]{0,2}",
        unicode in any::<bool>(),
    ) {
        let state = State {
            screen: SCREENS[screen],
            selected: Some(DeviceId(0)),
            scroll,
            help,
            filter,
            sort: Sort { column: Column::ALL[column], descending: unicode },
            heat: if help { HeatOp::Write } else { HeatOp::Flush },
            ..State::default()
        };
        let style = if unicode { COLORFUL } else { PLAIN };
        drawn(&state, &snapshot, style, (width, height));
    }
}

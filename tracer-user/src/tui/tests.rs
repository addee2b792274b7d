//! Keys against what they do to the state: tables, without a screen.

use std::sync::Arc;

use super::{
    column::{Column, name, visible},
    keys::Key,
    snapshot::{Badge, Job, JobStage, Load, OpLoad, Presence, Replay, Row, Snapshot, Span, Window},
    state::{HeatOp, JobFormat, Prompt, Screen, State},
    update::{Effect, cursor, update},
};
use crate::{
    event::DeviceId,
    input::Mode,
    report::model::{Code, Outstanding, Severity},
};

const SECOND_NS: u64 = 1_000_000_000;

fn row(id: u32, dataset: Option<&str>, p99_ns: Option<u64>) -> Row {
    Row {
        id: DeviceId(id),
        device: format!("zd{}", id * 16).into(),
        dataset: dataset.map(Arc::from),
        vm: None,
        mode: Mode::Bio,
        block_bytes: Some(8192 << id),
        size_bytes: 1 << 30,
        presence: Presence::There,
        load: Load {
            duration_ns: SECOND_NS,
            write: OpLoad {
                count: u64::from(id) + 1,
                bytes: 4096,
                p99_ns,
                ..OpLoad::default()
            },
            ..Load::default()
        },
        outstanding: Outstanding::default(),
        badge: None,
        verdict: None,
    }
}

/// Three zvols and a disk, 100 s into a capture, the history full of it.
fn snapshot() -> Snapshot {
    let held = Span {
        from_ns: 0,
        to_ns: 100 * SECOND_NS,
    };
    Snapshot {
        rows: vec![
            row(0, Some("tank/vm-100-disk-0"), Some(5)),
            row(1, Some("tank/VM-101-disk-0"), Some(9)),
            row(2, Some("tank/vm-102-disk-0"), None),
            row(3, None, Some(1)),
        ],
        span: Span {
            from_ns: 90 * SECOND_NS,
            ..held
        },
        history: held,
        ..Snapshot::default()
    }
}

/// Types keys; the effects.
fn type_keys(state: &mut State, snapshot: &Snapshot, keys: &[Key]) -> Vec<Effect> {
    let take = |key: &Key| update(state, *key, snapshot);
    keys.iter().filter_map(take).collect()
}

fn chars(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

fn names(state: &State, snapshot: &Snapshot) -> Vec<String> {
    let rows = visible(state, snapshot);
    rows.iter().map(|row| name(row).to_owned()).collect()
}

#[test]
fn the_slowest_writes_come_first_and_what_has_none_last() {
    let (state, snapshot) = (State::default(), snapshot());
    let ids: Vec<u32> = visible(&state, &snapshot).iter().map(|r| r.id.0).collect();
    assert_eq!(ids, [1, 0, 3, 2]);
}

#[test]
fn a_zvol_whose_io_is_stuck_comes_first_though_nothing_completes() {
    let (state, mut snapshot) = (State::default(), snapshot());
    snapshot.rows[2].outstanding = Outstanding {
        count: 1,
        oldest_ns: 600 * SECOND_NS,
    };
    assert_eq!(visible(&state, &snapshot)[0].id, DeviceId(2));
}

#[test]
fn every_column_sorts_both_ways_and_keeps_every_row() {
    let snapshot = snapshot();
    let mut state = State::default();
    for _ in Column::ALL {
        let there = names(&state, &snapshot);
        type_keys(&mut state, &snapshot, &chars("S"));
        let back = names(&state, &snapshot);
        assert_eq!(there.len(), 4);
        assert_eq!(back.len(), 4);
        if state.sort.column == Column::Name {
            let reversed: Vec<String> = there.into_iter().rev().collect();
            assert_eq!(back, reversed);
        }
        type_keys(&mut state, &snapshot, &chars("Ss"));
    }
    assert_eq!(state.sort.column, Column::default(), "once round");
}

#[test]
fn the_cursor_stays_on_its_zvol_when_the_order_changes() {
    let mut snapshot = snapshot();
    let mut state = State::default();
    let at = |state: &State, snapshot: &Snapshot| cursor(state, &visible(state, snapshot));
    assert_eq!(
        at(&state, &snapshot),
        Some(DeviceId(1)),
        "on the first at first"
    );
    type_keys(&mut state, &snapshot, &[Key::Down]);
    assert_eq!(at(&state, &snapshot), Some(DeviceId(0)));
    snapshot.rows[0].load.write.p99_ns = Some(0);
    assert_eq!(at(&state, &snapshot), Some(DeviceId(0)));
    snapshot.rows.remove(0);
    assert_eq!(at(&state, &snapshot), Some(DeviceId(1)), "gone: the first");
}

#[test]
fn moving_stops_at_both_ends() {
    let snapshot = snapshot();
    for (keys, id) in [
        (vec![Key::Up], 1),
        (vec![Key::End], 2),
        (vec![Key::End, Key::Down], 2),
        (vec![Key::Char('j'), Key::Char('j')], 3),
        (vec![Key::Char('G'), Key::Char('k')], 3),
        (vec![Key::PageDown], 2),
        (vec![Key::PageDown, Key::Home], 1),
    ] {
        let mut state = State::default();
        type_keys(&mut state, &snapshot, &keys);
        assert_eq!(state.selected, Some(DeviceId(id)), "{keys:?}");
    }
    let mut state = State::default();
    type_keys(&mut state, &Snapshot::default(), &[Key::Down, Key::Enter]);
    assert_eq!(
        (state.selected, state.screen),
        (None, Screen::Overview),
        "nothing to open"
    );
}

#[test]
fn a_filter_works_while_it_is_typed_in_any_case_and_on_devices_too() {
    let snapshot = snapshot();
    let mut state = State::default();
    type_keys(&mut state, &snapshot, &chars("/vm-101"));
    assert_eq!(names(&state, &snapshot), ["tank/VM-101-disk-0"]);
    assert!(state.prompt.is_some());
    type_keys(&mut state, &snapshot, &[Key::Ctrl('u')]);
    type_keys(&mut state, &snapshot, &chars("ZD48"));
    assert_eq!(names(&state, &snapshot), ["zd48"]);
    type_keys(&mut state, &snapshot, &[Key::Backspace, Key::Enter]);
    assert_eq!((state.filter.as_str(), &state.prompt), ("ZD4", &None));
    type_keys(&mut state, &snapshot, &chars("/q"));
    assert_eq!(state.filter, "ZD4q", "letters are no commands while typing");
    type_keys(&mut state, &snapshot, &[Key::Esc]);
    assert_eq!(state.filter, "ZD4", "Esc takes back what was typed");
    type_keys(&mut state, &snapshot, &[Key::Esc]);
    assert_eq!(state.filter, "", "and once more clears it");
}

#[test]
fn escape_goes_back_one_step_at_a_time() {
    let mut snapshot = snapshot();
    snapshot.job = Some(Job {
        number: 1,
        path: "report.txt".into(),
        stage: JobStage::Written,
    });
    let mut state = State::default();
    type_keys(&mut state, &snapshot, &chars("/tank"));
    type_keys(&mut state, &snapshot, &[Key::Enter, Key::Enter]);
    type_keys(&mut state, &snapshot, &chars("hpe?"));
    let escape = |state: &mut State| type_keys(state, &snapshot, &[Key::Esc]);
    assert!(state.help);
    escape(&mut state);
    assert_eq!((state.help, state.screen), (false, Screen::Explain));
    escape(&mut state);
    assert_eq!(state.screen, Screen::Detail);
    escape(&mut state);
    assert_eq!(state.screen, Screen::Overview);
    assert_eq!(state.job_seen, 0);
    escape(&mut state);
    assert_eq!(state.job_seen, 1);
    assert!(state.paused && state.until_ns.is_some());
    escape(&mut state);
    assert!(!state.paused && state.until_ns.is_none());
    assert_eq!(state.filter, "tank");
    escape(&mut state);
    assert_eq!(state.filter, "");
    escape(&mut state);
    assert_eq!(
        State {
            selected: None,
            ..state
        },
        State {
            job_seen: 1,
            ..State::default()
        }
    );
}

#[test]
fn w_goes_round_the_windows() {
    let snapshot = snapshot();
    let mut state = State::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        type_keys(&mut state, &snapshot, &chars("w"));
        seen.push(state.window);
    }
    let round = [
        Window::Minute,
        Window::SinceStart,
        Window::Second,
        Window::TenSeconds,
    ];
    assert_eq!(seen, round);
}

#[test]
fn a_pause_keeps_the_moment_and_stops_a_recording() {
    let snapshot = snapshot();
    let mut state = State::default();
    type_keys(&mut state, &snapshot, &chars("p"));
    let wanted = state.wanted();
    assert_eq!(wanted.until_ns, Some(100 * SECOND_NS));
    assert!(wanted.frozen);
    assert_eq!(wanted.speed, 0);
    type_keys(&mut state, &snapshot, &chars("p"));
    let wanted = state.wanted();
    assert_eq!(
        (wanted.until_ns, wanted.frozen, wanted.speed),
        (None, false, 1)
    );
}

#[test]
fn going_back_in_time_ends_where_the_history_begins() {
    let mut snapshot = snapshot();
    snapshot.history.from_ns = 70 * SECOND_NS;
    let mut state = State::default();
    for until_s in [90, 80, 80] {
        type_keys(&mut state, &snapshot, &[Key::Left]);
        assert_eq!(state.until_ns, Some(until_s * SECOND_NS));
    }
    assert!(state.notice.is_some());
    type_keys(&mut state, &snapshot, &[Key::Right]);
    assert_eq!(
        (state.until_ns, &state.notice),
        (Some(90 * SECOND_NS), &None)
    );
    type_keys(&mut state, &snapshot, &[Key::Right]);
    assert_eq!(state.until_ns, None, "follows time again");
}

#[test]
fn a_recording_reads_on_and_begins_anew_where_it_can() {
    let mut snapshot = snapshot();
    snapshot.history.from_ns = 90 * SECOND_NS;
    let mut replay = Replay {
        can_rewind: true,
        ..Replay::default()
    };
    snapshot.header.replay = Some(replay);
    let mut state = State::default();
    let right = type_keys(&mut state, &snapshot, &[Key::Right]);
    assert_eq!(right, [Effect::Seek(110 * SECOND_NS)]);
    state.until_ns = Some(100 * SECOND_NS);
    let left = type_keys(&mut state, &snapshot, &[Key::Left]);
    assert_eq!(left, [Effect::Seek(90 * SECOND_NS)]);
    let ends = type_keys(&mut state, &snapshot, &chars("<>"));
    assert_eq!(ends, [Effect::Seek(0), Effect::Seek(u64::MAX)]);
    type_keys(&mut state, &snapshot, &chars("+++-"));
    assert_eq!(state.speed, 4);
    replay.can_rewind = false;
    snapshot.header.replay = Some(replay);
    assert_eq!(type_keys(&mut state, &snapshot, &chars("<")), []);
    assert!(state.notice.is_some(), "and says why");
}

#[test]
fn a_live_screen_has_no_speed() {
    let snapshot = snapshot();
    let mut state = State::default();
    assert_eq!(type_keys(&mut state, &snapshot, &chars("+<>")), []);
    assert_eq!(state, State::default());
}

#[test]
fn a_capture_takes_seconds_and_a_form() {
    let snapshot = snapshot();
    let mut state = State::default();
    let usual = [Key::Char('c'), Key::Enter];
    assert_eq!(
        type_keys(&mut state, &snapshot, &usual),
        [Effect::Capture {
            seconds: 30,
            format: JobFormat::Text
        }]
    );
    let mut keys = vec![Key::Char('c'), Key::Ctrl('u'), Key::Tab];
    keys.extend(chars("1x5"));
    keys.push(Key::Enter);
    assert_eq!(
        type_keys(&mut state, &snapshot, &keys),
        [Effect::Capture {
            seconds: 15,
            format: JobFormat::Json
        }]
    );
    for nonsense in ["0", "", "99999"] {
        let mut keys = vec![Key::Char('c'), Key::Ctrl('u')];
        keys.extend(chars(nonsense));
        keys.push(Key::Enter);
        assert_eq!(type_keys(&mut state, &snapshot, &keys), []);
        assert!(matches!(state.prompt, Some(Prompt::Capture { .. })));
        assert!(state.notice.is_some());
        type_keys(&mut state, &snapshot, &[Key::Esc]);
    }
    assert_eq!(state.prompt, None);
}

#[test]
fn a_reset_is_asked_for_twice() {
    let snapshot = snapshot();
    let mut state = State::default();
    assert_eq!(type_keys(&mut state, &snapshot, &chars("rn")), []);
    assert_eq!(
        type_keys(&mut state, &snapshot, &chars("ry")),
        [Effect::Reset]
    );
}

#[test]
fn only_what_is_looked_at_closely_is_asked_for_closely() {
    let snapshot = snapshot();
    let mut state = State::default();
    type_keys(&mut state, &snapshot, &[Key::Down]);
    assert_eq!(state.wanted().detail, None);
    type_keys(&mut state, &snapshot, &[Key::Enter]);
    assert_eq!(state.wanted().detail, Some(DeviceId(0)));
    type_keys(&mut state, &snapshot, &chars("oo"));
    assert_eq!(state.heat, HeatOp::Flush);
    type_keys(&mut state, &snapshot, &[Key::Down, Key::Down, Key::Up]);
    assert_eq!((state.scroll, state.selected), (1, Some(DeviceId(0))));
    type_keys(&mut state, &snapshot, &chars("/"));
    assert_eq!(state.screen, Screen::Overview, "a filter is for the table");
}

#[test]
fn control_c_leaves_from_everywhere() {
    let snapshot = snapshot();
    for before in ["", "/", "c", "r", "?"] {
        let mut state = State::default();
        type_keys(&mut state, &snapshot, &chars(before));
        let left = type_keys(&mut state, &snapshot, &[Key::Ctrl('c')]);
        assert_eq!(left, [Effect::Quit], "{before}");
    }
}

#[test]
fn the_worst_verdict_is_the_largest() {
    let mut snapshot = snapshot();
    for (row, severity) in snapshot.rows.iter_mut().zip([
        Severity::Warning,
        Severity::Ok,
        Severity::Critical,
        Severity::Info,
    ]) {
        row.badge = Some(Badge {
            code: Code::Fits,
            severity,
        });
    }
    let mut state = State::default();
    state.sort.column = Column::Verdict;
    let ids: Vec<u32> = visible(&state, &snapshot).iter().map(|r| r.id.0).collect();
    assert_eq!(ids, [2, 0, 3, 1]);
}

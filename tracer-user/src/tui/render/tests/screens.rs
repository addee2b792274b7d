//! Whole screens, as reviewed.

use super::{PLAIN, drawn, screen, text};
use crate::{
    event::DeviceId,
    tui::{
        column::Column,
        samples,
        snapshot::{Job, JobStage, Replay, Snapshot},
        state::{HeatOp, JobFormat, Prompt, Screen, Sort, State},
    },
};

const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 40), (200, 60)];

fn at_all_sizes(name: &str, state: &State, snapshot: &Snapshot) {
    for size in SIZES {
        let name = format!("{name}_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, screen(state, snapshot, size));
    }
}

fn of(screen: Screen) -> State {
    State {
        screen,
        selected: Some(DeviceId(0)),
        ..State::default()
    }
}

#[test]
fn nothing_to_trace_yet_reads_as_reviewed() {
    at_all_sizes("empty", &State::default(), &samples::empty());
}

#[test]
fn a_busy_host_reads_as_reviewed() {
    at_all_sizes("busy", &State::default(), &samples::busy());
}

#[test]
fn losses_read_as_reviewed() {
    at_all_sizes("lossy", &State::default(), &samples::lossy());
}

#[test]
fn a_thousand_zvols_read_as_reviewed() {
    let state = State {
        selected: Some(DeviceId(500)),
        ..State::default()
    };
    at_all_sizes("thousand", &state, &samples::thousand());
}

#[test]
fn awkward_names_read_as_reviewed() {
    at_all_sizes("awkward", &State::default(), &samples::awkward_names());
}

#[test]
fn a_suspended_pool_reads_as_reviewed() {
    at_all_sizes("suspended", &State::default(), &samples::suspended());
}

#[test]
fn comings_and_goings_read_as_reviewed() {
    at_all_sizes("comings", &State::default(), &samples::comings_and_goings());
}

#[test]
fn one_zvol_closely_reads_as_reviewed() {
    at_all_sizes("detail", &of(Screen::Detail), &samples::busy());
}

#[test]
fn a_zvol_of_a_suspended_pool_reads_as_reviewed() {
    let mut snapshot = samples::suspended();
    let detail = snapshot.detail.as_mut().unwrap();
    detail.report = None;
    insta::assert_snapshot!(
        "detail_suspended",
        screen(&of(Screen::Detail), &snapshot, (80, 24))
    );
}

#[test]
fn the_block_size_is_on_the_axis_though_no_io_has_it() {
    let mut snapshot = samples::busy();
    let detail = snapshot.detail.as_mut().unwrap();
    detail.write.sizes.retain(|size| size.bytes != 128 << 10);
    let text = screen(&of(Screen::Detail), &snapshot, (200, 60));
    let axis: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("128K *"))
        .collect();
    assert_eq!(axis.len(), 1, "{text}");
}

#[test]
fn the_end_of_a_long_page_reads_as_reviewed() {
    let state = State {
        scroll: u16::MAX,
        heat: HeatOp::Flush,
        ..of(Screen::Detail)
    };
    insta::assert_snapshot!("detail_end", screen(&state, &samples::busy(), (80, 24)));
    let middle = State {
        scroll: 30,
        ..of(Screen::Detail)
    };
    insta::assert_snapshot!("detail_middle", screen(&middle, &samples::busy(), (80, 24)));
}

#[test]
fn an_explanation_reads_as_reviewed() {
    insta::assert_snapshot!(
        "explain",
        screen(&of(Screen::Explain), &samples::busy(), (80, 24))
    );
}

#[test]
fn the_help_reads_as_reviewed() {
    let state = State {
        help: true,
        ..State::default()
    };
    at_all_sizes("help", &state, &samples::busy());
}

#[test]
fn ascii_without_colour_reads_as_reviewed() {
    let snapshot = samples::lossy();
    for (name, state) in [
        ("ascii_overview", State::default()),
        ("ascii_detail", of(Screen::Detail)),
    ] {
        let text = text(&drawn(&state, &snapshot, PLAIN, (120, 40)));
        assert!(text.is_ascii(), "{text}");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn what_is_typed_reads_as_reviewed() {
    let prompts = [
        Prompt::Filter {
            before: String::new(),
        },
        Prompt::Capture {
            seconds: "30".into(),
            format: JobFormat::Text,
        },
        Prompt::Reset,
    ];
    let screens = prompts.map(|prompt| {
        let filter = match prompt {
            Prompt::Filter { .. } => "VM-10".to_owned(),
            _ => String::new(),
        };
        let state = State {
            prompt: Some(prompt),
            filter,
            ..State::default()
        };
        screen(&state, &samples::busy(), (80, 12))
    });
    insta::assert_snapshot!("prompts", screens.join("\n"));
}

#[test]
fn an_order_by_a_column_that_has_no_room_reads_as_reviewed() {
    let state = State {
        sort: Sort {
            column: Column::ReadBytes,
            descending: true,
        },
        ..State::default()
    };
    insta::assert_snapshot!("sorted", screen(&state, &samples::busy(), (80, 12)));
}

#[test]
fn a_view_of_the_past_and_a_capture_read_as_reviewed() {
    let mut snapshot = samples::busy();
    snapshot.span.from_ns -= 123 * samples::SECOND_NS;
    snapshot.span.to_ns -= 123 * samples::SECOND_NS;
    snapshot.job = Some(Job {
        number: 1,
        path: "/root/zvoltrace-20260301-031245.txt".into(),
        stage: JobStage::Running {
            left_ns: 12 * samples::SECOND_NS,
        },
    });
    let state = State {
        paused: true,
        until_ns: Some(snapshot.span.to_ns),
        ..State::default()
    };
    let past = screen(&state, &snapshot, (80, 14));
    snapshot.header.replay = Some(Replay {
        speed: 4,
        ..Replay::default()
    });
    snapshot.header.problem = Some("/root/night.zvt ends in the middle of a batch".into());
    snapshot.job = Some(Job {
        stage: JobStage::Failed("No space left on device".into()),
        ..snapshot.job.unwrap()
    });
    let replay = screen(&State::default(), &snapshot, (80, 14));
    insta::assert_snapshot!("past_and_replay", [past, replay].join("\n"));
}

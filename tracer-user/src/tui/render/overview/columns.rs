//! The columns of the table: which there are, how much each matters, what stands in it.

use ratatui::text::Line;

use super::{
    super::{
        badge::{self, Form},
        fit::{cells, chosen, width},
        theme::{Theme, Tone},
    },
    name,
};
use crate::{
    report::units::{count, duration, mib_per_second, per_second, size, whole_percent},
    tui::{
        column::Column,
        snapshot::{Load, Presence, Row, STUCK_NS, Snapshot},
        state::State,
    },
};

/// Columns of the longest verdict behind a sign.
const SIGN_VERDICT: u16 = 14;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// Something that can be sorted by.
    Column(Column),
    /// The kernel's name of the disk, beside the dataset.
    Device,
}

/// A column of the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    shows: Shows,
    head: &'static str,
    /// Columns that its usual values take; it grows for others, and does not shrink, so that
    /// the table stands still.
    usual: u16,
    /// How soon it gives way: the higher, the sooner.
    rank: u8,
}

const fn spec(column: Column, head: &'static str, usual: u16, rank: u8) -> Spec {
    Spec {
        shows: Shows::Column(column),
        head,
        usual,
        rank,
    }
}

/// All, from left to right.
const SPECS: [Spec; 16] = [
    spec(Column::Name, "zvol", 0, 0),
    Spec {
        shows: Shows::Device,
        head: "disk",
        usual: 5,
        rank: 12,
    },
    spec(Column::Block, "block", 5, 5),
    spec(Column::ReadIops, "r/s", 6, 6),
    spec(Column::ReadBytes, "r MiB/s", 7, 15),
    spec(Column::WriteIops, "w/s", 6, 3),
    spec(Column::WriteBytes, "w MiB/s", 7, 7),
    spec(Column::WriteSize, "w size", 8, 4),
    spec(Column::WriteP50, "w p50", 7, 14),
    spec(Column::WriteP99, "w p99", 7, 2),
    spec(Column::WriteMax, "w max", 7, 8),
    spec(Column::Flushes, "flush/s", 7, 10),
    spec(Column::FlushP99, "f p99", 7, 11),
    spec(Column::InFlight, "in flight", 9, 13),
    spec(Column::Oldest, "oldest", 7, 9),
    spec(Column::Verdict, "verdict", 17, 1),
];

impl Spec {
    /// Whether it is made of words, which begin at the left.
    pub(super) fn is_text(&self) -> bool {
        matches!(
            self.shows,
            Shows::Device | Shows::Column(Column::Name | Column::Verdict)
        )
    }
}

/// The columns that fit, with their widths.
pub(super) struct Columns {
    pub(super) specs: Vec<(Spec, u16)>,
    pub(super) form: Form,
}

/// Chooses columns for `room`. The one that is sorted by is always among them.
pub(super) fn layout(
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
    rows: &[&Row],
    room: u16,
) -> Columns {
    let form = if room < 60 { Form::Sign } else { Form::Word };
    let least_name = match room {
        0..100 => (room / 3).clamp(8, 20),
        _ => 28 + (room - 100) / 5,
    };
    let wanted: Vec<u16> = SPECS
        .iter()
        .map(|spec| wanted(theme, spec, state, snapshot, rows))
        .collect();
    let things: Vec<(u8, u16)> = SPECS
        .iter()
        .zip(&wanted)
        .map(|(spec, wanted)| {
            let sorted = spec.shows == Shows::Column(state.sort.column);
            let rank = if sorted { spec.rank.min(1) } else { spec.rank };
            let needed = match spec.shows {
                Shows::Column(Column::Name) => least_name.min(*wanted),
                Shows::Column(Column::Verdict) if form == Form::Sign => SIGN_VERDICT,
                Shows::Column(Column::Verdict) => spec.usual,
                _ => *wanted,
            };
            (rank, needed)
        })
        .collect();
    let shown = chosen(&things, 1, room);
    let mut specs: Vec<(Spec, u16, u16)> = SPECS
        .iter()
        .zip(things)
        .zip(wanted)
        .zip(shown)
        .filter(|(_, shown)| *shown)
        .map(|(((spec, (_, width)), wanted), _)| (*spec, width, wanted))
        .collect();
    // What is left goes to the names first, then to the verdicts.
    let used: u16 = specs.iter().map(|(_, width, _)| width + 1).sum();
    let mut left = (room + 1).saturating_sub(used);
    for grows in [Column::Name, Column::Verdict] {
        for (spec, width, wanted) in &mut specs {
            if spec.shows == Shows::Column(grows) {
                let more = wanted.saturating_sub(*width).min(left);
                *width += more;
                left -= more;
            }
        }
    }
    Columns {
        specs: specs
            .into_iter()
            .map(|(spec, width, _)| (spec, width))
            .collect(),
        form,
    }
}

/// Columns that the widest cell of a column takes.
fn wanted(theme: Theme, spec: &Spec, state: &State, snapshot: &Snapshot, rows: &[&Row]) -> u16 {
    let rows = rows.iter().map(|row| match spec.shows {
        Shows::Column(Column::Name) => name::wanted(theme, row),
        _ => line_width(&cell(theme, spec, row, u16::MAX, Form::Word)),
    });
    // Without room the words of the totals are at their shortest; numbers stay as they are.
    let total = line_width(&total(theme, spec, snapshot, 0));
    let head = width(&head(theme, spec, state, u16::MAX));
    rows.chain([total, head, spec.usual]).max().unwrap_or(0)
}

fn line_width(line: &Line) -> u16 {
    cells(line.width())
}

/// The head of a column; the one that is sorted by has a mark.
pub(super) fn head(theme: Theme, spec: &Spec, state: &State, room: u16) -> String {
    if spec.shows != Shows::Column(state.sort.column) {
        return spec.head.into();
    }
    let mark = if state.sort.descending {
        theme.either("▼", "v")
    } else {
        theme.either("▲", "^")
    };
    let text = if spec.is_text() {
        format!("{} {mark}", spec.head)
    } else {
        format!("{mark}{}", spec.head)
    };
    if width(&text) > room {
        mark.into()
    } else {
        text
    }
}

/// A cell of a row.
pub(super) fn cell(theme: Theme, spec: &Spec, row: &Row, room: u16, form: Form) -> Line<'static> {
    let (tone, text) = match spec.shows {
        Shows::Column(Column::Name) => return name::line(theme, row, room),
        Shows::Column(Column::Verdict) => {
            let remarks = badge::remarks(row, theme.unicode());
            return badge::line(theme, &remarks, form, room);
        }
        Shows::Device => (Tone::Dim, theme.safe(&row.device)),
        Shows::Column(Column::Block) => number(row.block_bytes.map(size)),
        Shows::Column(Column::InFlight) => number(Some(count(row.outstanding.count))),
        Shows::Column(Column::Oldest) => oldest(theme, row.outstanding.oldest_ns),
        Shows::Column(column) => load_cell(theme, column, &row.load),
    };
    let tone = if row.presence == Presence::Vanished {
        Tone::Dim
    } else {
        tone
    };
    Line::from(theme.span(tone, text))
}

/// A cell of the totals.
pub(super) fn total(theme: Theme, spec: &Spec, snapshot: &Snapshot, room: u16) -> Line<'static> {
    let (tone, text) = match spec.shows {
        Shows::Column(Column::Name) => {
            let short = format!("all {}", count(snapshot.rows.len() as u64));
            let long = format!("{short}, each I/O once");
            (Tone::Plain, if width(&long) <= room { long } else { short })
        }
        Shows::Column(Column::Block | Column::Verdict) | Shows::Device => {
            return Line::default();
        }
        Shows::Column(Column::InFlight) => number(Some(count(snapshot.outstanding.count))),
        Shows::Column(Column::Oldest) => oldest(theme, snapshot.outstanding.oldest_ns),
        Shows::Column(column) => load_cell(theme, column, &snapshot.totals),
    };
    Line::from(theme.span(tone, text))
}

fn load_cell(theme: Theme, column: Column, load: &Load) -> (Tone, String) {
    let time = |ns: Option<u64>| ns.map(|ns| duration(ns, theme.unicode()));
    let rate = |n| per_second(n, load.duration_ns);
    let mib = |bytes| mib_per_second(bytes, load.duration_ns);
    number(match column {
        Column::ReadIops => Some(rate(load.read.count)),
        Column::ReadBytes => Some(mib(load.read.bytes)),
        Column::WriteIops => Some(rate(load.write.count)),
        Column::WriteBytes => Some(mib(load.write.bytes)),
        Column::WriteSize => load.dominant_write.map(|dominant| {
            format!(
                "{} {:>3}",
                size(dominant.bytes),
                whole_percent(dominant.share)
            )
        }),
        Column::WriteP50 => time(load.write.p50_ns),
        Column::WriteP99 => time(load.write.p99_ns),
        Column::WriteMax => time(load.write.max_ns),
        Column::Flushes => Some(rate(load.flush.count)),
        Column::FlushP99 => time(load.flush.p99_ns),
        Column::Name | Column::Block | Column::InFlight | Column::Oldest | Column::Verdict => None,
    })
}

fn oldest(theme: Theme, ns: u64) -> (Tone, String) {
    match ns {
        0 => number(None),
        ns if ns >= STUCK_NS => (Tone::Alarm, duration(ns, theme.unicode())),
        ns => number(Some(duration(ns, theme.unicode()))),
    }
}

/// What is nothing stands back, so that the eye finds what is something.
fn number(text: Option<String>) -> (Tone, String) {
    match text {
        None => (Tone::Dim, "-".into()),
        Some(text) if text == "0" => (Tone::Dim, text),
        Some(text) => (Tone::Plain, text),
    }
}

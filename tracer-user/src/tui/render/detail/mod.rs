//! One zvol closely: verdict, distributions, time. Panels stand in one, two or three columns,
//! and scroll where the screen is too small for them.

mod bars;
mod facts;
mod grid;
mod heat;
mod panel;
mod timeline;
mod trend;
mod verdict;

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::Line,
};

use self::panel::Panel;
use super::{
    fit::{Item, cells, dataset, line, width},
    header, page,
    theme::{Theme, Tone},
};
use crate::{
    input::Mode,
    report::units::{size, volume},
    tui::{
        column::{name, visible},
        snapshot::{Detail, Presence, Row, Snapshot},
        state::State,
        update,
    },
};

/// Columns between two columns of panels.
const GAP: u16 = 2;

/// Panels, in order of what they tell.
#[derive(Clone, Copy, Debug)]
enum Part {
    Verdict,
    Load,
    Heat,
    Reasons,
    Sizes,
    Trends,
    Latencies,
    Durable,
    Candidates,
    Submitters,
    Workload,
}

/// What the panels are made of.
#[derive(Clone, Copy)]
struct Close<'a> {
    theme: Theme,
    state: &'a State,
    snapshot: &'a Snapshot,
    row: &'a Row,
    detail: &'a Detail,
    /// What the window covers, in words.
    covered: &'a str,
}

/// Which panels stand in which column.
fn columns(width: u16) -> &'static [&'static [Part]] {
    use Part::{
        Candidates, Durable, Heat, Latencies, Load, Reasons, Sizes, Submitters, Trends, Verdict,
        Workload,
    };
    match width {
        0..110 => &[&[
            Verdict, Load, Heat, Reasons, Sizes, Trends, Latencies, Durable, Candidates,
            Submitters, Workload,
        ]],
        110..170 => &[
            &[Verdict, Load, Reasons, Durable, Candidates, Submitters],
            &[Heat, Trends, Sizes, Latencies, Workload],
        ],
        _ => &[
            &[Verdict, Load, Reasons, Durable, Workload],
            &[Sizes, Latencies, Candidates],
            &[Heat, Trends, Submitters],
        ],
    }
}

/// Draws it; says the furthest line it can begin with.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
) -> u16 {
    let [top, below] = page::split_first_line(area);
    let Some(row) = chosen(state, snapshot) else {
        frame.render_widget(
            theme.span(Tone::Heading, "This zvol is not known. Esc goes back."),
            top,
        );
        return 0;
    };
    frame.render_widget(title(theme, row, area.width), top);
    let Some(detail) = snapshot.detail_of(row.id) else {
        frame.render_widget("Its numbers come with the next look at it.", below);
        return 0;
    };
    let close = Close {
        theme,
        state,
        snapshot,
        row,
        detail,
        covered: &header::covered(state, snapshot),
    };
    let parts = columns(area.width);
    let room = page::width(below);
    let widths = Layout::horizontal(parts.iter().map(|_| Constraint::Fill(1))).spacing(GAP);
    let places = widths.split(Rect::new(0, 0, room, 1));
    let stacks: Vec<(Rect, Vec<Panel>)> = parts
        .iter()
        .zip(places.iter())
        .map(|(parts, place)| {
            let panels = parts
                .iter()
                .filter_map(|part| close.panel(*part, place.width));
            (*place, panels.collect())
        })
        .collect();
    let height = stacks.iter().map(|(_, panels)| panel::height(panels)).max();
    page::draw(
        frame,
        below,
        theme,
        height.unwrap_or(0),
        state.scroll,
        |whole, buffer| {
            for (place, panels) in stacks {
                let column = Rect {
                    height: whole.height,
                    ..place
                };
                stack(theme, panels, column, below.height, buffer);
            }
        },
    )
}

/// One below the other; what is left of the screen goes to those that can use it.
fn stack(theme: Theme, mut panels: Vec<Panel>, column: Rect, screen: u16, buffer: &mut Buffer) {
    let mut spare = screen.saturating_sub(panel::height(&panels));
    let gaps = cells(panels.len().saturating_sub(1));
    let gap = u16::from(spare >= gaps);
    spare -= gap * gaps;
    for panel in &mut panels {
        spare = panel.grow(spare);
    }
    let mut y = column.y;
    for panel in panels {
        let area = Rect {
            y,
            height: panel.lines(),
            ..column
        };
        y = y.saturating_add(area.height + gap);
        panel.draw(theme, area.intersection(column), buffer);
    }
}

impl Close<'_> {
    /// A panel for a width; none where there is nothing to show in it.
    fn panel(&self, part: Part, width: u16) -> Option<Panel> {
        match part {
            Part::Verdict => Some(verdict::panel(self, width)),
            Part::Reasons => verdict::reasons(self, width),
            Part::Load => Some(facts::load(self, width)),
            Part::Sizes => Some(bars::sizes(self, width)),
            Part::Heat => Some(heat::panel(self, width)),
            Part::Trends => Some(trend::panel(self, width)),
            Part::Latencies => bars::latencies(self, width),
            Part::Durable => facts::durable(self, width),
            Part::Candidates => facts::candidates(self, width),
            Part::Submitters => facts::submitters(self, width),
            Part::Workload => facts::workload(self, width),
        }
    }
}

/// The row that is looked at closely.
pub(super) fn chosen<'a>(state: &State, snapshot: &'a Snapshot) -> Option<&'a Row> {
    let find = |id| snapshot.rows.iter().find(|row| row.id == id);
    state
        .selected
        .and_then(find)
        .or_else(|| update::cursor(state, &visible(state, snapshot)).and_then(find))
}

/// Which zvol this is, in one line.
pub(super) fn title(theme: Theme, row: &Row, room: u16) -> Line<'static> {
    let mut about = Vec::new();
    match row.presence {
        Presence::There => {}
        Presence::New => about.push(Item::new(theme, 1, Tone::Note, "new")),
        Presence::Vanished => about.push(Item::new(theme, 1, Tone::Warning, "GONE")),
    }
    if row.dataset.is_some() {
        about.push(Item::new(theme, 2, Tone::Plain, theme.safe(&row.device)));
    }
    if let Some(vm) = row.vm {
        about.push(Item::new(theme, 4, Tone::Plain, format!("VM {vm}")));
    }
    about.push(Item::new(theme, 3, Tone::Plain, block(row)));
    if row.size_bytes > 0 {
        about.push(Item::new(
            theme,
            5,
            Tone::Plain,
            format!("size {}", volume(row.size_bytes)),
        ));
    }
    let mode = match row.mode {
        Mode::Bio => "mode bio",
        Mode::BlkMq => "mode blk-mq",
    };
    about.push(Item::new(theme, 6, Tone::Plain, mode));
    let whole = theme.safe(name(row));
    let shown = dataset(
        &whole,
        (room / 2).max(room.saturating_sub(56)),
        theme.unicode(),
    );
    let mut items = vec![Item::new(theme, 0, Tone::Heading, shown)];
    items.extend(about);
    line(items, room.max(width(&whole).min(room)))
}

fn block(row: &Row) -> String {
    match (row.block_bytes, &row.dataset) {
        (Some(bytes), Some(_)) => format!("volblocksize {}", size(bytes)),
        (Some(bytes), None) => format!("block size {}", size(bytes)),
        (None, _) => "block size not known".into(),
    }
}

//! The lines on top: where we are, whether the numbers can be trusted, and what is badly wrong.

use ratatui::{Frame, layout::Rect, text::Line};

use super::{
    fit::{self, Item, line, total},
    theme::{Theme, Tone},
};
use crate::{
    report::{
        model::SourceKind,
        prose::wrap,
        units::{clock, count, duration, percent, volume},
    },
    tui::{
        column::name,
        snapshot::{Cost, Header, PoolView, Row, STUCK_NS, Snapshot, Window},
        state::State,
    },
};

/// Word of a pool that is well.
const WELL: &str = "ONLINE";

/// The lines for an area of this width and height: two, or one on a low screen, and those that
/// cry out.
pub(super) fn lines(
    theme: Theme,
    state: &State,
    snapshot: &Snapshot,
    width: u16,
    height: u16,
) -> Vec<Line<'static>> {
    let mut lines = vec![first(theme, &snapshot.header, width)];
    if height >= 8 {
        lines.push(second(theme, state, snapshot, width));
    }
    lines.extend(alarms(theme, snapshot, width, usize::from(height / 4)));
    lines
}

/// Draws them.
pub(super) fn draw(frame: &mut Frame, area: Rect, lines: &[Line<'static>]) {
    for (line, row) in lines.iter().zip(area.rows()) {
        frame.render_widget(line, row);
    }
}

fn first(theme: Theme, header: &Header, width: u16) -> Line<'static> {
    let lost = header.losses.total();
    let mut items = vec![
        Item::new(theme, 5, Tone::Heading, "zvoltrace"),
        Item::new(theme, 3, Tone::Plain, theme.safe(&header.hostname)),
    ];
    let zfs = match &header.zfs_version {
        Some(version) => format!("ZFS {}", theme.safe(version)),
        None => "no ZFS".into(),
    };
    items.push(Item::new(theme, 4, Tone::Plain, zfs));
    items.push(Item::new(theme, 2, Tone::Plain, running(header)));
    let rate = format!("{} I/Os/s", count(header.events_per_s));
    items.push(Item::new(theme, 1, Tone::Plain, rate));
    items.push(match lost {
        0 => Item::new(theme, 0, Tone::Dim, "lost 0"),
        lost => Item::new(theme, 0, Tone::Alarm, format!("LOST {}", count(lost))),
    });
    items.push(Item::new(
        theme,
        6,
        Tone::Dim,
        format!("Linux {}", theme.safe(&header.kernel)),
    ));
    line(items, width)
}

/// Where the numbers come from and for how long.
fn running(header: &Header) -> String {
    let source = match (&header.replay, header.source) {
        (Some(replay), _) if replay.ended => "recording (ended)".into(),
        (Some(replay), _) if replay.seeking => "recording (reading on)".into(),
        (Some(replay), _) if replay.speed == 0 => "recording (stands still)".into(),
        (Some(replay), _) => format!("recording {}x", replay.speed),
        (None, Some(SourceKind::Live)) => "live".into(),
        (None, Some(SourceKind::Recording)) => "recording".into(),
        (None, Some(SourceKind::Blktrace)) => "blktrace".into(),
        (None, None) => "starting".into(),
    };
    format!("{source} {}", clock(header.elapsed_ns))
}

fn second(theme: Theme, state: &State, snapshot: &Snapshot, width: u16) -> Line<'static> {
    let pools = &snapshot.header.pools;
    let healthy = || pools.iter().filter(|pool| is_well(pool));
    let together = |healthy: Vec<Item>| {
        let mut items = Vec::new();
        if state.paused {
            items.push(Item::new(theme, 0, Tone::Warning, "PAUSED"));
        }
        items.push(Item::new(theme, 1, Tone::Heading, covered(state, snapshot)));
        let sick = pools.iter().filter(|pool| !is_well(pool));
        items.extend(sick.map(|pool| Item::new(theme, 2, Tone::Alarm, pool_text(theme, pool))));
        items.extend(healthy);
        items
    };
    let good = |text: String| Item::new(theme, 3, Tone::Good, text);
    // The more words the better; of many pools only the number.
    let forms = [
        healthy().map(|pool| good(synced(theme, pool))).collect(),
        healthy().map(|pool| good(pool_text(theme, pool))).collect(),
        vec![good(format!("{} pools {WELL}", healthy().count()))],
    ];
    let [long, short, summary] = forms.map(together);
    let fitting = [long, short]
        .into_iter()
        .find(|items| total(items) <= width);
    let mut items = fitting.unwrap_or(summary);
    let cost = snapshot.header.cost.as_ref();
    items.extend(cost.map(|cost| Item::new(theme, 4, Tone::Dim, own_cost(theme, cost, u16::MAX))));
    line(items, width)
}

/// What tracing costs, in as many words as there is room for; whole numbers or none.
pub(super) fn own_cost(theme: Theme, cost: &Cost, room: u16) -> String {
    let process = format!(
        "own cost {} of a core, {}",
        percent(cost.cpu_share),
        volume(cost.max_rss_bytes)
    );
    let kernel = cost.kernel_ns_per_io.map(|ns| {
        let ns = duration(ns, theme.unicode());
        format!("{process}, {ns} an I/O in the kernel")
    });
    kernel
        .filter(|text| fit::width(text) <= room)
        .unwrap_or(process)
}

/// What the numbers of the screen cover.
pub(super) fn covered(state: &State, snapshot: &Snapshot) -> String {
    let span = snapshot.span;
    let length_ns = span.to_ns.saturating_sub(span.from_ns);
    let whole_ns = match snapshot.window {
        Window::Second => Some(1_000_000_000),
        Window::TenSeconds => Some(10_000_000_000),
        Window::Minute => Some(60_000_000_000),
        Window::SinceStart => None,
    };
    let seconds = length_ns / 1_000_000_000;
    if snapshot.window == Window::SinceStart && span.from_ns == 0 {
        return "since the start".into();
    }
    if snapshot.window == Window::SinceStart {
        return format!("since {} (reset)", clock(span.from_ns));
    }
    if seconds == 0 {
        return "first second".into();
    }
    let short = if whole_ns.is_some_and(|whole_ns| length_ns < whole_ns) {
        " so far"
    } else {
        ""
    };
    if state.until_ns.is_none() {
        return format!("last {seconds} s{short}");
    }
    let ago_ns = snapshot.header.elapsed_ns.saturating_sub(span.to_ns);
    format!(
        "{seconds} s until {}, {} ago",
        clock(span.to_ns),
        clock(ago_ns)
    )
}

fn is_well(pool: &PoolView) -> bool {
    pool.state.as_deref() == Some(WELL)
}

fn pool_text(theme: Theme, pool: &PoolView) -> String {
    let name = theme.safe(&pool.name);
    match &pool.state {
        Some(state) => format!("{name} {}", theme.safe(state)),
        None => format!("{name} state not readable"),
    }
}

/// The pool, and how long its latest transaction group took to reach the disks.
fn synced(theme: Theme, pool: &PoolView) -> String {
    let text = pool_text(theme, pool);
    match pool.sync_ns {
        Some(ns) => format!("{text} (txg sync {})", duration(ns, theme.unicode())),
        None => text,
    }
}

/// What must not be overlooked, wrapped, the worst first; at least one line of it, at most
/// `room`.
fn alarms(theme: Theme, snapshot: &Snapshot, width: u16, room: usize) -> Vec<Line<'static>> {
    let header = &snapshot.header;
    let time = |ns| duration(ns, theme.unicode());
    let mut texts = Vec::new();
    if let Some(problem) = &header.problem {
        texts.push((Tone::Alarm, format!("Ended early: {}", theme.safe(problem))));
    }
    for pool in header
        .pools
        .iter()
        .filter(|pool| pool.state.as_deref() == Some("SUSPENDED"))
    {
        let name = theme.safe(&pool.name);
        texts.push((
            Tone::Alarm,
            format!("Pool {name} is SUSPENDED: its I/O hangs until the disks are back and `zpool clear {name}` is run"),
        ));
    }
    let waiting = snapshot.outstanding;
    if waiting.oldest_ns >= STUCK_NS {
        let waits = format!(
            "{} I/Os have not completed, the oldest for {}{}",
            count(waiting.count),
            time(waiting.oldest_ns),
            stuck(theme, snapshot)
        );
        texts.push((Tone::Alarm, waits));
    }
    if header.losses.total() > 0 {
        texts.push((Tone::Alarm, losses(header)));
    }
    for defect in &header.known_defects {
        texts.push((Tone::Warning, theme.safe(defect)));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (tone, text) in texts {
        // Room for the dots of what is cut off.
        let width = usize::from(width.saturating_sub(4)).max(1);
        for text in wrap("", "  ", &text, width) {
            lines.push(Line::from(theme.span(tone, text)));
        }
    }
    let room = room.max(1);
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            last.push_span(theme.either(" …", " ..."));
        }
    }
    lines
}

/// Which zvols have I/O that hangs, the worst by name.
fn stuck(theme: Theme, snapshot: &Snapshot) -> String {
    let stuck = |row: &&Row| row.outstanding.oldest_ns >= STUCK_NS;
    let stuck = snapshot.rows.iter().filter(stuck);
    let worst = stuck.clone().max_by_key(|row| row.outstanding.oldest_ns);
    let others = stuck.count().saturating_sub(1) as u64;
    match (worst.map(|row| theme.safe(name(row))), others) {
        (None, _) => String::new(),
        (Some(name), 0) => format!(": {name}"),
        (Some(name), others) => format!(": {name} and {} more", count(others)),
    }
}

fn losses(header: &Header) -> String {
    let losses = &header.losses;
    let by_cause = [
        (losses.ring, "ring full (a larger --ring-size helps)"),
        (losses.queue, "screen too slow"),
        (losses.not_tracked, "too many in flight"),
        (losses.recursion, "skipped by the kernel"),
        (losses.undecodable, "not decodable"),
    ];
    let causes: Vec<String> = by_cause
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)))
        .collect();
    format!(
        "{} I/Os lost, missing in sizes and latencies: {}",
        count(losses.total()),
        causes.join(", ")
    )
}

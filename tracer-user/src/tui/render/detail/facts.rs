//! What is known of the zvol in tables and labelled lines.

use ratatui::text::Line;

use super::{
    super::{fit::paragraph, theme::Tone},
    Close,
    grid::grid,
    panel::{Panel, Piece, labelled},
};
use crate::{
    report::{
        content::{self, Table, workload_facts},
        units::{count, duration, mib_per_second, per_second, percent_of},
    },
    tui::snapshot::{OpLoad, STUCK_NS},
};

/// Rates and latencies by operation in the window.
pub(super) fn load(close: &Close, room: u16) -> Panel {
    let theme = close.theme;
    let load = &close.row.load;
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| duration(ns, theme.unicode()));
    let row = |name: &str, op: &OpLoad| {
        vec![
            name.to_owned(),
            per_second(op.count, load.duration_ns),
            mib_per_second(op.bytes, load.duration_ns),
            time(op.p50_ns),
            time(op.p99_ns),
            time(op.max_ns),
        ]
    };
    let mut rows = vec![row("writes", &load.write), row("reads", &load.read)];
    let mut flushes = row("flushes", &load.flush);
    flushes[2] = "-".into();
    rows.push(flushes);
    if load.discard.count > 0 {
        rows.push(row("discards", &load.discard));
    }
    let table = Table {
        head: vec!["", "IOPS", "MiB/s", "p50", "p99", "max"],
        rows,
        words: 1,
    };
    let mut lines = in_flight(close, room);
    let mut alarm = |label, n: u64, what: &str| {
        if n > 0 {
            let text = format!("{} {what}", count(n));
            lines.extend(labelled(theme, Tone::Alarm, label, &text, room));
        }
    };
    alarm("errors", load.errors, "I/Os completed with an error");
    alarm("lost", load.lost, "I/Os are missing in these numbers");
    let title = format!("load, {}", close.covered);
    Panel::new(title, vec![grid(theme, &table, room), Piece::lines(lines)])
}

fn in_flight(close: &Close, room: u16) -> Vec<Line<'static>> {
    let outstanding = close.row.outstanding;
    let tone = if outstanding.oldest_ns >= STUCK_NS {
        Tone::Alarm
    } else {
        Tone::Plain
    };
    let text = match outstanding.count {
        0 => "none".into(),
        n => format!(
            "{}, the oldest for {}",
            count(n),
            duration(outstanding.oldest_ns, close.theme.unicode())
        ),
    };
    labelled(close.theme, tone, "in flight", &text, room)
}

/// What the guest wants to be safe, in the window.
pub(super) fn durable(close: &Close, room: u16) -> Option<Panel> {
    let (load, sync) = (&close.row.load, &close.detail.sync);
    if load.write.count == 0 && load.flush.count == 0 {
        return None;
    }
    let theme = close.theme;
    let writes = load.write.count;
    let durable = match sync.durable_writes {
        0 => "none: the guest relies on flushes alone".into(),
        n => format!(
            "{} ({} of writes): {} FUA, {} preflush with data",
            count(n),
            percent_of(n, writes),
            count(sync.fua),
            count(sync.preflush_with_data)
        ),
    };
    let flushes = match (load.flush.count, load.flush.p99_ns) {
        (0, _) => "none".into(),
        (n, Some(p99_ns)) => format!(
            "{} ({}/s), p99 {}",
            count(n),
            per_second(n, load.duration_ns),
            duration(p99_ns, theme.unicode())
        ),
        (n, None) => format!("{} ({}/s)", count(n), per_second(n, load.duration_ns)),
    };
    let mut lines = labelled(theme, Tone::Plain, "durable", &durable, room);
    lines.extend(labelled(theme, Tone::Plain, "flushes", &flushes, room));
    if sync.hinted > 0 {
        let text = format!(
            "on {} of writes; ZFS ignores it",
            percent_of(sync.hinted, writes)
        );
        lines.extend(labelled(theme, Tone::Plain, "SYNC hint", &text, room));
    }
    let title = format!("sync, {}", close.covered);
    Some(Panel::new(title, vec![Piece::lines(lines)]))
}

/// This workload on other block sizes.
pub(super) fn candidates(close: &Close, room: u16) -> Option<Panel> {
    let (text, table) = content::candidates(close.detail.report.as_deref()?)?;
    let theme = close.theme;
    let lines = paragraph(theme, Tone::Dim, "", "", &text, room);
    let pieces = vec![grid(theme, &table, room), Piece::lines(lines)];
    Some(Panel::new(
        "block sizes for this workload, since the start",
        pieces,
    ))
}

/// Who submits.
pub(super) fn submitters(close: &Close, room: u16) -> Option<Panel> {
    let table = content::submitters(close.detail.report.as_deref()?)?;
    Some(Panel::new(
        "who submits, since the start",
        vec![grid(close.theme, &table, room)],
    ))
}

/// What else the guest does.
pub(super) fn workload(close: &Close, room: u16) -> Option<Panel> {
    let report = close.detail.report.as_deref()?;
    let facts = workload_facts(report, close.snapshot.header.elapsed_ns);
    let lines: Vec<Line> = facts
        .into_iter()
        // The window's own stands in the panel of flushes and FUA.
        .filter(|fact| fact.label != "durable")
        .flat_map(|fact| {
            let tone = if fact.loud {
                Tone::Warning
            } else {
                Tone::Plain
            };
            labelled(close.theme, tone, fact.label, &fact.text, room)
        })
        .collect();
    (!lines.is_empty()).then(|| Panel::new("workload, since the start", vec![Piece::lines(lines)]))
}

//! A comparison as text: what differs beyond noise stands out by a word, not only by a colour.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{Comparison, DevicePair, Metric, Side, Unit};
use crate::report::{
    prose::{printable, wrap},
    units::{count, duration, factor, percent, size, three_digits, volume},
};

/// Columns of the page.
const WIDTH: usize = 80;
/// The same for the table, whose last column ends with a blank.
const WIDTH_OF_TABLE: u16 = 81;

/// Renders a comparison; `unicode` allows more than ASCII.
#[must_use]
pub fn render(comparison: &Comparison, unicode: bool) -> String {
    let mut parts = vec![
        side("A", &comparison.a, unicode),
        side("B", &comparison.b, unicode),
    ];
    parts.extend(comparison.devices.iter().map(|pair| device(pair, unicode)));
    if comparison.devices.is_empty() {
        parts.push("\nNo device is in both captures.\n".to_owned());
    }
    for (which, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        let names = only.iter().map(|name| {
            format!(
                "\n{}",
                paragraph(&format!("only in {which}: {}", printable(name)))
            )
        });
        parts.extend(names);
    }
    let method = format!("Method: {}", comparison.method);
    parts.push(format!("\n{}", paragraph(&method)));
    parts.concat()
}

fn side(which: &str, side: &Side, unicode: bool) -> String {
    let mut facts = vec![printable(&side.hostname)];
    // An input without wall-clock time begins at the epoch.
    if !side.started.starts_with("1970-01-01T00:00:00") {
        facts.push(printable(&side.started));
    }
    facts.push(duration(side.duration_ns, unicode));
    facts.extend(
        side.zfs_version
            .as_deref()
            .map(|zfs| format!("ZFS {}", printable(zfs))),
    );
    if !side.complete {
        facts.push("INCOMPLETE".to_owned());
    }
    facts.retain(|fact| !fact.is_empty());
    let text = format!("{}: {}", printable(&side.name), facts.join(", "));
    lines(&format!("{which}  "), "   ", &text)
}

fn paragraph(text: &str) -> String {
    lines("", "", text)
}

fn lines(first: &str, rest: &str, text: &str) -> String {
    wrap(first, rest, text, WIDTH).join("\n") + "\n"
}

fn device(pair: &DevicePair, unicode: bool) -> String {
    let mut title = vec![printable(&pair.device_a)];
    if pair.device_a != pair.device_b {
        title.push(format!("and {}", printable(&pair.device_b)));
    }
    title.extend(pair.dataset.as_deref().map(printable));
    let block = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), size);
    let of_a = block(pair.volblocksize_a_bytes);
    let of_b = block(pair.volblocksize_b_bytes);
    title.push(if of_a == of_b {
        format!("block size {of_a}")
    } else {
        format!("block size {of_a} in A, {of_b} in B")
    });
    let verdict = &pair.verdict;
    let word = if verdict.changed {
        "changed"
    } else {
        "the same"
    };
    let title = lines("", "  ", &title.join("  "));
    let mut parts = vec![format!("\n{title}verdict {word}\n")];
    for (which, brief) in [("A", &verdict.a), ("B", &verdict.b)] {
        let text = format!(
            "{} {}: {}",
            brief.severity,
            brief.code,
            printable(&brief.summary)
        );
        parts.push(lines(&format!("  {which}  "), "     ", &text));
    }
    parts.push(table(&pair.metrics, unicode));
    parts.concat()
}

/// The metrics, those of one kind below its name.
fn table(metrics: &[Metric], unicode: bool) -> String {
    let mut table = Table::new();
    // What the units allow fits; a number beyond all measure wraps.
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH_OF_TABLE);
    table.set_header(["", "A", "B", "difference", "B/A", "noise"]);
    for of_kind in metrics.chunk_by(|one, next| split(one).0 == split(next).0) {
        let (kind, first) = split(&of_kind[0]);
        if of_kind.len() == 1 {
            table.add_row(row(&of_kind[0], format!("{kind} {first}"), unicode));
            continue;
        }
        table.add_row([kind]);
        for metric in of_kind {
            table.add_row(row(metric, format!("  {}", split(metric).1), unicode));
        }
    }
    for (n, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if n < 3 { 2 } else { 1 }));
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// What a metric is of, and what it is, in words: `write` and `latency p99`.
fn split(metric: &Metric) -> (&str, String) {
    let (kind, rest) = metric.key.split_once('.').unwrap_or(("", &metric.key));
    let words = rest.replace("_ns.", " ").replace("_bytes", "");
    // As the report writes it.
    let words = words.replace("p999", "p99.9");
    (kind, words.replace('_', " "))
}

fn row(metric: &Metric, name: String, unicode: bool) -> [String; 6] {
    let value = |value: Option<f64>| match value {
        Some(value) => in_unit(value, metric.unit, unicode),
        None => "-".to_owned(),
    };
    let difference = metric.difference.map_or_else(
        || "-".to_owned(),
        |difference| match metric.unit {
            Unit::Share => format!("{:+.1} points", difference * 100.0),
            unit if difference < 0.0 => format!("-{}", in_unit(-difference, unit, unicode)),
            unit => format!("+{}", in_unit(difference, unit, unicode)),
        },
    );
    let ratio = match metric.ratio {
        None => "-".to_owned(),
        Some(ratio) if ratio >= 9999.5 => ">9,999x".to_owned(),
        Some(ratio) => factor(ratio),
    };
    let noise = match metric.beyond_noise {
        Some(true) => "beyond",
        Some(false) => "within",
        None => "",
    };
    let (a, b) = (value(metric.a), value(metric.b));
    [name, a, b, difference, ratio, noise.to_owned()]
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts of a report: whole, not negative, far below 2^53"
)]
fn in_unit(value: f64, unit: Unit, unicode: bool) -> String {
    let whole = value.round() as u64;
    match unit {
        Unit::Ns => duration(whole, unicode),
        Unit::Bytes if whole < 1 << 20 => size(whole),
        Unit::Bytes => volume(whole),
        Unit::PerSecond => format!("{}/s", three_digits(value)),
        Unit::BytesPerSecond => format!("{}/s", volume(whole)),
        Unit::Share => percent(value),
        Unit::Factor => factor(value),
        Unit::Count if value.fract() == 0.0 => count(whole),
        Unit::Count => three_digits(value),
    }
}

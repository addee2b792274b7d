//! Facts about the whole capture: machine, completeness, pools, cost.

use super::{
    super::{
        model::{Pool, Report, SourceKind},
        units::{count, duration, percent, volume},
    },
    Fact, printable,
};

/// Facts that stand above all devices.
pub(in super::super) fn capture_facts(report: &Report, unicode: bool) -> Vec<Fact> {
    let time = |ns| duration(ns, unicode);
    let mut facts = vec![
        Fact::new("host", machine(report)),
        Fact::new("capture", run(report, unicode)),
    ];
    if !report.capture.args.is_empty() {
        let args = printable(&report.capture.args.join(" "));
        facts.push(Fact::new("command", format!("zvoltrace {args}")));
    }
    facts.extend(completeness(report));
    facts.extend(report.pools.iter().map(|pool| Fact {
        label: "pool",
        text: pool_state(pool, unicode),
        loud: pool.state != "ONLINE",
    }));
    for defect in &report.host.known_defects {
        facts.push(Fact::loud("defect", printable(defect)));
    }
    let cost = &report.capture.overhead;
    // Every process has held some memory: none means that nobody knows.
    if report.capture.source == SourceKind::Live && cost.max_rss_bytes > 0 {
        let kernel = cost.kernel_ns_per_io.map_or_else(String::new, |ns| {
            format!("{} an I/O in the kernel, ", time(ns))
        });
        facts.push(Fact::new(
            "cost",
            format!(
                "{kernel}{} of CPU and {} of memory in zvoltrace",
                time(cost.user_cpu_ns),
                volume(cost.max_rss_bytes)
            ),
        ));
    }
    facts
}

fn machine(report: &Report) -> String {
    let host = &report.host;
    if host.hostname.is_empty() && host.kernel.is_empty() {
        return "not known: the input does not say".into();
    }
    let zfs = host.zfs_version.as_deref().map_or_else(
        || "no ZFS".into(),
        |version| format!("ZFS {}", printable(version)),
    );
    format!(
        "{}, Linux {}, {zfs}",
        printable(&host.hostname),
        printable(&host.kernel)
    )
}

fn run(report: &Report, unicode: bool) -> String {
    let capture = &report.capture;
    let source = match capture.source {
        SourceKind::Live => "live",
        SourceKind::Recording => "from a recording",
        SourceKind::Blktrace => "from blktrace",
    };
    let reached = duration(capture.duration_ns, unicode);
    let asked = match capture.requested_ns {
        // Less than a hundredth is the time it takes to stop.
        Some(asked) if capture.duration_ns < asked - asked / 100 => {
            format!(" of {} asked for", duration(asked, unicode))
        }
        _ => String::new(),
    };
    // An input without wall-clock time begins at the epoch.
    let started = if capture.started.starts_with("1970-01-01T00:00:00") {
        String::new()
    } else {
        format!(", from {}", whole_seconds(&capture.started))
    };
    format!("{source}, {reached}{asked}{started}")
}

/// An RFC 3339 time without its fraction of a second, if it has one.
fn whole_seconds(time: &str) -> String {
    let text = match time.split_once('.') {
        Some((seconds, rest)) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{seconds}{zone}")
        }
        None => time.to_owned(),
    };
    printable(&text)
}

/// The line that says whether the numbers can be relied on, and one for each thing they lack.
fn completeness(report: &Report) -> Vec<Fact> {
    let events = &report.capture.events;
    let completed = format!("{} I/Os", count(events.completed));
    let mut facts = Vec::new();
    if report.capture.complete {
        facts.push(Fact::new(
            "complete",
            format!("yes: {completed}, none lost"),
        ));
    } else {
        facts.push(Fact::loud("complete", format!("NO: {completed}")));
        facts.extend(
            report
                .capture
                .incomplete_reasons
                .iter()
                .map(|reason| Fact::loud("", printable(reason))),
        );
    }
    if events.lost > 0 {
        let text = format!(
            "{} I/Os are counted but missing in sizes and latencies",
            count(events.lost)
        );
        facts.push(Fact::loud("lost", text));
    }
    let apart = [
        (events.without_start, "already in flight at the start"),
        (events.without_completion, "without a completion"),
        (
            events.time_inversions,
            "completed before their start (not in latencies)",
        ),
        (events.not_tracked, "found no room in the in-flight table"),
    ];
    let apart: Vec<String> = apart
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)))
        .collect();
    if !apart.is_empty() {
        facts.push(Fact::new("also seen", apart.join(", ")));
    }
    facts
}

fn pool_state(pool: &Pool, unicode: bool) -> String {
    let time = |ns| duration(ns, unicode);
    let mut text = format!("{} {}", printable(&pool.name), printable(&pool.state));
    let mut add = |part: String| {
        text.push_str(", ");
        text.push_str(&part);
    };
    if let Some(layout) = &pool.layout {
        add(printable(layout));
    }
    if let Some(share) = pool.fill_share {
        add(format!("{} full", percent(share)));
    }
    if let Some(activity) = &pool.activity {
        add(printable(activity));
    }
    let txg = &pool.txg;
    if let (Some(p50), Some(max)) = (txg.sync_ns.p50, txg.sync_ns.max) {
        add(format!(
            "{} txgs synced in {} (p50), {} (max)",
            count(txg.count),
            time(p50),
            time(max)
        ));
    }
    if let Some(bytes) = txg.dirty_bytes_max {
        add(format!("at most {} dirty", volume(bytes)));
    }
    text
}

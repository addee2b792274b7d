//! The report as text of 80 columns, made to be read at 3 a.m. and pasted into a ticket.
//!
//! What is said comes from [`super::content`]; here it gets its order and place: the capture and
//! what it lacks, the devices with the worst first, the verdict of each before its numbers.
//! A pure function of report and style.

mod device;
mod page;

use self::page::{Page, Tone};
use super::{
    content::{self, Fact},
    model::{DeviceReport, Report, Severity},
    prose::printable,
    style::Style,
};
use crate::analysis::Explanation;

/// Idle devices that still get a line of their own.
const IDLE_SHOWN_ALONE: usize = 2;

/// Renders the report.
#[must_use]
pub fn render(report: &Report, style: &Style) -> String {
    let mut page = Page::new(style);
    let end_ns = report.capture.duration_ns;
    page.rule(&format!("zvoltrace {}", printable(&report.tool_version)));
    for fact in content::capture_facts(report, page.unicode()) {
        put_fact(&mut page, &fact);
    }
    let (busy, idle) = content::busy_and_idle(&report.devices);
    if report.devices.is_empty() {
        page.blank();
        page.paragraph(0, content::NO_DEVICES);
    }
    if busy.len() > 1 {
        summary(&mut page, report, &busy, end_ns);
    }
    for device in &busy {
        page.blank();
        device::block(&mut page, device, end_ns);
    }
    idle_devices(&mut page, &idle);
    page.blank();
    page.paragraph(0, content::LEGEND);
    page.finish()
}

/// Renders the rules behind the verdicts, for the end of [`render`]'s text.
#[must_use]
pub fn explain(explanations: &[Explanation], style: &Style) -> String {
    let mut page = Page::new(style);
    for explanation in content::of_busy(explanations) {
        page.blank();
        page.rule(&content::explained(explanation));
        for rule in &explanation.rules {
            let outcome = page.paint(rule.fired.map_or(Tone::Plain, tone), content::outcome(rule));
            page.line(&format!("{outcome}  {}", rule.code));
            page.paragraph(2, &format!("rule: {}", rule.condition));
            for line in &rule.numbers {
                page.item(2, &printable(line));
            }
        }
    }
    page.finish()
}

/// All busy devices at a glance, and what they did together.
fn summary(page: &mut Page, report: &Report, busy: &[&DeviceReport], end_ns: u64) {
    page.blank();
    page.rule(&format!("{} devices with I/O, worst first", busy.len()));
    page.table(&content::overview(busy, end_ns, page.unicode()), |word| {
        busy.iter()
            .map(|device| device.verdict.severity)
            .find(|severity| content::severity_word(*severity) == word)
            .map_or(Tone::Plain, tone)
    });
    page.blank();
    page.paragraph(2, "All together, each I/O counted once:");
    let totals = content::operations(&report.totals, None, end_ns, page.unicode());
    page.table(&totals, |_| Tone::Plain);
}

fn idle_devices(page: &mut Page, idle: &[&DeviceReport]) {
    if idle.is_empty() {
        return;
    }
    page.blank();
    if idle.len() <= IDLE_SHOWN_ALONE {
        for device in idle {
            page.labelled(Tone::Plain, "idle", &content::title(device));
        }
        return;
    }
    page.labelled(Tone::Plain, "idle", &content::idle_line(idle));
}

fn put_fact(page: &mut Page, fact: &Fact) {
    let tone = if fact.loud {
        Tone::Warning
    } else {
        Tone::Plain
    };
    page.labelled(tone, fact.label, &fact.text);
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Ok => Tone::Good,
        Severity::Info => Tone::Note,
        Severity::Warning => Tone::Warning,
        Severity::Critical => Tone::Alarm,
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::report::samples;

    type Sample = (&'static str, fn() -> Report);
    const ALL: [Sample; 7] = [
        ("busy", samples::busy),
        ("idle", samples::idle),
        ("lossy_and_short", samples::lossy_and_short),
        ("thirty_devices", samples::thirty_devices),
        ("no_zvols", samples::no_zvols),
        ("awkward_names", samples::awkward_names),
        ("null_everything", samples::null_everything),
    ];
    const ASCII: Style = Style {
        color: false,
        unicode: false,
        width: 80,
    };

    #[test]
    fn each_situation_reads_as_reviewed() {
        for (name, report) in ALL {
            insta::assert_snapshot!(name, render(&report(), &Style::default()));
        }
    }

    #[test]
    fn plain_ascii_reads_as_reviewed() {
        insta::assert_snapshot!(render(&samples::busy(), &ASCII));
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        for (name, report) in ALL {
            for unicode in [false, true] {
                for width in [60, 72, 80, 120] {
                    let text = render(
                        &report(),
                        &Style {
                            color: false,
                            unicode,
                            width,
                        },
                    );
                    // Tables need what their numbers need; a ticket has 80 columns.
                    let limit = width.max(80);
                    for line in text.lines() {
                        assert!(line.width() <= limit, "{name} at {width}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_unicode_only_names_leave_ascii() {
        for report in [
            samples::busy(),
            samples::lossy_and_short(),
            samples::thirty_devices(),
        ] {
            let text = render(&report, &ASCII);
            assert!(text.is_ascii(), "{text}");
        }
    }

    #[test]
    fn colour_changes_no_word() {
        for (name, report) in ALL {
            let report = report();
            let plain = render(&report, &Style::default());
            let colored = render(
                &report,
                &Style {
                    color: true,
                    ..Style::default()
                },
            );
            assert_ne!(plain, colored, "{name}");
            let mut stripped = String::new();
            let mut rest = colored.as_str();
            while let Some((before, after)) = rest.split_once('\u{1b}') {
                stripped.push_str(before);
                rest = after.split_once('m').unwrap().1;
            }
            stripped.push_str(rest);
            assert_eq!(plain, stripped, "{name}");
        }
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_as_a_command() {
        let text = render(&samples::awkward_names(), &Style::default());
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        assert!(!text.contains('\u{202e}'));
    }
}

//! The block of one device: the verdict first, then what it rests on, then everything else.

use super::{
    page::{Page, Tone},
    put_fact, tone,
};
use crate::report::{
    content::{self, BlockRow, severity_word},
    model::DeviceReport,
    prose::printable,
};

/// Writes the block.
pub(super) fn block(page: &mut Page, device: &DeviceReport, end_ns: u64) {
    let title = content::title(device);
    page.rule(&title);
    verdict(page, device);
    let unicode = page.unicode();

    page.blank();
    if page.shorten(&title) != title {
        page.labelled(Tone::Plain, "name", &title);
    }
    for fact in content::state_facts(device, unicode) {
        put_fact(page, &fact);
    }

    page.blank();
    let lifetime_ns = content::lifetime_ns(device, end_ns);
    let operations = content::operations(&device.ops, Some(&device.flush), lifetime_ns, unicode);
    page.table(&operations, |_| Tone::Plain);
    let sides = content::distributions(&device.ops);
    let block_bytes = device.volblocksize_bytes;
    for (title, bars) in [
        (
            "size",
            content::sizes(&sides, block_bytes, BlockRow::IfSeen),
        ),
        ("latency", content::latencies(&sides, unicode)),
    ] {
        if bars.rows.is_empty() {
            continue;
        }
        page.blank();
        page.bars(title, &bars);
        if bars.rows.iter().any(|row| row.is_block) {
            page.paragraph(2, "* the block size");
        }
    }
    let facts = content::workload_facts(device, end_ns);
    if !facts.is_empty() {
        page.blank();
    }
    for fact in facts {
        put_fact(page, &fact);
    }
    if let Some((title, table)) = content::candidates(device) {
        page.blank();
        page.paragraph(2, &title);
        page.table(&table, |_| Tone::Plain);
    }
    if let Some(table) = content::submitters(device) {
        page.blank();
        page.table(&table, |_| Tone::Plain);
    }
}

fn verdict(page: &mut Page, device: &DeviceReport) {
    let verdict = &device.verdict;
    let word = page.paint(tone(verdict.severity), severity_word(verdict.severity));
    page.line(&format!(
        "{word}  {} ({} confidence)",
        verdict.code, verdict.confidence
    ));
    page.paragraph(2, &printable(&verdict.summary));
    for line in &verdict.evidence {
        page.item(2, &printable(line));
    }
    if !verdict.advice.is_empty() {
        page.line("  What to do:");
        for line in &verdict.advice {
            page.item(2, &printable(line));
        }
    }
    for finding in content::other_findings(device) {
        let word = page.paint(tone(finding.severity), severity_word(finding.severity));
        page.line(&format!("{word}  {}", finding.code));
        page.paragraph(2, &printable(&finding.summary));
        for line in &finding.evidence {
            page.item(2, &printable(line));
        }
    }
}

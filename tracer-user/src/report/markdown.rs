//! The report as markdown, for tickets that render it: the content of the text as headings,
//! lists and tables.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, presets};

use super::{
    content::{self, Bars, BlockRow, Fact, Table, severity_word},
    model::{DeviceReport, Report},
    prose::printable,
};
use crate::analysis::Explanation;

/// Renders the report.
#[must_use]
pub fn render(report: &Report) -> String {
    let end_ns = report.capture.duration_ns;
    let mut page = Page(String::new());
    page.paragraph(&format!("# zvoltrace {}", escape(&report.tool_version)));
    page.facts(&content::capture_facts(report, true));
    let (busy, idle) = content::busy_and_idle(&report.devices);
    if report.devices.is_empty() {
        page.paragraph(content::NO_DEVICES);
    }
    if busy.len() > 1 {
        page.paragraph(&format!("## {} devices with I/O, worst first", busy.len()));
        page.table(&content::overview(&busy, end_ns, true));
        page.paragraph("All together, each I/O counted once:");
        page.table(&content::operations(&report.totals, None, end_ns, true));
    }
    for device in &busy {
        page.device(device, end_ns);
    }
    if !idle.is_empty() {
        page.paragraph(&escape(&content::idle_line(&idle)));
    }
    page.paragraph(content::LEGEND);
    page.end();
    page.0
}

/// Renders the rules behind the verdicts, for the end of [`render`]'s text.
#[must_use]
pub fn explain(explanations: &[Explanation]) -> String {
    let mut page = Page(String::new());
    for explanation in content::of_busy(explanations) {
        page.0.push('\n');
        page.paragraph(&format!("## {}", escape(&content::explained(explanation))));
        for rule in &explanation.rules {
            let outcome = content::outcome(rule);
            let condition = escape(rule.condition);
            page.paragraph(&format!("**{outcome}** `{}`: {condition}", rule.code));
            page.list(&rule.numbers, |line| escape(&printable(line)));
        }
        page.end();
    }
    page.0
}

struct Page(String);

impl Page {
    /// One newline at the end, whatever came last.
    fn end(&mut self) {
        self.0.truncate(self.0.trim_end().len());
        self.0.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push_str("\n\n");
    }

    fn list<T>(&mut self, items: &[T], text: impl Fn(&T) -> String) {
        for item in items {
            self.0.push_str("- ");
            self.0.push_str(&text(item));
            self.0.push('\n');
        }
        if !items.is_empty() {
            self.0.push('\n');
        }
    }

    fn facts(&mut self, facts: &[Fact]) {
        self.list(facts, |fact| {
            let text = escape(&fact.text);
            let text = if fact.loud {
                format!("**{text}**")
            } else {
                text
            };
            if fact.label.is_empty() {
                text
            } else {
                format!("{}: {text}", fact.label)
            }
        });
    }

    fn device(&mut self, device: &DeviceReport, end_ns: u64) {
        self.paragraph(&format!("## {}", escape(&content::title(device))));
        let verdict = &device.verdict;
        let quoted = |line: &String| escape(&printable(line));
        self.paragraph(&format!(
            "**{}** `{}` ({} confidence): {}",
            severity_word(verdict.severity),
            verdict.code,
            verdict.confidence,
            quoted(&verdict.summary)
        ));
        self.list(&verdict.evidence, quoted);
        if !verdict.advice.is_empty() {
            self.paragraph("What to do:");
            self.list(&verdict.advice, quoted);
        }
        for finding in content::other_findings(device) {
            self.paragraph(&format!(
                "**{}** `{}`: {}",
                severity_word(finding.severity),
                finding.code,
                quoted(&finding.summary)
            ));
            self.list(&finding.evidence, quoted);
        }
        self.facts(&content::state_facts(device, true));
        let lifetime_ns = content::lifetime_ns(device, end_ns);
        self.table(&content::operations(
            &device.ops,
            Some(&device.flush),
            lifetime_ns,
            true,
        ));
        let sides = content::distributions(&device.ops);
        let block_bytes = device.volblocksize_bytes;
        self.bars(
            "size",
            &content::sizes(&sides, block_bytes, BlockRow::IfSeen),
        );
        self.bars("latency", &content::latencies(&sides, true));
        self.facts(&content::workload_facts(device, end_ns));
        if let Some((title, table)) = content::candidates(device) {
            self.paragraph(&title);
            self.table(&table);
        }
        if let Some(table) = content::submitters(device) {
            self.table(&table);
        }
    }

    fn table(&mut self, table: &Table) {
        let head = table.head.iter().map(ToString::to_string).collect();
        let rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| escape(cell)).collect());
        self.grid(head, rows, table.words);
    }

    fn bars(&mut self, title: &str, bars: &Bars) {
        if bars.rows.is_empty() {
            return;
        }
        let mut head = vec![title.to_owned()];
        for side in &bars.sides {
            head.extend([(*side).to_owned(), "share".into()]);
        }
        let rows = bars.rows.iter().map(|row| {
            let mark = if row.is_block { " (block size)" } else { "" };
            let mut cells = vec![escape(&format!("{}{mark}", row.label))];
            for bar in &row.bars {
                let (count, share) = bar
                    .as_ref()
                    .map_or(("-", "-"), |bar| (bar.count.as_str(), bar.share.as_str()));
                cells.extend([count.to_owned(), escape(share)]);
            }
            cells
        });
        self.grid(head, rows, 0);
    }

    fn grid(&mut self, head: Vec<String>, rows: impl Iterator<Item = Vec<String>>, words: usize) {
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::ASCII_MARKDOWN)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(head)
            .add_rows(rows);
        for column in grid.column_iter_mut().skip(words) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        // Writing to a string does not fail.
        let _ = write!(self.0, "{grid}\n\n");
    }
}

/// Takes its meaning from every character that markdown or HTML would act on.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_busy_device_reads_as_reviewed() {
        insta::assert_snapshot!(render(&samples::busy()));
    }

    #[test]
    fn many_devices_read_as_reviewed() {
        insta::assert_snapshot!(render(&samples::thirty_devices()));
    }

    #[test]
    fn a_name_cannot_become_markup() {
        let text = render(&samples::awkward_names());
        assert!(text.contains(r"evil?\[2J?name\|\`x\`\<b\>"), "{text}");
        for row in text
            .lines()
            .filter(|line| line.contains("evil") && line.starts_with('|'))
        {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
        }
    }
}

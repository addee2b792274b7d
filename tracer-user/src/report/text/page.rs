//! A page of text in the making: rules, paragraphs, labelled lines, tables and bars, none of
//! them wider than the style says. It knows no report.

use anstyle::{AnsiColor, Color};
use comfy_table::{CellAlignment, ContentArrangement, presets};
use unicode_width::UnicodeWidthStr;

use crate::report::{
    content::{Bar, Bars, Table},
    prose::wrap,
    shape::{self, shorten},
    style::Style,
};

/// Columns before the text of a labelled line.
const LABEL_WIDTH: usize = 14;
/// Narrowest page: below it lines would be cut in the middle of numbers.
const MIN_WIDTH: usize = 60;
/// Narrowest column of names in a table.
const MIN_NAME_WIDTH: usize = 8;
/// Columns between the columns of a table.
const GAP: usize = 2;

/// How a word stands out. Never by colour alone: the word itself says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Good,
    Note,
    Warning,
    Alarm,
}

/// The page.
pub(super) struct Page {
    style: Style,
    text: String,
}

impl Page {
    pub(super) fn new(style: &Style) -> Self {
        let style = Style {
            width: style.width.max(MIN_WIDTH),
            ..*style
        };
        Self {
            style,
            text: String::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Whether more than ASCII may be shown.
    pub(super) fn unicode(&self) -> bool {
        self.style.unicode
    }

    /// A word in its tone.
    pub(super) fn paint(&self, tone: Tone, word: &str) -> String {
        if !self.style.color {
            return word.to_owned();
        }
        let style = anstyle::Style::new();
        let style = match tone {
            Tone::Plain => style,
            Tone::Heading => style.bold(),
            Tone::Good => style.fg_color(Some(Color::Ansi(AnsiColor::Green))),
            Tone::Note => style.fg_color(Some(Color::Ansi(AnsiColor::Cyan))),
            Tone::Warning => style.bold().fg_color(Some(Color::Ansi(AnsiColor::Yellow))),
            Tone::Alarm => style.bold().fg_color(Some(Color::Ansi(AnsiColor::Red))),
        };
        format!("{style}{word}{style:#}")
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line as it is; the caller keeps it short.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A rule across the page with a title in it, a long one shortened in the middle.
    pub(super) fn rule(&mut self, title: &str) {
        let dash = if self.style.unicode { "─" } else { "-" };
        let shown = self.shorten(title);
        let tail = self.style.width - 4 - shown.width();
        let title = self.paint(Tone::Heading, &shown);
        self.line(&format!("{} {title} {}", dash.repeat(2), dash.repeat(tail)));
    }

    /// The title as [`Self::rule`] shows it.
    pub(super) fn shorten(&self, title: &str) -> String {
        shorten(title, self.style.width - 8, self.style.unicode)
    }

    /// A paragraph, each line indented.
    pub(super) fn paragraph(&mut self, indent: usize, text: &str) {
        self.wrapped(&" ".repeat(indent), &" ".repeat(indent), text);
    }

    /// An item of a list.
    pub(super) fn item(&mut self, indent: usize, text: &str) {
        let first = format!("{}- ", " ".repeat(indent));
        self.wrapped(&first, &" ".repeat(indent + 2), text);
    }

    /// A labelled line; what does not fit goes on below the text.
    pub(super) fn labelled(&mut self, tone: Tone, label: &str, text: &str) {
        let gap = LABEL_WIDTH.saturating_sub(2 + label.width());
        let mut lines = wrap("", "", text, self.style.width - LABEL_WIDTH).into_iter();
        let first = lines.next().unwrap_or_default();
        let label = self.paint(tone, label);
        self.line(&format!("  {label}{}{first}", " ".repeat(gap)));
        for line in lines {
            self.line(&format!("{}{line}", " ".repeat(LABEL_WIDTH)));
        }
    }

    fn wrapped(&mut self, first: &str, rest: &str, text: &str) {
        for line in wrap(first, rest, text, self.style.width) {
            self.line(&line);
        }
    }

    /// A table, numbers aligned to the right, names shortened until it fits. The first cell of
    /// a row may have a tone.
    pub(super) fn table(&mut self, table: &Table, first_cell: impl Fn(&str) -> Tone) {
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(table.head.iter());
        let widths = self.column_widths(table);
        for row in &table.rows {
            let cells = row.iter().zip(&widths);
            grid.add_row(cells.map(|(cell, width)| shorten(cell, *width, self.style.unicode)));
        }
        for (n, column) in grid.column_iter_mut().enumerate() {
            column.set_padding((if n == 0 { 2 } else { 0 }, 2));
            column.set_cell_alignment(if n < table.words {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        let drawn: Vec<String> = grid.lines().collect();
        for (n, line) in drawn.iter().enumerate() {
            // The first cell is painted after the layout, so that colour takes no columns.
            let word = n
                .checked_sub(1)
                .and_then(|row| table.rows.get(row)?.first());
            match word.filter(|word| !word.is_empty()) {
                Some(word) => {
                    let painted = self.paint(first_cell(word), word);
                    self.line(&line.replacen(word.as_str(), &painted, 1));
                }
                None => self.line(line),
            }
        }
    }

    /// What each column may take: its widest cell, but the widest of the names gives way when
    /// the page is too narrow.
    fn column_widths(&self, table: &Table) -> Vec<usize> {
        let mut widths: Vec<usize> = table.head.iter().map(|cell| cell.width()).collect();
        for row in &table.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let needed = widths.iter().sum::<usize>() + widths.len() * GAP;
        let excess = needed.saturating_sub(self.style.width);
        if let Some(widest) = widths.iter_mut().take(table.words).max() {
            *widest = widest
                .saturating_sub(excess)
                .max(MIN_NAME_WIDTH.min(*widest));
        }
        widths
    }

    /// Bars of one or two operations over shared rows.
    pub(super) fn bars(&mut self, title: &str, bars: &Bars) {
        if bars.rows.is_empty() {
            return;
        }
        let label = bars
            .rows
            .iter()
            .map(|row| row.label.width())
            .max()
            .unwrap_or(0)
            + 4;
        let label = label.max(LABEL_WIDTH);
        let side = (self.style.width - label) / bars.sides.len().max(1);
        let cells = || bars.rows.iter().flat_map(|row| row.bars.iter().flatten());
        let counts = cells()
            .map(|bar| bar.count.width())
            .max()
            .unwrap_or(0)
            .max(6);
        let room = side.saturating_sub(counts + SHARE_WIDTH + 5);
        let mut head = format!("  {}", pad(title, label - 2));
        for name in &bars.sides {
            head.push_str(&pad(&format!("{name:>counts$}"), side));
        }
        self.line(&head);
        for row in &bars.rows {
            let mark = if row.is_block { " *" } else { "" };
            let at = label - 4;
            let mut line = pad(&format!("  {:>at$}{mark}", row.label, at = at - 1), label);
            for bar in &row.bars {
                line.push_str(&pad(&self.bar(bar.as_ref(), counts, room), side));
            }
            self.line(&line);
        }
    }

    fn bar(&self, bar: Option<&Bar>, counts: usize, room: usize) -> String {
        let Some(bar) = bar else {
            return format!("{:>counts$}", "-");
        };
        let drawn = shape::bar(bar.length, room, self.style.unicode);
        format!(
            "{:>counts$}  {:>SHARE_WIDTH$}  {drawn}",
            bar.count, bar.share
        )
    }
}

/// Columns of a share, `>99.9 %`.
const SHARE_WIDTH: usize = 7;

fn pad(text: &str, width: usize) -> String {
    let gap = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(gap))
}

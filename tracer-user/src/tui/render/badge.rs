//! Verdicts and other remarks on a zvol, in two words for a narrow column.

use ratatui::text::{Line, Span};

use super::theme::{Theme, Tone};
use crate::{
    report::{
        model::{Code, Severity},
        units::{count, duration},
    },
    tui::snapshot::{Badge, Row, STUCK_NS},
};

/// What a code means, in the words of somebody who does not know it.
pub(super) fn word(code: Code) -> &'static str {
    match code {
        Code::Fits => "fits",
        Code::WriteSmallerThanBlock => "small writes",
        Code::WriteLargerThanBlock => "large writes",
        Code::Misaligned => "misaligned",
        Code::MixedSizes => "mixed sizes",
        Code::PageCacheSplit => "page cache",
        Code::ReadMostly => "mostly reads",
        Code::FlushBound => "slow flushes",
        Code::TooFewWrites => "few writes",
        Code::Idle => "idle",
        Code::BlockSizeUnknown => "block size?",
        Code::StatisticsNotMaintained => "no stats",
        Code::KnownDefect => "ZFS defect",
    }
}

/// How a severity is written before a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `WARN small writes`.
    Word,
    /// `! small writes`, where there is little room.
    Sign,
}

fn severity(severity: Severity, form: Form) -> &'static str {
    match (severity, form) {
        (Severity::Ok, Form::Word) => "OK  ",
        (Severity::Info, Form::Word) => "INFO",
        (Severity::Warning, Form::Word) => "WARN",
        (Severity::Critical, Form::Word) => "CRIT",
        (Severity::Ok, Form::Sign) => "  ",
        (Severity::Info, Form::Sign) => "- ",
        (Severity::Warning, Form::Sign) => "! ",
        (Severity::Critical, Form::Sign) => "!!",
    }
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    severity: Severity,
    word: String,
    /// It was seen in the window, and is not what the analysis thinks.
    is_seen: bool,
}

impl Remark {
    fn seen(severity: Severity, word: String) -> Self {
        Self {
            severity,
            word,
            is_seen: true,
        }
    }
}

/// What there is to say about a zvol, the most urgent first: what is seen to go wrong now comes
/// before what the analysis thinks of it.
pub(super) fn remarks(row: &Row, unicode: bool) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if row.outstanding.oldest_ns >= STUCK_NS {
        let age = duration(row.outstanding.oldest_ns, unicode);
        remarks.push(Remark::seen(Severity::Critical, format!("stuck {age}")));
    }
    if row.load.errors > 0 {
        let word = format!("{} errors", count(row.load.errors));
        remarks.push(Remark::seen(Severity::Critical, word));
    }
    let lost = (row.load.lost > 0)
        .then(|| Remark::seen(Severity::Warning, format!("lost {}", count(row.load.lost))));
    let badge = row.badge.map(|Badge { code, severity }| Remark {
        severity,
        word: word(code).into(),
        is_seen: false,
    });
    let mut both: Vec<Remark> = badge.into_iter().chain(lost).collect();
    // Stable: a verdict of the same weight comes before the loss.
    both.sort_by_key(|remark| std::cmp::Reverse(remark.severity));
    remarks.extend(both);
    remarks
}

/// The remarks that are no verdict.
pub(super) fn urgent(remarks: &[Remark]) -> Vec<Remark> {
    let seen = |remark: &&Remark| remark.is_seen;
    remarks.iter().filter(seen).cloned().collect()
}

/// The remarks as a line: the first with its severity, the others behind it while they fit in
/// `room`.
pub(super) fn line(theme: Theme, remarks: &[Remark], form: Form, room: u16) -> Line<'static> {
    let Some((first, others)) = remarks.split_first() else {
        return Line::from(theme.span(Tone::Dim, "-"));
    };
    let mut line = Line::default();
    let look = |remark: &Remark| Tone::from(remark.severity);
    let sign = severity(first.severity, form);
    line.push_span(theme.span(look(first), sign));
    let gap = if form == Form::Word || first.severity == Severity::Critical {
        " "
    } else {
        ""
    };
    line.push_span(Span::raw(gap));
    line.push_span(theme.span(look(first), first.word.clone()));
    for remark in others {
        let more = theme.span(look(remark), format!(", {}", remark.word));
        if line.width() + more.width() > usize::from(room) {
            break;
        }
        line.push_span(more);
    }
    line
}

//! The verdict: what to think of a device, and why.
//!
//! Owns the rules and nothing else: a rule reads [`Facts`] and says either what is true or why
//! it stays silent. Thresholds stand in [`thresholds`]. A rule never changes a number and
//! never depends on another rule's outcome.
//!
//! The verdict is the finding of the highest severity; among equals the first of [`RULES`].
//! All that fired are findings, the verdict first.

mod advice;
mod facts;
mod rules;
pub mod thresholds;
mod weigh;

pub(super) use facts::{Facts, share};

use crate::report::model::{Code, Confidence, Finding, Severity, Verdict};
use rules::RULES;

/// What a rule found to be true.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fired {
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) summary: String,
    pub(super) evidence: Vec<String>,
    pub(super) advice: Vec<String>,
}

/// What came of one rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Fired(Fired),
    /// Why it stays silent, with its numbers.
    Silent(String),
}

/// A rule: a code, its condition in words, and its check.
pub(super) struct Rule {
    pub(super) code: Code,
    /// When it fires, for `--explain`.
    pub(super) condition: &'static str,
    pub(super) check: fn(&Facts<'_>) -> Outcome,
}

/// One rule's outcome, for `--explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleTrace {
    /// The rule's code.
    pub code: Code,
    /// When it fires.
    pub condition: &'static str,
    /// Its severity, when it fired.
    pub fired: Option<Severity>,
    /// Its numbers: the evidence, or why it stayed silent.
    pub numbers: Vec<String>,
}

/// Verdict and findings of one device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) findings: Vec<Finding>,
}

impl Verdict {
    /// The verdict on a device without a single I/O.
    pub(super) fn none() -> Self {
        Self {
            code: Code::Idle,
            severity: Severity::Ok,
            confidence: Confidence::Low,
            dominant_write_bytes: None,
            dominant_share_count: None,
            dominant_share_bytes: None,
            recommended_block_bytes: None,
            summary: String::new(),
            evidence: Vec::new(),
            advice: Vec::new(),
        }
    }
}

/// Judges one device.
pub(super) fn judge(facts: &Facts<'_>) -> Judgement {
    let mut fired: Vec<(Code, Fired)> = RULES
        .iter()
        .filter_map(|rule| match (rule.check)(facts) {
            Outcome::Fired(fired) => Some((rule.code, fired)),
            Outcome::Silent(_) => None,
        })
        .collect();
    // Stable: rules of one severity keep their order.
    fired.sort_by_key(|(_, fired)| std::cmp::Reverse(fired.severity));
    let verdict = match fired.first() {
        Some((code, first)) => verdict(*code, first, facts),
        None => Verdict::none(),
    };
    let findings = fired
        .into_iter()
        .map(|(code, fired)| Finding {
            code,
            severity: fired.severity,
            summary: fired.summary,
            evidence: fired.evidence,
        })
        .collect();
    Judgement { verdict, findings }
}

fn verdict(code: Code, fired: &Fired, facts: &Facts<'_>) -> Verdict {
    let dominant = facts.dominant.filter(|_| facts.has_enough_writes());
    let mut evidence = fired.evidence.clone();
    evidence.extend(rests_on_a_part(facts));
    Verdict {
        code,
        severity: fired.severity,
        confidence: fired.confidence,
        dominant_write_bytes: dominant.map(|d| d.bytes),
        dominant_share_count: dominant.map(|d| d.share_count),
        dominant_share_bytes: dominant.map(|d| d.share_bytes),
        recommended_block_bytes: recommended(code, facts),
        summary: fired.summary.clone(),
        evidence,
        advice: fired.advice.clone(),
    }
}

/// The size to move to. None where the writes as seen are not those of the aligned or direct
/// workload that would run on it.
fn recommended(code: Code, facts: &Facts<'_>) -> Option<u64> {
    match code {
        Code::Misaligned | Code::PageCacheSplit | Code::Idle | Code::TooFewWrites => None,
        _ => facts.weighing?.recommended(),
    }
}

/// An incomplete capture keeps its verdict and says that it rests on a part.
fn rests_on_a_part(facts: &Facts<'_>) -> Option<String> {
    (!facts.capture.complete).then(|| {
        format!(
            "rests on a part: {}",
            facts.capture.incomplete_reasons.join("; ")
        )
    })
}

/// All rules with their outcome, in their order: what fired and what stayed silent, and why.
pub(super) fn explain(facts: &Facts<'_>) -> Vec<RuleTrace> {
    RULES
        .iter()
        .map(|rule| {
            let (fired, numbers) = match (rule.check)(facts) {
                Outcome::Fired(fired) => (Some(fired.severity), fired.evidence),
                Outcome::Silent(why) => (None, vec![why]),
            };
            RuleTrace {
                code: rule.code,
                condition: rule.condition,
                fired,
                numbers,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_rule_in_the_order_in_which_they_win() {
        let readme = include_str!("../../../../README.md");
        let rows: Vec<String> = RULES
            .iter()
            .map(|rule| format!("| `{}` | {} |", rule.code, rule.condition))
            .collect();
        let places: Vec<Option<usize>> = rows.iter().map(|row| readme.find(row)).collect();
        for (row, place) in rows.iter().zip(&places) {
            assert!(place.is_some(), "README.md lacks the row {row}");
        }
        assert!(places.is_sorted(), "{places:?}");
    }
}

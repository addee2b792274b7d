//! `--explain`: which rules of a verdict fired, which stayed silent, and by which numbers.

use super::{printable, severity_word};
use crate::{
    analysis::{Explanation, verdict::RuleTrace},
    report::model::Code,
};

/// The explanations that say something: an idle device needs none.
pub(in super::super) fn of_busy(list: &[Explanation]) -> impl Iterator<Item = &Explanation> {
    let is_idle = |rule: &RuleTrace| rule.code == Code::Idle && rule.fired.is_some();
    list.iter()
        .filter(move |explanation| !explanation.rules.iter().any(is_idle))
}

/// Whose verdict is explained: `Why zd16 tank/vm-100-disk-0`.
pub(in super::super) fn explained(explanation: &Explanation) -> String {
    let dataset = explanation.dataset.iter().map(|name| format!(" {name}"));
    printable(&format!(
        "Why {}{}",
        explanation.device,
        dataset.collect::<String>()
    ))
}

/// What came of a rule: its severity when it fired.
pub(crate) fn outcome(rule: &RuleTrace) -> &'static str {
    rule.fired.map_or("silent", severity_word)
}

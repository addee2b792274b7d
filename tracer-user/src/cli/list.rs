//! `list`: the zvols of this host, or the disks that patterns name.

use super::{
    ExitStatus, Refusal,
    plan::{ListPlan, selector},
    present::deliver,
    value::PlainFormat,
};
use crate::{
    device::{Roots, list, scan},
    report::redact::Redactor,
};

/// Prints the list. A pattern that matches nothing is a refusal that names the disks there are;
/// a host without zvols is none.
pub(super) fn run(plan: &ListPlan, roots: &Roots) -> anyhow::Result<ExitStatus> {
    let selector = selector(&plan.patterns, roots)?;
    let here = scan(roots);
    let absence = selector.absence(&here);
    if let Some(absence) = absence.filter(|_| !plan.patterns.is_empty()) {
        return Err(Refusal::Prerequisite(absence).into());
    }
    let mut disks: Vec<_> = here
        .into_iter()
        .filter(|disk| selector.matches(disk))
        .collect();
    if plan.redact {
        let redactor = Redactor::of_machine();
        for disk in &mut disks {
            disk.dataset = disk.dataset.as_deref().map(|name| redactor.dataset(name));
        }
    }
    let text = match plan.format {
        PlainFormat::Text => list::text(&disks),
        PlainFormat::Json => serde_json::to_string_pretty(&list::List::new(&disks))? + "\n",
    };
    deliver(&plan.target, text.as_bytes())?;
    Ok(ExitStatus::Done)
}

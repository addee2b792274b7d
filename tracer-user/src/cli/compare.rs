//! `compare`: two captures side by side.

use std::io::{self, Write};

use super::{ExitStatus, plan::ComparePlan, present::deliver, value::PlainFormat};
use crate::{
    compare::{compare, load, render_text},
    report::redact::Redactor,
    source::blktrace,
};

/// Prints the comparison. Of an input that turns out to be damaged what came before is
/// compared, and the damage is the error.
pub(super) fn run(plan: &ComparePlan) -> anyhow::Result<ExitStatus> {
    let options = blktrace::Options {
        block_size_bytes: plan.block_size_bytes,
        args: plan.args.clone(),
    };
    let (mut a, mut b) = (load(&plan.a, options.clone())?, load(&plan.b, options)?);
    let mut names = [&plan.a, &plan.b].map(|path| path.display().to_string());
    if plan.redact {
        let redactor = Redactor::of_machine();
        for side in [&mut a, &mut b] {
            side.report = redactor.redact(&side.report);
        }
        names = ["A", "B"].map(String::from);
    }
    let comparison = compare((&names[0], &a.report), (&names[1], &b.report));
    let text = match plan.format {
        PlainFormat::Text => render_text(&comparison, plan.unicode),
        PlainFormat::Json => comparison.to_json()?,
    };
    deliver(&plan.target, text.as_bytes())?;
    match (a.damage, b.damage) {
        (None, None) => Ok(ExitStatus::Done),
        (Some(error), None) | (None, Some(error)) => Err(error),
        (Some(first), Some(second)) => {
            // Both matter: the one is said here, the other by the caller.
            let _ = writeln!(io::stderr(), "zvoltrace: {first:#}");
            Err(second)
        }
    }
}

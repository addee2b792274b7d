//! The end of every verb that makes a report: forms, files, tokens, exit status.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use anyhow::Context;

use super::{
    ExitStatus,
    plan::{Output, Presentation, Target},
    value::Format,
};
use crate::{
    analysis::Explanation,
    output,
    report::{json, markdown, model::Report, redact::Redactor, style::Style, text},
};

/// Says now what would keep an output from being written later.
pub fn check(plan: &Presentation) -> anyhow::Result<()> {
    for output in &plan.outputs {
        if let Target::File(path) = &output.target {
            output::check(path)?;
        }
    }
    Ok(())
}

/// Writes the report in every form that was asked for, and says how the process is to end.
/// `why` explains its verdicts; it is used when the plan asks for it.
///
/// Files come first, so that a reader of standard output who leaves early costs nothing; one
/// output that fails does not keep the others from being written.
pub fn present(
    report: &Report,
    why: &[Explanation],
    plan: &Presentation,
) -> anyhow::Result<ExitStatus> {
    let status = if plan
        .fail_on
        .iter()
        .any(|condition| condition.is_met(report))
    {
        ExitStatus::Verdict
    } else {
        ExitStatus::Done
    };
    let mut shown = Shown {
        report: Cow::Borrowed(report),
        why: Cow::Borrowed(if plan.explain { why } else { &[] }),
    };
    if plan.redact {
        let redactor = Redactor::of_machine();
        shown = Shown {
            report: Cow::Owned(redactor.redact(report)),
            why: Cow::Owned(redactor.redact_explanations(report, &shown.why)),
        };
    }
    let (files, stdout): (Vec<_>, Vec<_>) = plan
        .outputs
        .iter()
        .partition(|output| matches!(output.target, Target::File(_)));
    let mut result = Ok(status);
    for output in files.into_iter().chain(stdout) {
        let written = write(&shown, output, &plan.style);
        result = result.and_then(|status| written.map(|()| status));
    }
    result
}

/// What the outputs show.
struct Shown<'a> {
    report: Cow<'a, Report>,
    why: Cow<'a, [Explanation]>,
}

fn write(shown: &Shown<'_>, output: &Output, style: &Style) -> anyhow::Result<()> {
    let color = style.color && output.target == Target::Stdout;
    let style = Style { color, ..*style };
    deliver(
        &output.target,
        render(shown, output.format, &style)?.as_bytes(),
    )
}

/// Brings a finished text to its place.
pub(super) fn deliver(target: &Target, text: &[u8]) -> anyhow::Result<()> {
    match target {
        Target::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(text)
                .and_then(|()| out.flush())
                .context("cannot write to standard output")
        }
        Target::File(path) => Ok(output::write_file(path, text)?),
    }
}

fn render(shown: &Shown<'_>, format: Format, style: &Style) -> anyhow::Result<String> {
    let (report, why) = (&shown.report, &shown.why);
    Ok(match format {
        Format::Text => text::render(report, style) + &text::explain(why, style),
        Format::Markdown => markdown::render(report) + &markdown::explain(why),
        // What the rules found is in the findings already.
        Format::Json => json::render(report)?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{
        cli::value::FailOn,
        report::{
            model::{Code, Severity},
            samples,
        },
    };

    fn plan(outputs: Vec<(Format, PathBuf)>, fail_on: Vec<FailOn>) -> Presentation {
        let output = |(format, path)| Output {
            format,
            target: Target::File(path),
        };
        Presentation {
            outputs: outputs.into_iter().map(output).collect(),
            redact: false,
            explain: false,
            fail_on,
            style: Style {
                color: true,
                ..Style::default()
            },
        }
    }

    #[test]
    fn every_form_is_written_and_files_have_no_colour() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let all = vec![
            (Format::Text, path("a")),
            (Format::Json, path("b")),
            (Format::Markdown, path("c")),
        ];
        let plan = plan(all, Vec::new());
        check(&plan).unwrap();
        let report = samples::busy();
        assert_eq!(present(&report, &[], &plan).unwrap(), ExitStatus::Done);
        let read = |name| std::fs::read_to_string(path(name)).unwrap();
        assert_eq!(read("a"), text::render(&report, &Style::default()));
        assert_eq!(serde_json::from_str::<Report>(&read("b")).unwrap(), report);
        assert_eq!(read("c"), markdown::render(&report));
    }

    #[test]
    fn one_output_that_fails_does_not_cost_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("good");
        let bad = folder.path().join("none/bad");
        let plan = plan(
            vec![(Format::Json, bad), (Format::Text, good.clone())],
            Vec::new(),
        );
        assert!(check(&plan).is_err());
        let error = present(&samples::busy(), &[], &plan).unwrap_err();
        assert!(error.to_string().contains("none/bad"), "{error}");
        assert!(good.exists());
    }

    #[test]
    fn a_verdict_fails_by_severity_or_by_code() {
        let status =
            |condition| present(&samples::busy(), &[], &plan(Vec::new(), vec![condition])).unwrap();
        assert_eq!(
            status(FailOn::Severity(Severity::Warning)),
            ExitStatus::Verdict
        );
        assert_eq!(
            status(FailOn::Severity(Severity::Critical)),
            ExitStatus::Done
        );
        assert_eq!(
            status(FailOn::Code(Code::WriteSmallerThanBlock)),
            ExitStatus::Verdict
        );
        assert_eq!(status(FailOn::Code(Code::Misaligned)), ExitStatus::Done);
    }
}

//! The checks as text of 80 columns and as JSON.

use serde::Serialize;

use super::{Check, Status, is_ready};

/// Value of `schema` in the JSON form.
const SCHEMA: &str = "zvoltrace.check/1";
const WIDTH: usize = 80;

#[derive(Serialize)]
struct List<'a> {
    schema: &'static str,
    ready: bool,
    checks: &'a [Check],
}

/// The JSON form: `schema`, `ready`, and the checks. Keys may be added, never renamed.
pub fn json(checks: &[Check]) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&List {
        schema: SCHEMA,
        ready: is_ready(checks),
        checks,
    })?;
    text.push('\n');
    Ok(text)
}

/// A line a check, or more where it is long; what is not ok ends with what to do.
#[must_use]
pub fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let status = match check.status {
            Status::Ok => "ok",
            Status::Warning => "warning",
            Status::Missing => "MISSING",
        };
        let options = textwrap::Options::new(WIDTH)
            .subsequent_indent("         ")
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let line = format!("{status:<9}{}", sentence(check));
        for line in textwrap::wrap(&line, options) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.push('\n');
    text.push_str(&conclusion(checks));
    text
}

/// What is checked, what was found, and what to do.
pub(super) fn sentence(check: &Check) -> String {
    let Check { id, found, .. } = check;
    match &check.remedy {
        Some(remedy) => format!("{id}: {found} -> {remedy}"),
        None => format!("{id}: {found}"),
    }
}

fn conclusion(checks: &[Check]) -> String {
    let missing = checks
        .iter()
        .filter(|check| check.status == Status::Missing)
        .count();
    match missing {
        0 => "Ready: nothing is missing for live tracing.\n".to_owned(),
        1 => "Not ready: 1 thing is missing, see MISSING above.\n".to_owned(),
        more => format!("Not ready: {more} things are missing, see MISSING above.\n"),
    }
}

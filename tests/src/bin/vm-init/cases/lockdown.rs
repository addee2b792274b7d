//! Lockdown, entered once ZFS is loaded; it cannot be left, so these run last.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::plan::Plan;

use crate::harness::{Differences, Outcome, Test};
use crate::zfs::{Mode, Zvol};

pub(super) const TESTS: &[Test] = &[
    Test::new(
        "lockdown_integrity_allows_tracing_and_is_not_blamed",
        integrity,
    ),
    Test::new(
        "lockdown_confidentiality_is_named_as_what_blocks_tracing",
        confidentiality,
    ),
];

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// Enters a level; says why not when the kernel has none.
fn enter(level: &str) -> Result<Option<String>> {
    if !Path::new(LOCKDOWN).exists() {
        return Ok(Some(format!("this kernel has no {LOCKDOWN}")));
    }
    fs::write(LOCKDOWN, level).with_context(|| format!("cannot enter lockdown {level}"))?;
    Ok(None)
}

fn run(arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let output = binary::command(arguments).stdin(Stdio::null()).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

fn integrity() -> Result<Outcome> {
    if let Some(why) = enter("integrity")? {
        return Ok(Outcome::Skipped(why));
    }
    let zvol = Zvol::create("integrity", 32 << 20, "8K", Mode::Bio)?;
    let (code, text) = run(&["check"])?;
    let mut differences = Differences::default();
    differences.equal(&format!("exit status of check: {text}"), code, Some(0));
    let capture = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    Plan::random_writes(1, 20, 8192, 32 << 20).run(&zvol.path())?;
    let report = capture.interrupt();
    let count = capture::device(&report, &zvol.disk)["ops"]["write"]["count"].as_u64();
    differences.equal("writes", count, Some(20));
    differences.none()?;
    Ok(Outcome::Ok)
}

fn confidentiality() -> Result<Outcome> {
    let zvol = Zvol::create("confidentiality", 32 << 20, "8K", Mode::Bio)?;
    if let Some(why) = enter("confidentiality")? {
        return Ok(Outcome::Skipped(why));
    }
    let mut differences = Differences::default();
    for arguments in [
        &["check"][..],
        &["capture", "--device", &zvol.disk, "--duration", "1"],
    ] {
        let (code, text) = run(arguments)?;
        differences.equal(
            &format!("exit status of {}: {text}", arguments[0]),
            code,
            Some(3),
        );
        differences.holds(text.contains("confidentiality"), || {
            format!("{} does not name it: {text}", arguments[0])
        });
    }
    differences.none()?;
    Ok(Outcome::Ok)
}

//! From nothing to the first traced event, and what `check` says of a healthy machine.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{self, Capture, Signal};
use zvoltrace_tests::plan::Plan;

use crate::harness::{Differences, Outcome, Test};
use crate::program;
use crate::results;
use crate::zfs::{Mode, Zvol};

pub(super) const TESTS: &[Test] = &[
    Test::new("tracing_begins_within_two_seconds", startup),
    Test::new("a_capture_of_its_whole_time_is_complete", whole),
    Test::new("check_finds_nothing_missing", check),
    Test::new("check_and_capture_name_a_missing_capability", capability),
];

/// The promise, for a machine that is emulated.
const PROMISED: Duration = Duration::from_secs(2);

/// The best of some: the host of the emulation has other work too.
fn startup() -> Result<Outcome> {
    let zvol = Zvol::create("startup", 32 << 20, "8K", Mode::Bio)?;
    let mut times = Vec::new();
    while times.len() < 12 && times.last().is_none_or(|last| *last >= PROMISED) {
        let begin = Instant::now();
        let capture = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
        Plan::random_writes(1, 1, 8192, 32 << 20).run(&zvol.path())?;
        times.push(begin.elapsed());
        let report = capture.interrupt();
        let count = capture::device(&report, &zvol.disk)["ops"]["write"]["count"].as_u64();
        ensure!(
            count == Some(1),
            "the first write was not traced: {count:?}"
        );
    }
    results::table(
        "startup.txt",
        &format!("start to the first traced event: {times:.2?}\n"),
    )?;
    let best = times.iter().min().context("no times")?;
    ensure!(
        *best < PROMISED,
        "the best of {times:.2?} is over {PROMISED:?}"
    );
    Ok(Outcome::Ok)
}

fn whole() -> Result<Outcome> {
    let zvol = Zvol::create("whole", 32 << 20, "8K", Mode::Bio)?;
    let capture = Capture::start(&["--device", &zvol.disk, "--duration", "3s"]);
    Plan::random_writes(1, 30, 8192, 32 << 20).run(&zvol.path())?;
    let report = capture.wait().report();
    let mut differences = Differences::default();
    differences.equal(
        "complete",
        report["capture"]["complete"].as_bool(),
        Some(true),
    );
    let requested = report["capture"]["requested_ns"].as_u64();
    differences.equal("requested", requested, Some(3_000_000_000));
    let reached = report["capture"]["duration_ns"].as_u64();
    differences.holds(reached >= requested, || {
        format!("ended after {reached:?} ns")
    });
    let count = capture::device(&report, &zvol.disk)["ops"]["write"]["count"].as_u64();
    differences.equal("writes", count, Some(30));
    let end = Capture::start(&["--device", &zvol.disk, "--duration", "600"]);
    end.signal(Signal::TERM);
    let report = end.wait().report();
    differences.equal(
        "complete when ended early",
        report["capture"]["complete"].as_bool(),
        Some(false),
    );
    differences.none()?;
    Ok(Outcome::Ok)
}

fn check() -> Result<Outcome> {
    let output = binary::command(&["check"]).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    results::table("check.txt", &text)?;
    ensure!(output.status.code() == Some(0), "{}: {text}", output.status);
    Ok(Outcome::Ok)
}

/// Root without the capabilities that tracing needs: `CAP_SYS_ADMIN` and, from Linux 5.8 on,
/// `CAP_PERFMON` (38) and `CAP_BPF` (39).
fn capability() -> Result<Outcome> {
    let zvol = Zvol::create("capability", 32 << 20, "8K", Mode::Bio)?;
    let without = |arguments: &[&str]| -> Result<(Option<i32>, String)> {
        let output = program::command("setpriv")
            .args(["--inh-caps", "-sys_admin,-cap_38,-cap_39"])
            .args(["--bounding-set", "-sys_admin,-cap_38,-cap_39"])
            .arg(binary::zvoltrace())
            .args(arguments)
            .stdin(Stdio::null())
            .output()?;
        let text = [output.stdout, output.stderr].concat();
        Ok((
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        ))
    };
    let mut differences = Differences::default();
    for arguments in [
        &["check"][..],
        &["capture", "--device", &zvol.disk, "--duration", "1"],
    ] {
        let (code, text) = without(arguments)?;
        let what = arguments[0];
        differences.equal(&format!("exit status of {what}: {text}"), code, Some(3));
        let named = text.to_uppercase();
        differences.holds(
            named.contains("CAP_BPF") || named.contains("CAP_SYS_ADMIN"),
            || format!("{what} does not name the capability: {text}"),
        );
    }
    differences.none()?;
    Ok(Outcome::Ok)
}

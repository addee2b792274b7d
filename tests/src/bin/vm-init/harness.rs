//! Running tests one by one: a line each on the console, a limit each, a verdict at the end.

use std::any::Any;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Longest time for one test. A thread that hangs in the kernel cannot be ended; the tests after
/// it run all the same.
const LIMIT: Duration = Duration::from_mins(4);

/// How a test went that did not fail.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// What it says holds.
    Ok,
    /// It cannot be tried here; why.
    Skipped(String),
}

/// One test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    /// A sentence.
    pub(crate) name: &'static str,
    /// What decides. A panic is a failure.
    pub(crate) run: fn() -> Result<Outcome>,
    /// Runs only when a filter names it.
    pub(crate) on_demand: bool,
}

impl Test {
    /// A test of every run.
    pub(crate) const fn new(name: &'static str, run: fn() -> Result<Outcome>) -> Self {
        Self {
            name,
            run,
            on_demand: false,
        }
    }

    /// A test, or a collection of data, that is asked for by name.
    pub(crate) const fn on_demand(name: &'static str, run: fn() -> Result<Outcome>) -> Self {
        Self {
            name,
            run,
            on_demand: true,
        }
    }

    fn wanted(&self, filters: &[&str]) -> bool {
        let named = filters.iter().any(|filter| self.name.contains(filter));
        named || (filters.is_empty() && !self.on_demand)
    }
}

/// Runs the tests that are wanted, in order, and prints the verdict.
pub(crate) fn run(tests: &[Test], filters: &[&str]) {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for test in tests.iter().filter(|test| test.wanted(filters)) {
        let begin = Instant::now();
        let outcome = one(*test);
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(Outcome::Ok) => {
                passed += 1;
                println!("test {} ... ok ({seconds:.1} s)", test.name);
            }
            Ok(Outcome::Skipped(why)) => {
                skipped += 1;
                println!("test {} ... skipped: {why}", test.name);
            }
            Err(why) => {
                failed += 1;
                println!("test {} ... FAILED ({seconds:.1} s)", test.name);
                for line in why.lines() {
                    println!("  | {line}");
                }
            }
        }
    }
    println!("verdict: {passed} passed, {failed} failed, {skipped} skipped");
}

fn one(test: Test) -> Result<Outcome, String> {
    let (sender, outcome) = mpsc::channel();
    let thread = thread::Builder::new()
        .name(test.name.to_owned())
        .spawn(move || {
            let result = (test.run)().map_err(|error| format!("{error:#}"));
            // The harness may have given up on this test.
            let _ = sender.send(result);
        });
    let thread = thread.map_err(|error| format!("no thread: {error}"))?;
    match outcome.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(format!("not done after {} s", LIMIT.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err(match thread.join() {
            Err(payload) => message(payload.as_ref()),
            Ok(()) => "ended without an outcome".to_owned(),
        }),
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("panicked")
        .to_owned()
}

/// Polls a condition that the kernel or udev brings about on its own.
pub(crate) fn wait_until(
    what: &str,
    limit: Duration,
    mut holds: impl FnMut() -> bool,
) -> Result<()> {
    const STEP: Duration = Duration::from_millis(10);
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > limit {
            bail!("waited {} s in vain for {what}", limit.as_secs());
        }
        thread::sleep(STEP);
    }
    Ok(())
}

/// Differences between what is and what should be, collected so that one run shows all of them.
#[derive(Debug, Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    /// Notes it when the two differ.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "callers compare what they just computed"
    )]
    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: T, should: T) {
        if is != should {
            self.0
                .push(format!("{what}: is {is:?}, should be {should:?}"));
        }
    }

    /// Notes it when the condition does not hold.
    pub(crate) fn holds(&mut self, condition: bool, otherwise: impl FnOnce() -> String) {
        if !condition {
            self.0.push(otherwise());
        }
    }

    /// Fails when anything was noted.
    pub(crate) fn none(self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        bail!("{}", self.0.join("\n"))
    }
}

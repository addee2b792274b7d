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

    /// Whether the filters ask for it: words that its name contains, and with `!` before them
    /// words that it must not contain.
    fn wanted(&self, filters: &[&str]) -> bool {
        let skips = filters.iter().filter_map(|filter| filter.strip_prefix('!'));
        if skips.into_iter().any(|word| self.name.contains(word)) {
            return false;
        }
        let mut words = filters
            .iter()
            .filter(|filter| !filter.starts_with('!'))
            .peekable();
        if words.peek().is_none() {
            return !self.on_demand;
        }
        words.any(|word| self.name.contains(word))
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

    /// Notes what one list has and the other has not, each element as often as it occurs; order
    /// does not matter.
    pub(crate) fn same<T: Ord + std::fmt::Debug>(
        &mut self,
        what: &str,
        mut is: Vec<T>,
        mut should: Vec<T>,
    ) {
        is.sort_unstable();
        should.sort_unstable();
        let (mut extra, mut missing) = (Vec::new(), Vec::new());
        let (mut is, mut should) = (is.into_iter().peekable(), should.into_iter().peekable());
        loop {
            match (is.peek(), should.peek()) {
                (Some(left), Some(right)) if left == right => {
                    is.next();
                    should.next();
                }
                (Some(left), Some(right)) if left < right => extra.extend(is.next()),
                (Some(_), None) => extra.extend(is.next()),
                (_, Some(_)) => missing.extend(should.next()),
                (None, None) => break,
            }
        }
        for (side, list) in [("should not have", extra), ("lacks", missing)] {
            if !list.is_empty() {
                let shown = &list[..list.len().min(4)];
                self.0
                    .push(format!("{what} {side} {} such as {shown:?}", list.len()));
            }
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

#[cfg(test)]
mod tests {
    use super::{Differences, Outcome, Test};

    #[test]
    fn filters_choose_and_skip_by_parts_of_names() {
        let usual = Test::new("counts_are_exact", || Ok(Outcome::Ok));
        let asked = Test::on_demand("collect_fixtures", || Ok(Outcome::Ok));
        assert!(usual.wanted(&[]) && !asked.wanted(&[]));
        assert!(usual.wanted(&["exact"]) && !usual.wanted(&["fixtures"]));
        assert!(asked.wanted(&["fixtures"]));
        assert!(!usual.wanted(&["!exact"]) && !usual.wanted(&["counts", "!exact"]));
        assert!(usual.wanted(&["!fixtures"]) && !asked.wanted(&["!exact"]));
    }

    #[test]
    fn lists_are_compared_as_often_as_each_element_occurs() {
        let differ = |is: &[u32], should: &[u32]| {
            let mut differences = Differences::default();
            differences.same("list", is.to_vec(), should.to_vec());
            differences.none().err().map(|error| error.to_string())
        };
        assert_eq!(differ(&[3, 1, 1], &[1, 3, 1]), None);
        assert_eq!(
            differ(&[1, 2, 2], &[2, 5]).as_deref(),
            Some("list should not have 2 such as [1, 2]\nlist lacks 1 such as [5]")
        );
        assert_eq!(
            differ(&[], &[7]).as_deref(),
            Some("list lacks 1 such as [7]")
        );
    }
}

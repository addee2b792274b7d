//! What a machine's console says: pure recognition of its lines and the state they lead to.

/// Last lines kept for a report on a machine that went wrong.
const TAIL_LINES: usize = 60;

/// Words by which a kernel says that it is lost.
const PANIC: [&str; 2] = ["Kernel panic - not syncing", "Attempted to kill init"];
/// Words by which a kernel says that a CPU no longer schedules.
const LOCKUP: [&str; 3] = [
    "BUG: soft lockup",
    "hard LOCKUP",
    "self-detected stall on CPU",
];

/// How a machine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// PID 1 gave its verdict.
    Verdict(Counts),
    /// The kernel gave up.
    Panic,
    /// A CPU was stuck.
    Lockup,
    /// The machine went away without a verdict.
    PowerOff,
    /// Nothing was printed for too long.
    Silent,
    /// The whole run took too long.
    TimeOut,
}

/// Tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Held.
    pub(crate) passed: u64,
    /// Did not hold.
    pub(crate) failed: u64,
    /// Could not be tried; the line says why.
    pub(crate) skipped: u64,
}

/// The console so far.
#[derive(Debug, Default)]
pub(crate) struct Console {
    lines: std::collections::VecDeque<String>,
    counts: Counts,
    failed: Vec<String>,
    end: Option<End>,
}

impl Console {
    /// Takes one line and says whether it is worth showing while the run goes on.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
        if PANIC.iter().any(|words| line.contains(words)) {
            self.end.get_or_insert(End::Panic);
        } else if LOCKUP.iter().any(|words| line.contains(words)) {
            self.end.get_or_insert(End::Lockup);
        } else if let Some((name, outcome)) = test(line) {
            match outcome {
                Outcome::Ok => self.counts.passed += 1,
                Outcome::Skipped => self.counts.skipped += 1,
                Outcome::Failed => {
                    self.counts.failed += 1;
                    self.failed.push(name.to_owned());
                }
            }
            return true;
        } else if let Some(counts) = verdict(line) {
            self.end.get_or_insert(End::Verdict(counts));
            return true;
        }
        line.starts_with("  | ") || line.starts_with("zvoltrace-vm: ")
    }

    /// How it ended, when a line said so.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Tests by outcome, as their lines gave them.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Names of the tests that failed.
    pub(crate) fn failed(&self) -> &[String] {
        &self.failed
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}

enum Outcome {
    Ok,
    Failed,
    Skipped,
}

/// `test NAME ... ok`, `... FAILED` or `... skipped: why`; a time in brackets may follow.
fn test(line: &str) -> Option<(&str, Outcome)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let outcome = match outcome.split([' ', ':']).next()? {
        "ok" => Outcome::Ok,
        "FAILED" => Outcome::Failed,
        "skipped" => Outcome::Skipped,
        _ => return None,
    };
    Some((name, outcome))
}

/// `verdict: P passed, F failed, S skipped`.
fn verdict(line: &str) -> Option<Counts> {
    let mut numbers = line
        .strip_prefix("verdict: ")?
        .split(", ")
        .zip(["passed", "failed", "skipped"])
        .map(|(part, word)| {
            let (number, name) = part.split_once(' ')?;
            (name == word).then(|| number.parse().ok())?
        });
    Some(Counts {
        passed: numbers.next()??,
        failed: numbers.next()??,
        skipped: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    use super::{Console, Counts, End};

    fn read(lines: &[&str]) -> Console {
        let mut console = Console::default();
        for line in lines {
            console.line(line);
        }
        console
    }

    #[test]
    fn lines_are_counted_by_outcome_and_failures_named() {
        let console = read(&[
            "[    1.0] some kernel line ... ok",
            "test counts_are_exact ... ok (1.2 s)",
            "test both_at_once ... skipped: no blk-mq before ZFS 2.2.1",
            "test a_pool_suspends ... FAILED (30.0 s)",
            "  | left 3, right 4",
            "verdict: 1 passed, 1 failed, 1 skipped",
        ]);
        let counts = Counts {
            passed: 1,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(console.counts(), counts);
        assert_eq!(console.failed(), ["a_pool_suspends"]);
        assert_eq!(console.end(), Some(&End::Verdict(counts)));
    }

    #[test]
    fn a_panic_or_a_lockup_ends_the_run_and_the_first_end_stands() {
        let panic = read(&[
            "[ 9.1] Kernel panic - not syncing: Fatal exception",
            "verdict: 1 passed, 0 failed, 0 skipped",
        ]);
        assert_eq!(panic.end(), Some(&End::Panic));
        let lockup = read(&["[ 99.0] watchdog: BUG: soft lockup - CPU#1 stuck for 23s!"]);
        assert_eq!(lockup.end(), Some(&End::Lockup));
    }

    #[test]
    fn a_damaged_verdict_is_none() {
        for line in [
            "verdict: 1 passed",
            "verdict: a passed, 0 failed, 0 skipped",
            "verdict: 1 failed, 0 passed, 0 skipped",
        ] {
            assert_eq!(read(&[line]).end(), None, "{line}");
        }
    }

    #[test]
    fn the_tail_is_bounded() {
        let mut console = Console::default();
        for number in 0..1000 {
            console.line(&number.to_string());
        }
        assert_eq!(console.tail().count(), super::TAIL_LINES);
        assert_eq!(console.tail().last(), Some("999"));
    }
}

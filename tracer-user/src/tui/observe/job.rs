//! A capture in the background: runs beside the screen on the same inputs, and leaves a report.

use super::episode::Episode;
use crate::{
    analysis::Explanation,
    input::{End, Input, Overhead},
    report::model::Report,
    tui::{
        snapshot::{Job, JobStage},
        state::JobFormat,
    },
};

/// What a capture in the background is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// For so long.
    pub seconds: u64,
    /// Form of the report.
    pub format: JobFormat,
    /// File it goes to.
    pub path: std::path::PathBuf,
}

/// A capture that has ended: its report is to be written.
#[derive(Debug)]
pub struct Finished {
    /// Its number.
    pub number: u64,
    /// What was asked for.
    pub order: Order,
    /// What it found.
    pub report: Report,
    /// Why its verdicts are what they are.
    pub why: Vec<Explanation>,
}

/// The capture that was started last.
#[derive(Debug)]
pub(super) struct BackgroundJob {
    pub(super) number: u64,
    pub(super) order: Order,
    /// `None` until it begins, and from its end on.
    episode: Option<Episode>,
    /// What tracing had cost before.
    spent_before: Option<Overhead>,
    /// `None` while it waits for its beginning or runs.
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Outcome {
    Writing,
    Known(Result<(), String>),
}

impl BackgroundJob {
    pub(super) fn new(number: u64, order: Order) -> Self {
        Self {
            number,
            order,
            episode: None,
            spent_before: None,
            outcome: None,
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.episode.is_none() && self.outcome.is_none()
    }

    /// Begins it; `spent` is what tracing has cost until then.
    pub(super) fn begin(&mut self, episode: Option<Episode>, spent: Option<Overhead>) {
        self.episode = episode;
        self.spent_before = spent;
    }

    pub(super) fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    fn ends_ns(&self) -> Option<u64> {
        let begun_ns = self.episode.as_ref()?.from_ns;
        Some(begun_ns.saturating_add(self.order.seconds.saturating_mul(1_000_000_000)))
    }

    /// Takes an input; a sample at or behind its end ends it.
    pub(super) fn feed(&mut self, input: &Input, spent: Option<Overhead>) -> Option<Finished> {
        self.episode.as_mut()?.feed(input);
        match input {
            Input::Sample(sample) if Some(sample.at_ns) >= self.ends_ns() => {
                self.end(sample.at_ns, None, spent)
            }
            Input::End(end) => self.end(end.at_ns, Some("the source ended before its time"), spent),
            _ => None,
        }
    }

    /// Ends it; `short` says why it is not complete, `spent` what tracing has cost until now.
    pub(super) fn end(
        &mut self,
        at_ns: u64,
        short: Option<&str>,
        spent: Option<Overhead>,
    ) -> Option<Finished> {
        let overhead = spent.zip(self.spent_before).map(|(now, before)| Overhead {
            user_cpu_ns: now.user_cpu_ns.saturating_sub(before.user_cpu_ns),
            ..now
        });
        let mut episode = self.episode.take()?;
        episode.feed(&Input::End(End {
            at_ns,
            incomplete_reasons: short.map(str::to_owned).into_iter().collect(),
            overhead,
        }));
        self.outcome = Some(Outcome::Writing);
        Some(Finished {
            number: self.number,
            order: self.order.clone(),
            report: episode.collector.report(),
            why: episode.collector.explain(),
        })
    }

    pub(super) fn done(&mut self, result: Result<(), String>) {
        self.outcome = Some(Outcome::Known(result));
    }

    /// How it stands.
    pub(super) fn view(&self, now_ns: u64) -> Job {
        let left_ns = match (&self.outcome, self.ends_ns()) {
            (None, Some(ends_ns)) => ends_ns.saturating_sub(now_ns),
            (None, None) => self.order.seconds.saturating_mul(1_000_000_000),
            _ => 0,
        };
        Job {
            number: self.number,
            path: self.order.path.display().to_string(),
            stage: match &self.outcome {
                Some(Outcome::Known(Ok(()))) => JobStage::Written,
                Some(Outcome::Known(Err(why))) => JobStage::Failed(why.clone()),
                Some(Outcome::Writing) | None => JobStage::Running { left_ns },
            },
        }
    }
}

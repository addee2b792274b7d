//! The collector from inputs to report, by the cases that engineers described.

mod counting;
#[allow(clippy::cast_precision_loss, reason = "factors of small counts")]
mod reckoned;
mod verdicts;
mod workloads;

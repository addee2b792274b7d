//! The collector from inputs to report, by the cases that engineers described.

mod counting;
mod verdicts;
mod workloads;

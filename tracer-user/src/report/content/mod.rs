//! What a report says to people, before it has a form: tables, bars and labelled facts.
//!
//! Text, markdown and screen are made from these, so that all say the same. Nothing here knows
//! columns, colours or markup; numbers are already written as [`super::units`] writes them.

mod bars;
mod capture;
mod device;
mod explain;
mod tables;

pub(super) use self::{
    bars::distributions,
    capture::capture_facts,
    device::{busy_and_idle, idle_line, lifetime_ns, state_facts, title},
    explain::{explained, of_busy},
    tables::{operations, overview},
};
pub(crate) use self::{
    bars::{Bar, BarRow, Bars, BlockRow, Distribution, latencies, sizes},
    device::{other_findings, workload_facts},
    explain::outcome,
    tables::{Table, candidates, severity_word, submitters},
};

use super::prose::printable;

/// A labelled statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// One or two words.
    pub(crate) label: &'static str,
    /// The statement, one line of any length.
    pub(crate) text: String,
    /// Whether it must not be overlooked.
    pub(crate) loud: bool,
}

impl Fact {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self {
            label,
            text: text.into(),
            loud: false,
        }
    }

    fn loud(label: &'static str, text: impl Into<String>) -> Self {
        Self {
            label,
            text: text.into(),
            loud: true,
        }
    }
}

/// What is said when nothing was traced.
pub(super) const NO_DEVICES: &str = "No disk was traced, since none matched. `zvoltrace list` \
shows the zvols of this host; `--device` names other disks; `--wait` waits for them.";

/// What every number means, once, at the end of a report.
pub(super) const LEGEND: &str = "Sizes are binary: 8K = 8,192 bytes, 1 MiB/s = 1,048,576 bytes \
a second. Latency is submission to completion. Rates are over the time a disk was traced. One \
I/O is one bio (mode bio) or one request (mode blk-mq).";

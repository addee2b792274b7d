//! Analysis: folds the [`Input`](crate::input::Input)s of a capture into a report.
//!
//! Owns every number and judgement of the report. It is pure: no I/O, no clock (time comes
//! from the inputs), no global state, so that a recording gives the report that was printed
//! live. Memory is bounded whatever arrives; where a bound bites, the report says so.

mod accounting;
mod amplification;
mod axes;
mod budget;
mod collector;
mod concurrency;
mod device;
mod dirty;
mod first_touch;
mod groups;
mod indirect;
mod insight;
mod op;
mod pattern;
mod pieces;
mod pool;
mod spread;
mod streams;
mod totals;
mod touched;
mod txg;
mod window;

pub mod latency;
pub mod sizes;
pub mod space;
pub mod submitters;
pub mod verdict;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use collector::{Collector, Explanation, Options};
pub(crate) use totals::is_counted_below;

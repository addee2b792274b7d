//! Real devices, real eBPF, the real binary: I/O of known counts in, the report out.
//!
//! Modules are named `live_*`: the runner keeps their tests from running at the same time (see
//! `.config/nextest.toml`).

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod live_arrivals;
mod live_counts;
mod live_endings;
mod live_events;
mod live_fio;
mod live_in_flight;
mod live_loss;
mod live_recording;
mod live_refusals;
mod live_top;

//! Shared pieces of the test package: real devices, I/O of known counts, and the built binary.
//!
//! Owns everything that a live test needs beside its own assertions; `cargo xtask demo` uses the
//! devices and the workload too. It never looks into the tracer's crates: what it expects of a
//! device comes from the plan that was executed and from sysfs alone.

pub mod binary;
pub mod blkparse_text;
pub mod capture;
mod command;
pub mod direct;
pub mod expect;
pub mod loop_device;
pub mod plan;
pub mod queue;
pub mod recorded;
pub mod rights;
pub mod stallable_disk;
pub mod tmpfs;
pub mod tmux;
pub mod workload;
pub mod zram_device;

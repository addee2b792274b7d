//! zvoltrace: what guests do to their ZFS volumes, and whether volblocksize fits.
//!
//! Data runs one way: hook -> ring -> source -> [`event`] / [`input`] -> analysis -> report
//! model -> a renderer.

pub mod analysis;
pub mod blktrace;
pub mod btf;
pub mod capture;
pub mod cli;
pub mod compare;
pub mod device;
pub mod errno;
pub mod event;
pub mod events;
pub mod export;
pub mod fio;
pub mod host;
pub mod input;
pub mod kstat;
pub mod output;
pub mod preflight;
pub mod progress;
pub mod recording;
pub mod report;
pub mod session;
pub mod source;
pub mod tracer;
pub mod tui;
pub mod zpool;

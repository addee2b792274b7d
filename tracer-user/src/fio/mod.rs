//! fio's formats: an iolog that replays a capture, and job files around it.
//!
//! Only text is made here. A replay overwrites its target, so nothing in these files ever
//! names the disk that was captured.

mod iolog;
mod job;

pub use iolog::{IologOp, IologWriter, MAX_TRIM_BYTES, file_name};
pub use job::{Mix, Replay, replay_job, summary_job};

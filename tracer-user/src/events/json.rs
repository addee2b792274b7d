//! A line as one JSON object. The keys are documented on [`Line`], and for users in
//! `docs/events.md`; keys may be added, never renamed.

use std::io;

use serde::Serialize;

use super::Context;
use crate::{
    event::Event,
    recording::words::{comm_text, flag_words, op_word},
};

/// One I/O.
#[derive(Serialize)]
struct Line<'a> {
    /// Completion, ns since the capture began; negative before it.
    completed_ns: i64,
    /// Kernel name of the disk.
    device: &'a str,
    /// Major number of the disk.
    major: u32,
    /// Minor number of the disk.
    minor: u32,
    /// Dataset behind it; null for a disk that is no zvol.
    dataset: Option<&'a str>,
    /// `read`, `write`, `flush`, `discard`, `secure-erase`, `write-zeroes` or `unknown-N`.
    op: &'a str,
    /// Flags: `sync`, `meta`, `prio`, `nomerge`, `idle`, `integrity`, `fua`, `preflush`,
    /// `rahead`, `background`, `nowait`.
    flags: Vec<&'a str>,
    /// First byte, from the start of the disk; text, since it can pass 2^53.
    offset_bytes: String,
    /// Size at submission.
    bytes: u32,
    /// Submission to completion; null when the clock ran backwards.
    latency_ns: Option<u64>,
    /// Submission to first issue (blk-mq); null where there is none.
    queue_ns: Option<u64>,
    /// First issue to completion (blk-mq); null where there is none.
    service_ns: Option<u64>,
    /// 0, or the errno (positive).
    error: u16,
    /// Process of the submitter.
    pid: u32,
    /// Thread of the submitter.
    tid: u32,
    /// Command name of the submitter.
    comm: String,
    /// CPU that saw the completion.
    cpu: u16,
}

pub(super) fn line(event: &Event, context: &Context<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let flags = flag_words(event.flags);
    let line = Line {
        completed_ns: event.end_ns.wrapping_sub(context.started_ns).cast_signed(),
        device: context.device.map_or("", |device| &device.name),
        major: context.device.map_or(0, |device| device.major),
        minor: context.device.map_or(0, |device| device.minor),
        dataset: context.device.and_then(|device| device.dataset.as_deref()),
        op: &op_word(event.op),
        flags: flags.split_terminator(' ').collect(),
        offset_bytes: event.offset_bytes.to_string(),
        bytes: event.bytes,
        latency_ns: event.latency_ns(),
        queue_ns: event
            .issue_ns
            .and_then(|issue| issue.checked_sub(event.start_ns)),
        service_ns: event
            .issue_ns
            .and_then(|issue| event.end_ns.checked_sub(issue)),
        error: event.errno,
        pid: event.pid,
        tid: event.tid,
        comm: comm_text(event.comm),
        cpu: event.cpu,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.push(b'\n');
    Ok(())
}

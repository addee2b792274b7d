//! A line as `blkparse` prints a completion by default, and behind it latency and command.
//!
//! `blkparse.c`: `%D %2c %8s %5T.%9t %5p %2a %3d `, then `%S + %n [%e]`; without `+ %n` when
//! there are no sectors. The sequence is the number of the line (blktrace counts per CPU), the
//! process is the submitter (blktrace: whoever ran when it completed).

use std::io::{self, Write};

use tracer_common::{flag, op};

use super::Context;
use crate::{
    event::{Event, Op},
    recording::words::comm_text,
};

const SECTOR_BYTES: u64 = 512;
const NS_PER_S: u64 = 1_000_000_000;

pub(super) fn line(event: &Event, context: &Context<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let (major, minor) = context
        .device
        .map_or((0, 0), |device| (device.major, device.minor));
    let at_ns = event.end_ns.saturating_sub(context.started_ns);
    write!(
        out,
        "{major:>3},{minor:<3} {:>2} {:>8} {:>5}.{:09} {:>5}  C {:>3} {}",
        event.cpu,
        context.number,
        at_ns / NS_PER_S,
        at_ns % NS_PER_S,
        event.pid,
        rwbs(event),
        event.offset_bytes / SECTOR_BYTES,
    )?;
    if event.bytes > 0 {
        write!(out, " + {}", u64::from(event.bytes) / SECTOR_BYTES)?;
    }
    // The error as blktrace's 16 bits hold it: 65531 is -5.
    write!(out, " [{}] ", event.errno.wrapping_neg())?;
    match event.latency_ns() {
        Some(ns) => write!(out, "{}.{:03}us", ns / 1000, ns % 1000)?,
        None => out.extend(b"-"),
    }
    writeln!(
        out,
        " [{}]",
        comm_text(event.comm).replace(char::is_control, "\u{fffd}")
    )
}

/// What an I/O is, in blkparse's letters (`fill_rwbs` in `blkparse_fmt.c`).
fn rwbs(event: &Event) -> String {
    let has = |bit, letter| event.flags.has(bit).then_some(letter);
    let direction = match event.op {
        Op::Discard | Op::SecureErase => 'D',
        Op::Write | Op::WriteZeroes => 'W',
        Op::Flush if event.flags.has(flag::PREFLUSH) => 'W',
        Op::Unknown(code) if u32::from(code) & op::WRITE != 0 => 'W',
        Op::Read | Op::Unknown(_) if event.bytes > 0 => 'R',
        Op::Read | Op::Unknown(_) | Op::Flush => 'N',
    };
    let preflush = (event.op == Op::Flush || event.flags.has(flag::PREFLUSH)).then_some('F');
    let letters = [
        preflush,
        Some(direction),
        has(flag::FUA, 'F'),
        has(flag::RAHEAD, 'A'),
        has(flag::SYNC, 'S'),
        has(flag::META, 'M'),
    ];
    letters.into_iter().flatten().collect()
}

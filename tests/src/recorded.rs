//! The I/Os of a recording, as `zvoltrace events` prints them.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::binary;
use crate::plan::{Io, Kind};

/// Every I/O of a disk, in order of completion.
pub fn ios(recording: &Path, disk: &str) -> Result<Vec<Io>> {
    lines(recording)?
        .iter()
        .filter(|line| line["device"] == disk)
        .map(|line| io(line).with_context(|| format!("not an I/O: {line}")))
        .collect()
}

/// Every line that `events --format jsonl` prints of a recording.
pub fn lines(recording: &Path) -> Result<Vec<Value>> {
    let output = binary::command(&["events", "--quiet", "--format", "jsonl", "--from"])
        .arg(recording)
        .stdin(Stdio::null())
        .output()
        .context("cannot run events")?;
    if !output.status.success() {
        bail!(
            "events failed: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}")))
        .collect()
}

fn io(line: &Value) -> Option<Io> {
    let bytes = line["bytes"].as_u64()?;
    let has = |flag: &str| {
        let mut flags = line["flags"].as_array().into_iter().flatten();
        flags.any(|word| word == flag)
    };
    let kind = match line["op"].as_str()? {
        "read" => Kind::Read,
        "discard" => Kind::Discard,
        "flush" => Kind::Flush,
        "write" if bytes == 0 && has("preflush") => Kind::Flush,
        "write" if has("fua") => Kind::WriteFua,
        "write" => Kind::Write,
        _ => return None,
    };
    let offset = line["offset_bytes"].as_str()?.parse().ok()?;
    Some(Io {
        kind,
        // A flush has no place; what stands there depends on the kernel.
        offset: if kind == Kind::Flush { 0 } else { offset },
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::io;
    use crate::plan::{Io, Kind};

    #[test]
    fn a_line_becomes_the_io_that_was_issued() {
        let line = |op: &str, flags: &[&str], offset: &str, bytes: u64| json!({"op": op, "flags": flags, "offset_bytes": offset, "bytes": bytes});
        let is = |kind, offset, bytes| {
            Some(Io {
                kind,
                offset,
                bytes,
            })
        };
        assert_eq!(
            io(&line("write", &["sync", "fua"], "8192", 4096)),
            is(Kind::WriteFua, 8192, 4096)
        );
        assert_eq!(
            io(&line("write", &["preflush"], "18446744073709551104", 0)),
            is(Kind::Flush, 0, 0)
        );
        assert_eq!(io(&line("read", &[], "0", 512)), is(Kind::Read, 0, 512));
        assert_eq!(io(&line("unknown-7", &[], "0", 512)), None);
    }
}

//! What sysfs says of a disk's queue: it decides which I/Os the block layer makes of a request.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Limits and caches of one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Whether requests are made of bios (`mq/` exists), or the driver takes the bios themselves.
    pub blk_mq: bool,
    /// Longest request.
    pub max_bytes: u64,
    /// Longest discard request.
    pub max_discard_bytes: u64,
    /// Discards are cut at multiples of it.
    pub discard_granularity_bytes: u64,
    /// Whether the disk says that it has a volatile write cache. Without one the block layer
    /// strips `PREFLUSH` and `FUA`, and drops empty flushes, before anything can be traced.
    pub write_cache: bool,
}

impl Queue {
    /// Reads `/sys/block/<disk>`.
    pub fn read(disk: &str) -> Result<Self> {
        let sysfs = Path::new("/sys/block").join(disk);
        let text = |name: &str| {
            let path = sysfs.join("queue").join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let number = |name: &str| -> Result<u64> {
            text(name)?
                .trim()
                .parse()
                .with_context(|| format!("{name} of {disk} is no number"))
        };
        Ok(Self {
            blk_mq: sysfs.join("mq").is_dir(),
            max_bytes: number("max_sectors_kb")? * 1024,
            max_discard_bytes: number("discard_max_bytes")?,
            discard_granularity_bytes: number("discard_granularity")?.max(512),
            write_cache: text("write_cache")?.trim() == "write back",
        })
    }

    /// Limits requests to `bytes` from now on (at least a page), so that longer ones are split in
    /// a known way.
    pub fn limit(disk: &str, bytes: u64) -> Result<()> {
        let path = Path::new("/sys/block")
            .join(disk)
            .join("queue/max_sectors_kb");
        fs::write(&path, (bytes / 1024).to_string())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

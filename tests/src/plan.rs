//! A list of I/Os whose counts at the disk are known before it runs.
//!
//! A plan is executed by one thread, one I/O at a time, so nothing is merged; what the block layer
//! makes of each step follows from the disk's queue.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::direct::DirectDevice;
use crate::queue::Queue;

/// Longest read or write: a bio holds 256 pages, and 128 segments are a usual limit of a
/// request, so a longer one would be cut depending on where its memory lies.
pub const LONGEST: usize = 512 << 10;

/// One step. Offsets and lengths are bytes, multiples of 4,096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A read.
    Read {
        /// Where.
        offset: u64,
        /// How much, up to [`LONGEST`].
        len: usize,
    },
    /// A write.
    Write {
        /// Where.
        offset: u64,
        /// How much, up to [`LONGEST`].
        len: usize,
    },
    /// A write on a descriptor with `O_DSYNC`.
    WriteDurable {
        /// Where.
        offset: u64,
        /// How much, up to [`LONGEST`].
        len: usize,
    },
    /// `fdatasync`.
    Flush,
    /// `BLKDISCARD`.
    Discard {
        /// Where.
        offset: u64,
        /// How much.
        len: u64,
    },
}

/// I/Os of one operation at the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// How many.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// How many of each exact size in bytes.
    pub sizes: BTreeMap<u64, u64>,
}

impl Class {
    /// One I/O of `len`, in pieces of at most `max` bytes.
    fn add(&mut self, len: u64, max: u64) {
        let mut left = len;
        while left > 0 {
            let piece = left.min(max);
            self.count += 1;
            self.bytes += piece;
            *self.sizes.entry(piece).or_default() += 1;
            left -= piece;
        }
    }
}

/// What the disk gets of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Reads.
    pub read: Class,
    /// Writes with data.
    pub write: Class,
    /// Discards.
    pub discard: Class,
    /// Writes with `FUA`.
    pub fua: u64,
    /// Empty flushes.
    pub flushes: u64,
    /// Bios, before the block layer cuts any.
    pub submitted: u64,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In order of execution.
    pub steps: Vec<Step>,
}

impl Plan {
    /// `count` writes of `len` bytes at different random multiples of `len` under `span_bytes`,
    /// which holds at least `count` of them.
    #[must_use]
    pub fn random_writes(seed: u64, count: usize, len: usize, span_bytes: u64) -> Self {
        let mut slots: Vec<u64> = (0..span_bytes / len as u64).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut slots);
        let steps = slots.into_iter().take(count).map(|slot| Step::Write {
            offset: slot * len as u64,
            len,
        });
        Self {
            steps: steps.collect(),
        }
    }

    /// Executes every step on a device node.
    pub fn run(&self, device: &Path) -> io::Result<()> {
        let mut disk = DirectDevice::open(device, LONGEST)?;
        for step in &self.steps {
            match *step {
                Step::Read { offset, len } => disk.read(offset, len)?,
                Step::Write { offset, len } => disk.write(offset, len)?,
                Step::WriteDurable { offset, len } => disk.write_durable(offset, len)?,
                Step::Flush => disk.flush()?,
                Step::Discard { offset, len } => disk.discard(offset, len)?,
            }
        }
        Ok(())
    }

    /// What a disk with this queue gets of it.
    #[must_use]
    pub fn expected(&self, queue: &Queue) -> Expected {
        let mut expected = Expected::default();
        // A bio-mode driver gets bios whole.
        let max = if queue.blk_mq {
            queue.max_bytes
        } else {
            u64::MAX
        };
        let granularity = queue.discard_granularity_bytes;
        // A discard bio has a 32-bit size (block/blk-lib.c, bio_discard_limit).
        let longest_bio = u64::from(u32::MAX) / granularity * granularity;
        let max_discard = if queue.blk_mq {
            longest_bio.min(queue.max_discard_bytes)
        } else {
            longest_bio
        };
        for step in &self.steps {
            expected.submitted += 1;
            match *step {
                Step::Read { len, .. } => expected.read.add(len as u64, max),
                Step::Write { len, .. } => expected.write.add(len as u64, max),
                Step::WriteDurable { len, .. } => {
                    let before = expected.write.count;
                    expected.write.add(len as u64, max);
                    if queue.write_cache {
                        expected.fua += expected.write.count - before;
                        // The block device's write ends with an fsync of the range
                        // (block/fops.c, generic_write_sync).
                        expected.flushes += 1;
                        expected.submitted += 1;
                    }
                }
                Step::Flush if queue.write_cache => expected.flushes += 1,
                Step::Flush => expected.submitted -= 1,
                Step::Discard { len, .. } => {
                    expected.discard.add(len, max_discard);
                    expected.submitted += len.div_ceil(longest_bio) - 1;
                }
            }
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLK_MQ: Queue = Queue {
        blk_mq: true,
        max_bytes: 64 << 10,
        max_discard_bytes: 1 << 20,
        discard_granularity_bytes: 4096,
        write_cache: true,
    };

    #[test]
    fn a_long_write_is_cut_on_blk_mq_and_whole_in_bio_mode() {
        let plan = Plan {
            steps: vec![Step::Write {
                offset: 0,
                len: 160 << 10,
            }],
        };
        let cut = plan.expected(&BLK_MQ).write;
        assert_eq!((cut.count, cut.bytes), (3, 160 << 10));
        assert_eq!(cut.sizes, BTreeMap::from([(64 << 10, 2), (32 << 10, 1)]));
        let bio = Queue {
            blk_mq: false,
            ..BLK_MQ
        };
        assert_eq!(plan.expected(&bio).write.count, 1);
    }

    #[test]
    fn without_a_write_cache_nothing_is_flushed() {
        let plan = Plan {
            steps: vec![
                Step::Flush,
                Step::WriteDurable {
                    offset: 0,
                    len: 4096,
                },
            ],
        };
        let cached = plan.expected(&BLK_MQ);
        assert_eq!((cached.fua, cached.flushes), (1, 2));
        let through = plan.expected(&Queue {
            write_cache: false,
            ..BLK_MQ
        });
        assert_eq!((through.fua, through.flushes), (0, 0));
        assert_eq!(through.write.count, 1);
    }

    #[test]
    fn a_seed_gives_the_same_offsets_each_once() {
        let plan = Plan::random_writes(7, 1000, 8192, 16 << 20);
        assert_eq!(plan, Plan::random_writes(7, 1000, 8192, 16 << 20));
        let mut offsets: Vec<u64> = plan
            .steps
            .iter()
            .map(|step| match step {
                Step::Write { offset, .. } => *offset,
                _ => unreachable!("only writes"),
            })
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 1000);
    }
}

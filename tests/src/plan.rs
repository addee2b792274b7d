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
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
        *self.sizes.entry(bytes).or_default() += 1;
    }
}

/// What an I/O is at the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A write with `FUA`.
    WriteFua,
    /// A discard.
    Discard,
    /// A flush without data.
    Flush,
}

/// One I/O at the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Io {
    /// What it is.
    pub kind: Kind,
    /// First byte, from the start of the disk; 0 for a flush, which has no place.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

impl Io {
    const FLUSH: Self = Self {
        kind: Kind::Flush,
        offset: 0,
        bytes: 0,
    };
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

    /// Like a guest's: random writes of these counts and lengths, then reads of 16K, and a
    /// flush before every 50th step.
    #[must_use]
    pub fn like_a_guest(writes: &[(usize, usize)], reads: usize, span_bytes: u64) -> Self {
        const READS_SEED: u64 = 5;
        let mut plan = Self::default();
        for (seed, (count, len)) in (1..).zip(writes) {
            plan.steps
                .extend(Self::random_writes(seed, *count, *len, span_bytes).steps);
        }
        let reads = Self::random_writes(READS_SEED, reads, 16 << 10, span_bytes).steps;
        plan.steps.extend(reads.into_iter().map(|step| match step {
            Step::Write { offset, len } => Step::Read { offset, len },
            other => other,
        }));
        for at in (0..plan.steps.len()).step_by(50).rev() {
            plan.steps.insert(at, Step::Flush);
        }
        plan
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

    /// The I/Os that a disk with this queue gets of it, in order of submission.
    #[must_use]
    pub fn ios(&self, queue: &Queue) -> Vec<Io> {
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
        let mut ios = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Read { offset, len } => cut(&mut ios, Kind::Read, offset, len as u64, max),
                Step::Write { offset, len } => cut(&mut ios, Kind::Write, offset, len as u64, max),
                Step::WriteDurable { offset, len } if queue.write_cache => {
                    cut(&mut ios, Kind::WriteFua, offset, len as u64, max);
                    // The block device's write ends with an fsync of the range
                    // (block/fops.c, generic_write_sync).
                    ios.push(Io::FLUSH);
                }
                Step::WriteDurable { offset, len } => {
                    cut(&mut ios, Kind::Write, offset, len as u64, max);
                }
                Step::Flush if queue.write_cache => ios.push(Io::FLUSH),
                Step::Flush => {}
                Step::Discard { offset, len } => {
                    cut(&mut ios, Kind::Discard, offset, len, max_discard);
                }
            }
        }
        ios
    }

    /// What a disk with this queue gets of it, summed.
    #[must_use]
    pub fn expected(&self, queue: &Queue) -> Expected {
        let mut expected = Expected::default();
        for io in self.ios(queue) {
            match io.kind {
                Kind::Read => expected.read.add(io.bytes),
                Kind::Write => expected.write.add(io.bytes),
                Kind::WriteFua => {
                    expected.write.add(io.bytes);
                    expected.fua += 1;
                }
                Kind::Discard => expected.discard.add(io.bytes),
                Kind::Flush => expected.flushes += 1,
            }
        }
        let bios = Queue {
            blk_mq: false,
            ..*queue
        };
        expected.submitted = self.ios(&bios).len() as u64;
        expected
    }
}

/// One I/O in pieces of at most `max` bytes.
fn cut(ios: &mut Vec<Io>, kind: Kind, offset: u64, len: u64, max: u64) {
    let mut done = 0;
    while done < len {
        let bytes = (len - done).min(max);
        ios.push(Io {
            kind,
            offset: offset + done,
            bytes,
        });
        done += bytes;
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

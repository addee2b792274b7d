//! Every threshold of the rules, in one place.

/// Fewer writes than this conclude nothing.
pub const MIN_WRITES: u64 = 300;
/// A size dominates from this share of the writes on, by count.
pub const DOMINANT_SHARE: f64 = 0.5;
/// Reads make the device read-mostly from this share of reads and writes on.
pub const READ_MOSTLY_SHARE: f64 = 0.9;

/// Coalesced amplification below which small writes cost nothing worth a warning.
pub const COALESCES: f64 = 1.5;
/// Coalesced amplification from which small writes are critical, if another size is better.
pub const AMPLIFIES_BADLY: f64 = 8.0;
/// Indirect blocks per byte written from which a block size is too small to ignore.
pub const HEAVY_METADATA: f64 = 0.5;

/// Share of writes that start off a block, by one and the same remainder, to call it
/// misalignment.
pub const MISALIGNED_SHARE: f64 = 0.9;
/// Share of I/Os that continue a stream from which a pattern is sequential.
pub const SEQUENTIAL_SHARE: f64 = 0.8;

/// Flushes and durable writes before their part in the tail is judged.
pub const MIN_DURABLE: u64 = 100;
/// Share of the slowest writes and flushes that is theirs, to call the device flush-bound.
pub const TAIL_SHARE: f64 = 0.5;
/// Their 99th percentile from which that is worth a finding, ns.
pub const SLOW_FLUSH_NS: u64 = 5_000_000;
/// Their 99th percentile from which it is a warning, ns.
pub const VERY_SLOW_FLUSH_NS: u64 = 20_000_000;

/// A candidate is recommended only when the present size costs this many times as much: a move
/// is downtime and work.
pub const MARGIN: f64 = 1.5;
/// Among candidates within this factor of the cheapest, the largest is taken: fewer blocks
/// are less CPU, ARC and metadata than the model counts.
pub const NEAR_BEST: f64 = 1.15;
/// What one block costs beside its bytes (checksum, allocation, dbuf, I/O), as bytes.
pub const BLOCK_OVERHEAD_BYTES: f64 = 1024.0;
/// Share of the blocks written in part that are read first: the others are cached or holes.
pub const READ_BEFORE_WRITE_SHARE: f64 = 0.5;
/// A larger size is also recommended when it needs this many times fewer blocks and costs no
/// more, for large sequential writes.
pub const FEWER_BLOCKS: u64 = 4;
/// Share of the bytes that large writes must have for that.
pub const LARGE_WRITES_SHARE: f64 = 0.8;
/// Read bytes below this share of all bytes do not veto a candidate.
pub const READS_MATTER_SHARE: f64 = 0.1;
/// A candidate may make random reads this much more expensive.
pub const READ_TOLERANCE: f64 = 1.25;
/// Sizes that are recommended: what every pool takes, without `large_blocks`.
pub const SMALLEST_RECOMMENDED: u64 = 4 << 10;
/// See [`SMALLEST_RECOMMENDED`].
pub const LARGEST_RECOMMENDED: u64 = 128 << 10;

/// Writes from which a verdict on a complete capture has high confidence.
pub const WRITES_FOR_HIGH_CONFIDENCE: u64 = 10_000;
/// Writes from which it has medium confidence.
pub const WRITES_FOR_MEDIUM_CONFIDENCE: u64 = 1_000;

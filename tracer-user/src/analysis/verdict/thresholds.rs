//! Every threshold of the rules, in one place.

/// Fewer writes than this conclude nothing.
pub const MIN_WRITES: u64 = 300;
/// A size dominates from this share of the writes on, by count.
pub const DOMINANT_SHARE: f64 = 0.5;
/// Reads make the device read-mostly from this share of reads and writes on.
pub const READ_MOSTLY_SHARE: f64 = 0.9;
/// Amplification from which small writes are a warning.
pub const AMPLIFIES: f64 = 2.0;
/// Amplification from which small writes are critical.
pub const AMPLIFIES_BADLY: f64 = 8.0;
/// Writes from which a verdict on a complete capture has high confidence.
pub const WRITES_FOR_HIGH_CONFIDENCE: u64 = 10_000;
/// Writes from which it has medium confidence.
pub const WRITES_FOR_MEDIUM_CONFIDENCE: u64 = 1_000;

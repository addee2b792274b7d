//! Random or sequential: which I/Os continue a stream.
//!
//! An I/O is sequential when, in order of submission, it begins where an earlier one ended.
//! Many streams may be interleaved ([`SLOTS`] are followed), and I/Os arrive in order of
//! completion: a stream is therefore a range that grows at either end, and two ranges that
//! meet become one. All I/Os of a range but its first continue it.

/// Ranges that are followed at once. Under random I/O the ones not used for longest make way.
const SLOTS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// Submission of the I/O at `start`, ns.
    first_ns: u64,
    /// Submission of the I/O that ends at `end`, ns.
    last_ns: u64,
    /// Size of the I/O at `start`.
    first_bytes: u32,
}

const FORGOTTEN: Range = Range {
    start: u64::MAX,
    end: u64::MAX,
    first_ns: u64::MAX,
    last_ns: u64::MAX,
    first_bytes: 0,
};

/// Streams of one direction on one device. Memory: 3 KiB.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    ranges: [Range; SLOTS],
    /// Low bits of each range's start and end in sectors, for a quick search.
    starts: [u32; SLOTS],
    ends: [u32; SLOTS],
    /// Second chance: ranges used since the hand last passed.
    used: u64,
    hand: usize,
    ios: u64,
    bytes: u64,
    /// I/Os that continue nothing: one for each range there ever was, less those that joined.
    random: u64,
    random_bytes: u64,
}

/// What is sequential, and the mean sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sequentiality {
    pub(super) ios: u64,
    pub(super) sequential: u64,
    pub(super) bytes: u64,
    pub(super) sequential_bytes: u64,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            ranges: [FORGOTTEN; SLOTS],
            starts: [u32::MAX; SLOTS],
            ends: [u32::MAX; SLOTS],
            used: 0,
            hand: 0,
            ios: 0,
            bytes: 0,
            random: 0,
            random_bytes: 0,
        }
    }

    /// Takes an I/O by its place and the time of its submission.
    pub(super) fn record(&mut self, offset: u64, bytes: u32, start_ns: u64) {
        self.ios += 1;
        self.bytes += u64::from(bytes);
        let end = offset.saturating_add(u64::from(bytes));
        let before = find(&self.ends, key(offset), |slot| {
            self.ranges[slot].end == offset && self.ranges[slot].last_ns <= start_ns
        });
        let after = find(&self.starts, key(end), |slot| {
            self.ranges[slot].start == end && self.ranges[slot].first_ns >= start_ns
        });
        match (before, after) {
            (Some(before), Some(after)) => self.join(before, after),
            (Some(before), None) => {
                self.set_end(before, end);
                self.ranges[before].last_ns = start_ns;
            }
            (None, Some(after)) => self.prepend(after, offset, bytes, start_ns),
            (None, None) => self.begin(offset, end, bytes, start_ns),
        }
    }

    /// The I/O between two ranges has come: the second one's first I/O continues it.
    fn join(&mut self, before: usize, after: usize) {
        let joined = self.ranges[after];
        self.random -= 1;
        self.random_bytes -= u64::from(joined.first_bytes);
        self.set_end(before, joined.end);
        self.ranges[before].last_ns = joined.last_ns;
        if before != after {
            self.ranges[after] = FORGOTTEN;
            self.starts[after] = u32::MAX;
            self.ends[after] = u32::MAX;
            self.used &= !(1 << after);
        }
    }

    /// The I/O before a range has come late: it is the first, and the former first continues.
    fn prepend(&mut self, slot: usize, offset: u64, bytes: u32, start_ns: u64) {
        let range = &mut self.ranges[slot];
        self.random_bytes += u64::from(bytes);
        self.random_bytes -= u64::from(range.first_bytes);
        range.start = offset;
        range.first_ns = start_ns;
        range.first_bytes = bytes;
        self.starts[slot] = key(offset);
        self.used |= 1 << slot;
    }

    fn begin(&mut self, start: u64, end: u64, bytes: u32, start_ns: u64) {
        self.random += 1;
        self.random_bytes += u64::from(bytes);
        while self.used & (1 << self.hand) != 0 {
            self.used &= !(1 << self.hand);
            self.hand = (self.hand + 1) % SLOTS;
        }
        let slot = self.hand;
        self.hand = (self.hand + 1) % SLOTS;
        self.ranges[slot] = Range {
            start,
            end,
            first_ns: start_ns,
            last_ns: start_ns,
            first_bytes: bytes,
        };
        self.starts[slot] = key(start);
        self.ends[slot] = key(end);
    }

    fn set_end(&mut self, slot: usize, end: u64) {
        self.ranges[slot].end = end;
        self.ends[slot] = key(end);
        self.used |= 1 << slot;
    }

    pub(super) fn sequentiality(&self) -> Sequentiality {
        Sequentiality {
            ios: self.ios,
            sequential: self.ios - self.random,
            bytes: self.bytes,
            sequential_bytes: self.bytes - self.random_bytes,
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a search key: a match is verified"
)]
fn key(offset: u64) -> u32 {
    (offset >> 9) as u32
}

/// First slot with this key that is really meant.
fn find(keys: &[u32; SLOTS], wanted: u32, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
    // `contains` runs in vector registers, and random I/O ends here.
    if !keys.contains(&wanted) {
        return None;
    }
    (0..SLOTS).find(|slot| keys[*slot] == wanted && is_meant(*slot))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Submissions in order of time: which of them begin where an earlier one ended, each end
    /// being continued once.
    fn brute_force(submitted: &[(u64, u32)]) -> u64 {
        let mut ends: HashMap<u64, u64> = HashMap::new();
        let mut sequential = 0;
        for (offset, bytes) in submitted {
            if let Some(n) = ends.get_mut(offset).filter(|n| **n > 0) {
                *n -= 1;
                sequential += 1;
            }
            *ends.entry(offset + u64::from(*bytes)).or_default() += 1;
        }
        sequential
    }

    /// Interleaved streams on areas of their own; which stream is next is given.
    fn interleave(streams: u64, order: &[u64], sizes: &[u32]) -> Vec<(u64, u32)> {
        let mut next: Vec<u64> = (0..streams).map(|s| s << 32).collect();
        order
            .iter()
            .zip(sizes)
            .map(|(pick, size)| {
                let at = &mut next[usize::try_from(pick % streams).unwrap()];
                let io = (*at, *size * 512);
                *at += u64::from(io.1);
                io
            })
            .collect()
    }

    proptest! {
        #[test]
        fn interleaved_streams_are_sequential_in_whatever_order_they_complete(
            streams in 1..=32_u64,
            order in prop::collection::vec(any::<u64>(), 400),
            sizes in prop::collection::vec(1..256_u32, 400),
            shuffle in prop::collection::vec(0..8_usize, 400),
        ) {
            let submitted = interleave(streams, &order, &sizes);
            let mut completed: Vec<usize> = (0..submitted.len()).collect();
            for (at, by) in shuffle.iter().enumerate() {
                let other = (at + by).min(submitted.len() - 1);
                completed.swap(at, other);
            }
            let mut found = Streams::new();
            for at in completed {
                let (offset, bytes) = submitted[at];
                found.record(offset, bytes, at as u64);
            }
            let found = found.sequentiality();
            prop_assert_eq!(found.sequential, brute_force(&submitted));
            prop_assert!(found.sequential >= found.ios - streams);
        }

        #[test]
        fn anything_at_all_is_counted_whole(
            ios in prop::collection::vec((0..64_u64, 1..16_u32, 0..100_u64), 0..500),
        ) {
            let mut streams = Streams::new();
            for (at, sectors, start_ns) in &ios {
                streams.record(at * 512, sectors * 512, *start_ns);
            }
            let found = streams.sequentiality();
            prop_assert_eq!(found.ios, ios.len() as u64);
            prop_assert!(found.sequential <= found.ios);
            prop_assert!(found.sequential_bytes <= found.bytes);
        }
    }

    #[test]
    fn thirty_two_writers_stay_sequential_beside_as_many_random_writes() {
        let mut streams = Streams::new();
        let mut at = 0;
        for round in 0..1_000_u64 {
            for writer in 0..32_u64 {
                streams.record((writer << 40) + round * 4_096, 4_096, at);
                let random = (1 << 50) + (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 << 14);
                streams.record(random, 4_096, at + 1);
                at += 2;
            }
        }
        let found = streams.sequentiality();
        assert_eq!(found.ios, 64_000);
        assert!(found.sequential >= 31_900, "{found:?}");
        assert!(found.sequential <= 32_100, "{found:?}");
    }

    #[test]
    fn a_write_to_the_same_place_again_is_not_sequential() {
        let mut streams = Streams::new();
        for at in 0..100 {
            streams.record(8_192, 4_096, at);
        }
        assert_eq!(streams.sequentiality().sequential, 0);
    }

    #[test]
    fn descending_writes_are_not_sequential() {
        let mut streams = Streams::new();
        for at in 0..100_u64 {
            streams.record((1_000 - at) * 4_096, 4_096, at);
        }
        assert_eq!(streams.sequentiality().sequential, 0);
    }
}

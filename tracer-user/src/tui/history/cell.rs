//! The compact form of a tally: what one device did in one second, in some tens of bytes.
//!
//! Numbers are LEB128. Only what is there is written: a first byte says which parts follow.
//! Memory: about 4 B an operation, 3 B for each latency range and each size that has I/Os.

use super::tally::{OpTally, Tally};

/// Sizes that a second keeps of each operation, the most frequent; the others are summed.
const SIZES_KEPT: usize = 8;
/// Sizes are written in these units where they are multiples.
const SECTOR_BYTES: u32 = 512;

const HAS_READ: u8 = 1;
const HAS_WRITE: u8 = 2;
const HAS_DISCARD: u8 = 4;
const HAS_FLUSH: u8 = 8;
const HAS_SYNC: u8 = 16;
const HAS_OUTSTANDING: u8 = 32;
const HAS_ERRORS_OR_LOST: u8 = 64;

/// Appends a tally; false, and nothing, when there is nothing to say.
pub(super) fn write(tally: &Tally, out: &mut Vec<u8>) -> bool {
    let sync = [
        tally.sync.hinted,
        tally.sync.fua,
        tally.sync.preflush_with_data,
        tally.sync.durable_writes,
    ];
    let parts = [
        (HAS_READ, tally.read.count > 0),
        (HAS_WRITE, tally.write.count > 0),
        (HAS_DISCARD, tally.discard.count > 0),
        (HAS_FLUSH, tally.flush.count > 0),
        (HAS_SYNC, sync.iter().any(|n| *n > 0)),
        (HAS_OUTSTANDING, tally.outstanding.count > 0),
        (HAS_ERRORS_OR_LOST, tally.errors > 0 || tally.lost > 0),
    ];
    let parts = parts.iter().filter(|(_, is_there)| *is_there);
    let parts = parts.fold(0, |all, (part, _)| all | part);
    if parts == 0 {
        return false;
    }
    out.push(parts);
    for (part, op) in operations(tally) {
        if parts & part != 0 {
            write_operation(op, out);
        }
    }
    if parts & HAS_SYNC != 0 {
        for n in sync {
            number(n, out);
        }
    }
    if parts & HAS_OUTSTANDING != 0 {
        number(tally.outstanding.count, out);
        number(tally.outstanding.oldest_ns, out);
    }
    if parts & HAS_ERRORS_OR_LOST != 0 {
        number(tally.errors, out);
        number(tally.lost, out);
    }
    true
}

fn operations(tally: &Tally) -> [(u8, &OpTally); 4] {
    [
        (HAS_READ, &tally.read),
        (HAS_WRITE, &tally.write),
        (HAS_DISCARD, &tally.discard),
        (HAS_FLUSH, &tally.flush),
    ]
}

fn write_operation(op: &OpTally, out: &mut Vec<u8>) {
    number(op.count, out);
    number(op.bytes, out);
    number(op.max_ns, out);
    number(op.recorded().count() as u64, out);
    let mut before = 0;
    for (range, count) in op.recorded() {
        number((range - before) as u64, out);
        number(u64::from(count), out);
        before = range;
    }
    let sizes = op.sizes.most_frequent_first();
    let (kept, summed) = sizes.split_at(sizes.len().min(SIZES_KEPT));
    let mut rest = op.sizes.rest;
    for (bytes, count) in summed {
        rest.count += count;
        rest.bytes += u64::from(*bytes) * count;
    }
    number((kept.len() as u64) << 1 | u64::from(rest.count > 0), out);
    for (bytes, count) in kept {
        let in_sectors = bytes.is_multiple_of(SECTOR_BYTES);
        let size = if in_sectors {
            bytes / SECTOR_BYTES
        } else {
            *bytes
        };
        number(u64::from(size) << 1 | u64::from(in_sectors), out);
        number(*count, out);
    }
    if rest.count > 0 {
        number(rest.count, out);
        number(rest.bytes, out);
    }
}

fn number(mut n: u64, out: &mut Vec<u8>) {
    loop {
        #[allow(clippy::cast_possible_truncation, reason = "seven bits")]
        let low = (n & 0x7f) as u8;
        n >>= 7;
        if n == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Adds what was written to a tally, as a later stretch. What does not parse is left out.
pub(super) fn add_to(tally: &mut Tally, written: &[u8]) {
    let mut reader = Reader(written);
    // Only `write` makes cells, so nothing is ever cut off.
    let _ = reader.add_to(tally);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    fn narrow<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    fn add_to(&mut self, tally: &mut Tally) -> Option<()> {
        let parts = self.byte()?;
        for (part, op) in [
            (HAS_READ, &mut tally.read),
            (HAS_WRITE, &mut tally.write),
            (HAS_DISCARD, &mut tally.discard),
            (HAS_FLUSH, &mut tally.flush),
        ] {
            if parts & part != 0 {
                self.add_operation(op)?;
            }
        }
        if parts & HAS_SYNC != 0 {
            tally.sync.hinted += self.number()?;
            tally.sync.fua += self.number()?;
            tally.sync.preflush_with_data += self.number()?;
            tally.sync.durable_writes += self.number()?;
        }
        tally.outstanding = crate::report::model::Outstanding::default();
        if parts & HAS_OUTSTANDING != 0 {
            tally.outstanding.count = self.number()?;
            tally.outstanding.oldest_ns = self.number()?;
        }
        if parts & HAS_ERRORS_OR_LOST != 0 {
            tally.errors += self.number()?;
            tally.lost = tally.lost.saturating_add(self.number()?);
        }
        Some(())
    }

    fn add_operation(&mut self, op: &mut OpTally) -> Option<()> {
        op.count += self.number()?;
        op.bytes += self.number()?;
        op.max_ns = op.max_ns.max(self.number()?);
        let ranges = self.number()?;
        let mut range = 0;
        for _ in 0..ranges {
            range += self.narrow::<usize>()?;
            op.add_to_range(range, self.narrow()?);
        }
        let sizes = self.number()?;
        for _ in 0..sizes >> 1 {
            let size: u64 = self.number()?;
            let unit = if size & 1 == 1 { SECTOR_BYTES } else { 1 };
            let bytes = u32::try_from(size >> 1).ok()?.checked_mul(unit)?;
            op.sizes.add(bytes, self.number()?);
        }
        if sizes & 1 == 1 {
            op.sizes.rest.count += self.number()?;
            op.sizes.rest.bytes += self.number()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        analysis::testing::write as write_event,
        event::{Event, Flags, Op},
        report::model::Outstanding,
    };

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let op = prop_oneof![
            Just(Op::Read),
            Just(Op::Write),
            Just(Op::Flush),
            Just(Op::Discard),
            Just(Op::WriteZeroes)
        ];
        let size = prop_oneof![
            (1..9_u32).prop_map(|n| n * 4096),
            Just(4_294_966_784),
            1..100_u32
        ];
        let event = (op, size, 0..1_u64 << 44, any::<u32>(), 0..2_u16);
        let event = event.prop_map(|(op, bytes, took_ns, opf, errno)| Event {
            op,
            flags: Flags::from_opf(opf),
            end_ns: 5 + took_ns,
            errno,
            start_ns: 5,
            ..write_event(0, 0, bytes)
        });
        prop::collection::vec(event, 0..60)
    }

    fn tally(events: &[Event]) -> Tally {
        let mut tally = Tally::default();
        for event in events {
            tally.record(event);
        }
        tally
    }

    /// What a cell keeps of sizes: the most frequent by name, the sum of all.
    fn sums(op: &OpTally) -> (u64, u64) {
        let known = op.sizes.known.iter();
        let (count, bytes) = known.fold((0, 0), |(n, sum), (bytes, count)| {
            (n + count, sum + u64::from(*bytes) * count)
        });
        (count + op.sizes.rest.count, bytes + op.sizes.rest.bytes)
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            events in events(), outstanding in 0..3_u64, lost in 0..3_u64,
        ) {
            let mut written = tally(&events);
            written.outstanding = Outstanding { count: outstanding, oldest_ns: outstanding * 7 };
            written.lost = lost;
            let mut bytes = Vec::new();
            let mut read = Tally::default();
            let is_there = write(&written, &mut bytes);
            prop_assert_eq!(is_there, !bytes.is_empty());
            add_to(&mut read, &bytes);
            for (from, to) in [
                (&mut written.read, &mut read.read), (&mut written.write, &mut read.write),
                (&mut written.discard, &mut read.discard), (&mut written.flush, &mut read.flush),
            ] {
                prop_assert_eq!(sums(from), sums(to));
                let mut kept = from.sizes.most_frequent_first();
                kept.truncate(SIZES_KEPT);
                prop_assert_eq!(to.sizes.most_frequent_first(), kept);
                from.sizes = super::super::tally::Sizes::default();
                to.sizes = super::super::tally::Sizes::default();
            }
            prop_assert_eq!(read, written);
        }
    }

    #[test]
    fn a_quiet_second_takes_nothing_and_a_busy_one_some_tens_of_bytes() {
        let mut bytes = Vec::new();
        assert!(!write(&Tally::default(), &mut bytes));
        let events: Vec<Event> = (0..5_000_u64)
            .map(|n| Event {
                start_ns: 0,
                end_ns: 100_000 + n * 20,
                ..write_event(0, 0, 8192)
            })
            .collect();
        assert!(write(&tally(&events), &mut bytes));
        assert!(bytes.len() < 80, "{} bytes", bytes.len());
    }
}

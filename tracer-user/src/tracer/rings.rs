//! The rings of all CPUs as one stream of records in order of completion.

use std::{
    collections::{BinaryHeap, binary_heap::PeekMut},
    sync::atomic::{AtomicU64, Ordering, fence},
};

use tracer_common::{
    IoRecord, RingHead,
    record::{RING_MARGIN, ROUND_SHIFT, round},
};

use super::mapped::MappedArray;

/// Records are taken out this often at most before the kernel half is told of the room.
const TELL_EVERY: u64 = 4096;

/// The user half of `tracer-ebpf/src/platform/rings.rs`.
pub(super) struct Rings {
    heads: MappedArray<RingHead>,
    records: MappedArray<IoRecord>,
    shift: u32,
    /// Records taken, by CPU.
    consumed: Vec<u64>,
    told: Vec<u64>,
}

/// The oldest record of a CPU; the greatest is the one that completed first.
struct Front {
    record: IoRecord,
    cpu: u32,
}

/// Binary logarithm of the records that each of `cpus` rings holds when all together take
/// `ring_bytes`; never less than a few.
pub(super) fn shift(ring_bytes: u32, cpus: u32) -> u32 {
    let each = ring_bytes as usize / size_of::<IoRecord>() / cpus.max(1) as usize;
    let least = RING_MARGIN.ilog2() + 1;
    each.checked_ilog2().unwrap_or(0).max(least)
}

impl Rings {
    pub(super) fn new(
        heads: MappedArray<RingHead>,
        records: MappedArray<IoRecord>,
        shift: u32,
    ) -> Self {
        let consumed = vec![0; heads.len() as usize];
        let told = consumed.clone();
        Self {
            heads,
            records,
            shift,
            consumed,
            told,
        }
    }

    /// Takes up to `limit` records, in order of completion, of those that completed up to
    /// `until_ns`: what completes later on another CPU is then not yet missing. True when there
    /// may be more.
    pub(super) fn drain(
        &mut self,
        limit: usize,
        until_ns: u64,
        mut take: impl FnMut(u16, &IoRecord),
    ) -> bool {
        let mut fronts: BinaryHeap<Front> = (0..self.heads.len())
            .filter_map(|cpu| self.front(cpu, until_ns))
            .collect();
        let mut taken = 0;
        while taken < limit
            && let Some(mut first) = fronts.peek_mut()
        {
            let cpu = first.cpu;
            take(u16::try_from(cpu).unwrap_or(u16::MAX), &first.record);
            taken += 1;
            self.advance(cpu);
            match self.front(cpu, until_ns) {
                Some(next) => *first = next,
                None => {
                    PeekMut::pop(first);
                }
            }
        }
        for cpu in 0..self.heads.len() {
            self.tell(cpu);
        }
        !fronts.is_empty()
    }

    /// Records whose places are claimed and that are not taken: once all that is whole is taken,
    /// those that a hook has yet to write, and those behind them.
    pub(super) fn unfinished(&self) -> u64 {
        let claimed = (0..self.heads.len()).map(|cpu| self.heads.read(cpu).produced);
        let pairs = claimed.zip(&self.consumed);
        pairs
            .map(|(claimed, taken)| claimed.saturating_sub(*taken))
            .sum()
    }

    /// The oldest record of a CPU, when it is whole and old enough.
    fn front(&self, cpu: u32, until_ns: u64) -> Option<Front> {
        let position = *self.consumed.get(cpu as usize)?;
        let place = u32::try_from(position & ((1 << self.shift) - 1)).ok()?;
        let index = (cpu << self.shift) + place;
        let last = self.records.words(index).last()?.load(Ordering::Acquire);
        if last >> ROUND_SHIFT != round(position, self.shift) {
            return None;
        }
        let mut record = self.records.read(index);
        record.comm[1] &= (1 << ROUND_SHIFT) - 1;
        (record.end_ns <= until_ns).then_some(Front { record, cpu })
    }

    fn advance(&mut self, cpu: u32) {
        let Some(consumed) = self.consumed.get_mut(cpu as usize) else {
            return;
        };
        *consumed += 1;
        if consumed.is_multiple_of(TELL_EVERY) {
            self.tell(cpu);
        }
    }

    /// Tells the kernel half what is free again.
    fn tell(&mut self, cpu: u32) {
        let at = cpu as usize;
        let (Some(&consumed), Some(told)) = (self.consumed.get(at), self.told.get_mut(at)) else {
            return;
        };
        if *told != consumed
            && let Some(word) = consumed_word(&self.heads, cpu)
        {
            // What was read was read before its place is given back.
            fence(Ordering::Release);
            word.store(consumed, Ordering::Release);
            *told = consumed;
        }
    }
}

fn consumed_word(heads: &MappedArray<RingHead>, cpu: u32) -> Option<&AtomicU64> {
    let word = std::mem::offset_of!(RingHead, consumed) / size_of::<u64>();
    heads.words(cpu).nth(word)
}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |front: &Self| (front.record.end_ns, front.cpu);
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Front {}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIFT: u32 = 6;

    /// What the hooks do, in memory that this process has both sides of.
    struct Kernel {
        produced: Vec<u64>,
    }

    impl Kernel {
        fn claim(&mut self, rings: &Rings, cpu: u32) -> Option<u64> {
            let consumed = consumed_word(&rings.heads, cpu).unwrap();
            let at = self.produced[cpu as usize];
            let used = at - consumed.load(Ordering::Relaxed);
            if used >= (1 << SHIFT) - RING_MARGIN {
                return None;
            }
            self.produced[cpu as usize] += 1;
            Some(at)
        }

        fn publish(rings: &Rings, cpu: u32, at: u64, end_ns: u64) {
            let place = u32::try_from(at & ((1 << SHIFT) - 1)).unwrap();
            let words: Vec<&AtomicU64> = rings.records.words((cpu << SHIFT) + place).collect();
            words[2].store(end_ns, Ordering::Relaxed);
            words[7].store(round(at, SHIFT) << ROUND_SHIFT | 0x41, Ordering::Release);
        }
    }

    fn rings(cpus: u32) -> (Rings, Kernel) {
        let heads = MappedArray::anonymous(cpus).unwrap();
        let records = MappedArray::anonymous(cpus << SHIFT).unwrap();
        let produced = vec![0; cpus as usize];
        (Rings::new(heads, records, SHIFT), Kernel { produced })
    }

    fn drained(rings: &mut Rings, limit: usize, until_ns: u64) -> Vec<(u16, u64)> {
        let mut seen = Vec::new();
        rings.drain(limit, until_ns, |cpu, record| {
            assert_eq!(record.comm[1], 0x41, "the round is no part of the name");
            seen.push((cpu, record.end_ns));
        });
        seen
    }

    #[test]
    fn records_of_all_cpus_come_in_order_of_completion() {
        let (mut rings, mut kernel) = rings(3);
        for (cpu, end_ns) in [(0, 5), (0, 9), (1, 1), (1, 7), (2, 6)] {
            let at = kernel.claim(&rings, cpu).unwrap();
            Kernel::publish(&rings, cpu, at, end_ns);
        }
        assert_eq!(drained(&mut rings, 2, 8), [(1, 1), (0, 5)]);
        assert_eq!(drained(&mut rings, 9, 8), [(2, 6), (1, 7)]);
        assert_eq!(drained(&mut rings, 9, 8), [], "one is too young");
        assert_eq!(drained(&mut rings, 9, 9), [(0, 9)]);
    }

    #[test]
    fn a_record_is_not_read_before_it_is_whole() {
        let (mut rings, mut kernel) = rings(1);
        let outer = kernel.claim(&rings, 0).unwrap();
        let inner = kernel.claim(&rings, 0).unwrap();
        Kernel::publish(&rings, 0, inner, 2);
        assert_eq!(drained(&mut rings, 9, 99), []);
        Kernel::publish(&rings, 0, outer, 1);
        assert_eq!(drained(&mut rings, 9, 99), [(0, 1), (0, 2)]);
    }

    #[test]
    fn a_full_ring_refuses_and_no_round_loses_or_repeats_a_record() {
        let (mut rings, mut kernel) = rings(1);
        let room = (1 << SHIFT) - RING_MARGIN;
        let mut end_ns = 0;
        // Past 256 rounds, after which the mark comes again.
        for _ in 0..600 {
            let mut written = Vec::new();
            while let Some(at) = kernel.claim(&rings, 0) {
                end_ns += 1;
                Kernel::publish(&rings, 0, at, end_ns);
                written.push((0, end_ns));
            }
            assert_eq!(written.len() as u64, room);
            assert_eq!(drained(&mut rings, 99, u64::MAX), written);
        }
    }

    #[test]
    fn the_rings_share_the_memory_that_is_asked_for() {
        let bytes =
            |cpus| (size_of::<IoRecord>() as u64 * u64::from(cpus)) << shift(16 << 20, cpus);
        assert_eq!(bytes(1), 16 << 20);
        assert_eq!(bytes(2), 16 << 20);
        assert_eq!(bytes(128), 16 << 20);
        assert_eq!(bytes(3), 12 << 20, "a power of two each");
        assert!(1 << shift(0, 4096) > RING_MARGIN);
    }
}

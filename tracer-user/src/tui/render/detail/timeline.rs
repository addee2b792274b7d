//! The timeline fitted to a number of columns. A column begins at a whole multiple of its
//! length, so that it does not change any more once its time is over.

use crate::tui::snapshot::{HEAT_RANGES, Step, StepOp};

/// One operation in a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Op {
    /// I/Os.
    pub(super) count: u64,
    /// 99th percentile of the worst step.
    pub(super) p99_ns: Option<u64>,
    /// I/Os by latency.
    pub(super) heat: [u64; HEAT_RANGES],
}

impl Op {
    fn add(&mut self, step: &StepOp) {
        self.count = self.count.saturating_add(step.count);
        self.p99_ns = self.p99_ns.max(step.p99_ns);
        for (sum, n) in self.heat.iter_mut().zip(step.heat) {
            *sum = sum.saturating_add(n.into());
        }
    }
}

/// The steps that fall into a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    /// Time they cover, ns; 0 where there is no step.
    pub(super) duration_ns: u64,
    /// Reads.
    pub(super) read: Op,
    /// Writes.
    pub(super) write: Op,
    /// Flushes.
    pub(super) flush: Op,
}

/// Columns, oldest first, and the time from which they begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Timeline {
    /// At most as many as there is room for.
    pub(super) columns: Vec<Column>,
    /// Where the first begins, ns since the start.
    pub(super) from_ns: u64,
    /// Where the last step ends.
    pub(super) to_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Puts steps into at most `room` columns.
pub(super) fn fitted(steps: &[Step], room: u16) -> Timeline {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Timeline::default();
    };
    let room = u64::from(room.max(1));
    let to_ns = last.from_ns.saturating_add(last.duration_ns);
    let longest_ns = steps.iter().map(|step| step.duration_ns).max().unwrap_or(0);
    let needed_ns = to_ns.saturating_sub(first.from_ns).div_ceil(room);
    let column_ns = needed_ns
        .max(longest_ns)
        .max(1)
        .div_ceil(SECOND_NS)
        .saturating_mul(SECOND_NS);
    let newest = to_ns.saturating_sub(1) / column_ns;
    // Whole multiples may need one column more than there are: the oldest gives way.
    let oldest = (first.from_ns / column_ns).max((newest + 1).saturating_sub(room));
    let count = usize::try_from(newest.saturating_sub(oldest) + 1).unwrap_or(1);
    let mut columns = vec![Column::default(); count];
    for step in steps {
        let place = (step.from_ns / column_ns).checked_sub(oldest);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let Some(column) = place.and_then(|place| columns.get_mut(place)) else {
            continue;
        };
        column.duration_ns = column.duration_ns.saturating_add(step.duration_ns);
        column.read.add(&step.read);
        column.write.add(&step.write);
        column.flush.add(&step.flush);
    }
    Timeline {
        columns,
        from_ns: (oldest * column_ns).max(first.from_ns),
        to_ns,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(first_s: u64, durations_s: &[u64]) -> Vec<Step> {
        let mut from_ns = first_s * SECOND_NS;
        let step = |duration_s: &u64| {
            let duration_ns = duration_s * SECOND_NS;
            let write = StepOp {
                count: 1,
                p99_ns: Some(from_ns),
                ..StepOp::default()
            };
            let step = Step {
                from_ns,
                duration_ns,
                write,
                ..Step::default()
            };
            from_ns += duration_ns;
            step
        };
        durations_s.iter().map(step).collect()
    }

    #[test]
    fn a_second_has_a_column_while_there_is_room() {
        let timeline = fitted(&steps(5, &[1; 7]), 40);
        assert_eq!(timeline.columns.len(), 7);
        assert_eq!(
            (timeline.from_ns, timeline.to_ns),
            (5 * SECOND_NS, 12 * SECOND_NS)
        );
        assert!(
            timeline
                .columns
                .iter()
                .all(|column| column.write.count == 1)
        );
    }

    #[test]
    fn columns_of_the_past_stay_as_they_are() {
        let earlier = fitted(&steps(0, &[1; 100]), 30);
        let later = fitted(&steps(1, &[1; 100]), 30);
        // Of 4 s each: all but the first and the last are the same.
        assert_eq!(earlier.columns[1..25], later.columns[1..25]);
    }

    proptest! {
        #[test]
        fn nothing_is_counted_twice_and_only_the_oldest_gives_way(
            first_s in 0_u64..1000,
            durations in prop::collection::vec(prop_oneof![Just(1_u64), Just(10)], 1..200),
            room in 1_u16..120,
        ) {
            let steps = steps(first_s, &durations);
            let timeline = fitted(&steps, room);
            prop_assert!(timeline.columns.len() <= usize::from(room));
            let kept: u64 = timeline.columns.iter().map(|column| column.write.count).sum();
            let since = timeline.from_ns;
            let there = steps.iter().filter(|step| step.from_ns >= since).count() as u64;
            prop_assert_eq!(kept, there);
        }
    }
}

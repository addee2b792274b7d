//! Statistics of one class of operations on one device.
//!
//! Owns sizes, latency, queue and service time and errors of the events. Counts of events are
//! a lower bound of the kernel's counters; whoever builds a report decides which to show.

use super::{latency::Distribution, sizes::Sizes};
use crate::{
    event::Event,
    report::model::{OpStats, Rest},
};

/// Which times a device's I/O has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phases {
    /// Submission and completion only (bio mode).
    Whole,
    /// Issue as well, so queue and service time are told apart (blk-mq).
    QueueAndService,
}

/// What the events of one class say.
#[derive(Clone, Debug)]
pub(super) struct OpEvents {
    pub(super) count: u64,
    pub(super) bytes: u64,
    errors: u64,
    sizes: Sizes,
    pub(super) latency: Distribution,
    queue: Distribution,
    service: Distribution,
}

impl OpEvents {
    pub(super) fn new(digits: u8) -> Self {
        Self {
            count: 0,
            bytes: 0,
            errors: 0,
            sizes: Sizes::default(),
            latency: Distribution::new(digits),
            queue: Distribution::new(digits),
            service: Distribution::new(digits),
        }
    }

    /// Counts one I/O. One whose completion is stamped before its start has a size but no time.
    pub(super) fn record(&mut self, event: &Event, phases: Phases) {
        self.count += 1;
        self.bytes += u64::from(event.bytes);
        self.errors += u64::from(event.errno != 0);
        self.sizes.record(event.bytes);
        let Some(latency_ns) = event.latency_ns() else {
            return;
        };
        self.latency.record(latency_ns);
        if phases == Phases::Whole {
            return;
        }
        let issued = event.issue_ns.and_then(|issue_ns| {
            issue_ns
                .checked_sub(event.start_ns)
                .zip(event.end_ns.checked_sub(issue_ns))
        });
        if let Some((queue_ns, service_ns)) = issued {
            self.queue.record(queue_ns);
            self.service.record(service_ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.sizes.merge(&other.sizes);
        self.latency.merge(&other.latency);
        self.queue.merge(&other.queue);
        self.service.merge(&other.service);
    }

    /// The report's form, with count and bytes as the caller knows them.
    pub(super) fn stats(&self, count: u64, bytes: u64, phases: Phases) -> OpStats {
        let split = phases == Phases::QueueAndService;
        let (latency_ns, latency_histogram) = self.latency.describe();
        OpStats {
            count,
            bytes,
            errors: self.errors,
            sizes: self.sizes.most_frequent_first(),
            sizes_rest: self.sizes.rest(),
            latency_ns,
            queue_ns: split.then(|| self.queue.summary()),
            service_ns: split.then(|| self.service.summary()),
            latency_histogram,
        }
    }
}

/// Statistics of a class without a single event: nothing but what the kernel counted.
pub(super) fn without_events(count: u64, bytes: u64, phases: Phases) -> OpStats {
    let split = (phases == Phases::QueueAndService).then(Default::default);
    OpStats {
        count,
        bytes,
        sizes_rest: Rest::default(),
        queue_ns: split,
        service_ns: split,
        ..OpStats::default()
    }
}

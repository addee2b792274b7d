//! State and transaction groups of one pool, from its kstats.

use rustc_hash::FxHashMap;

use super::{
    latency::Distribution,
    space::{DEFAULT_ASHIFT, PoolLayout},
    txg::TxgClock,
};
use crate::{
    input::{Objset, PoolSample, PoolShape, Txg},
    report::model::{Pool, TxgReport, TxgSync},
};

/// Most datasets whose counters are kept.
const MAX_DATASETS: usize = 65_536;
/// State that is reported when the kstat cannot be read.
const UNKNOWN: &str = "UNKNOWN";

/// What is known of one pool.
#[derive(Debug)]
pub(super) struct PoolState {
    name: String,
    state: String,
    /// Highest committed group that was counted: a group may be sampled several times.
    last_counted: Option<u64>,
    groups: u64,
    sync: Distribution,
    dirty_bytes_max: Option<u64>,
    clock: TxgClock,
    shape: PoolShape,
    /// First and latest counters of each dataset.
    objsets: FxHashMap<String, (Objset, Objset)>,
}

impl PoolState {
    pub(super) fn new(name: String, latency_digits: u8) -> Self {
        Self {
            name,
            state: UNKNOWN.to_owned(),
            last_counted: None,
            groups: 0,
            sync: Distribution::new(latency_digits),
            dirty_bytes_max: None,
            clock: TxgClock::default(),
            shape: PoolShape::default(),
            objsets: FxHashMap::default(),
        }
    }

    /// Takes a sample; groups that were committed before the capture began do not count.
    pub(super) fn feed(&mut self, sample: &PoolSample, started_ns: u64) {
        self.state = sample.state.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        for group in &sample.txgs {
            self.count(group, started_ns);
        }
        self.clock.feed(sample);
        if let Some(shape) = &sample.shape {
            self.shape.clone_from(shape);
        }
        for objset in &sample.objsets {
            if let Some((_, latest)) = self.objsets.get_mut(&objset.dataset) {
                latest.clone_from(objset);
            } else if self.objsets.len() < MAX_DATASETS {
                let both = (objset.clone(), objset.clone());
                self.objsets.insert(objset.dataset.clone(), both);
            }
        }
    }

    /// Layout as zpool said it; 4K sectors when it did not say which.
    pub(super) fn layout(&self) -> Option<PoolLayout> {
        Some(PoolLayout {
            layout: self.shape.layout.as_deref()?.parse().ok()?,
            ashift: self.shape.ashift.unwrap_or(DEFAULT_ASHIFT),
        })
    }

    /// Bounds of the transaction groups.
    pub(super) fn clock(&self) -> &TxgClock {
        &self.clock
    }

    /// What a dataset's counters counted from the first sample to the latest.
    pub(super) fn counted(&self, dataset: &str) -> Option<Objset> {
        let (first, latest) = self.objsets.get(dataset)?;
        let since = |latest: Option<u64>, first: Option<u64>| Some(latest?.saturating_sub(first?));
        Some(Objset {
            dataset: dataset.to_owned(),
            writes: latest.writes.saturating_sub(first.writes),
            nwritten_bytes: latest.nwritten_bytes.saturating_sub(first.nwritten_bytes),
            reads: latest.reads.saturating_sub(first.reads),
            nread_bytes: latest.nread_bytes.saturating_sub(first.nread_bytes),
            zil_commit_count: since(latest.zil_commit_count, first.zil_commit_count),
            zil_itx_bytes: since(latest.zil_itx_bytes, first.zil_itx_bytes),
        })
    }

    fn count(&mut self, group: &Txg, started_ns: u64) {
        let is_new = self.last_counted.is_none_or(|last| group.txg > last);
        if group.state != 'C' || !is_new {
            return;
        }
        self.last_counted = Some(group.txg);
        let committed_ns = [
            group.open_ns,
            group.quiesce_ns,
            group.wait_ns,
            group.sync_ns,
        ]
        .iter()
        .fold(group.birth_ns, |at, part| at.saturating_add(*part));
        if committed_ns < started_ns {
            return;
        }
        self.groups += 1;
        self.sync.record(group.sync_ns);
        self.dirty_bytes_max = self.dirty_bytes_max.max(Some(group.ndirty_bytes));
    }

    pub(super) fn report(&self, layout: Option<String>) -> Pool {
        let sync = self.sync.summary();
        Pool {
            name: self.name.clone(),
            state: self.state.clone(),
            txg: TxgReport {
                count: self.groups,
                sync_ns: TxgSync {
                    p50: sync.p50,
                    p99: sync.p99,
                    max: sync.max,
                },
                dirty_bytes_max: self.dirty_bytes_max,
            },
            layout,
            fill_share: self.shape.fill_percent.map(|n| f64::from(n) / 100.0),
            activity: self.shape.activity.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(txg: u64, state: char, birth_ns: u64) -> Txg {
        Txg {
            txg,
            state,
            birth_ns,
            open_ns: 5,
            sync_ns: txg,
            ndirty_bytes: txg * 10,
            ..Txg::default()
        }
    }

    #[test]
    fn a_group_counts_once_when_it_is_committed_and_only_within_the_capture() {
        let mut pool = PoolState::new("tank".into(), 2);
        let sample = |txgs| PoolSample {
            name: "tank".into(),
            state: Some("ONLINE".into()),
            txgs,
            ..PoolSample::default()
        };
        pool.feed(
            &sample(vec![
                group(1, 'C', 10),
                group(2, 'C', 200),
                group(3, 'S', 300),
            ]),
            100,
        );
        pool.feed(
            &sample(vec![
                group(2, 'C', 200),
                group(3, 'C', 300),
                group(4, 'O', 400),
            ]),
            100,
        );
        let report = pool.report(None);
        assert_eq!(report.state, "ONLINE");
        assert_eq!(report.txg.count, 2);
        assert_eq!(report.txg.sync_ns.max, Some(3));
        assert_eq!(report.txg.dirty_bytes_max, Some(30));
        pool.feed(
            &PoolSample {
                name: "tank".into(),
                ..PoolSample::default()
            },
            100,
        );
        assert_eq!(pool.report(None).state, "UNKNOWN");
    }
}

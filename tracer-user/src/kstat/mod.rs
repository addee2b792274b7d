//! What ZFS tells of its pools in `/proc/spl/kstat/zfs`.
//!
//! Reads only what is safe on a suspended pool: `state` is lock-free by design (OpenZFS
//! `spa_stats.c`, `spa_state_init`), `txgs` takes the lock of its own list, and the counters of
//! an `objset` are per-CPU sums (`dataset_kstats.c`). It never runs `zpool` or `zfs` and never
//! reads another kstat, some of which wait for the pool.

mod clock;
mod index;
mod objset;
mod txgs;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

pub use clock::ClockPair;
pub use objset::parse as parse_objset;
pub use txgs::parse as parse_txgs;

use self::index::ObjsetIndex;
use crate::{
    device::{
        Roots,
        roots::{read_text, read_word},
    },
    input::{PoolSample, Txg},
};

/// Most pools that are followed.
const MAX_POOLS: usize = 256;
/// Longest `txgs` kstat that is read; one with 100 groups has 15 KiB.
const TXGS_BYTES: u64 = 1 << 20;

/// Follows the pools of the host.
#[derive(Debug)]
pub struct PoolSampler {
    directory: PathBuf,
    pools: BTreeMap<String, Pool>,
    datasets: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Pool {
    /// Groups as they were reported last; at most one reading of the kstat.
    txgs: HashMap<u64, Seen>,
    is_first: bool,
    index: ObjsetIndex,
}

/// What can still change of a group, births aside: those move with each pair of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    state: char,
    ndirty_bytes: u64,
    nwritten_bytes: u64,
    times_ns: [u64; 4],
}

impl PoolSampler {
    /// Follows every pool that there is, from the first sample on.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            directory: directory_of(roots),
            pools: BTreeMap::new(),
            datasets: BTreeMap::new(),
        }
    }

    /// Says whose counters are wanted: the datasets of the traced zvols. Call it when they
    /// change. (A snapshot has no counters; ZFS before 2.2.8 keeps a renamed zvol's old name
    /// in its kstat, so that one has none either.)
    pub fn set_datasets<S: AsRef<str>>(&mut self, datasets: impl IntoIterator<Item = S>) {
        let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for dataset in datasets {
            let dataset = dataset.as_ref();
            if let Some((pool, _)) = dataset.split_once('/')
                && !dataset.contains('@')
            {
                wanted
                    .entry(pool.to_owned())
                    .or_default()
                    .insert(dataset.to_owned());
            }
        }
        for (name, pool) in &mut self.pools {
            if wanted.get(name) != self.datasets.get(name) {
                pool.index.forget_others();
            }
        }
        self.datasets = wanted;
    }

    /// Every pool as it is now, `now_ns` being the time on the capture clock. `txgs` has the
    /// groups that are new or changed since the last sample; at the first one, those that had
    /// not committed yet: the others ended before.
    pub fn sample(&mut self, now_ns: u64) -> Vec<PoolSample> {
        self.sample_with(now_ns, ClockPair::now())
    }

    /// The same with a given pair of clocks.
    pub fn sample_with(&mut self, now_ns: u64, clocks: ClockPair) -> Vec<PoolSample> {
        let names: BTreeSet<String> = pool_names(&self.directory).take(MAX_POOLS).collect();
        self.pools.retain(|name, _| names.contains(name));
        names
            .into_iter()
            .map(|name| {
                let directory = self.directory.join(&name);
                let pool = self
                    .pools
                    .entry(name.clone())
                    .or_insert_with(|| Pool::new(directory.clone()));
                let empty = BTreeSet::new();
                let wanted = self.datasets.get(&name).unwrap_or(&empty);
                PoolSample {
                    at_ns: now_ns,
                    state: state(&directory),
                    txgs: pool.changed_txgs(&directory, clocks),
                    objsets: pool.index.sample(wanted),
                    shape: None,
                    name,
                }
            })
            .collect()
    }
}

/// Every pool that there is now, with the word of its `state` kstat where it can be read.
#[must_use]
pub fn pool_states(roots: &Roots) -> Vec<(String, Option<String>)> {
    let directory = directory_of(roots);
    pool_names(&directory)
        .map(|name| {
            let state = state(&directory.join(&name));
            (name, state)
        })
        .collect()
}

fn directory_of(roots: &Roots) -> PathBuf {
    roots.proc.join("spl/kstat/zfs")
}

/// Directories are pools; the files beside them are kstats of ZFS as a whole.
fn pool_names(directory: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
}

fn state(pool: &Path) -> Option<String> {
    read_word(&pool.join("state"))
}

impl Pool {
    fn new(directory: PathBuf) -> Self {
        Self {
            txgs: HashMap::new(),
            is_first: true,
            index: ObjsetIndex::new(directory),
        }
    }

    fn changed_txgs(&mut self, directory: &Path, clocks: ClockPair) -> Vec<Txg> {
        let text = read_text(&directory.join("txgs"), TXGS_BYTES).unwrap_or_default();
        let txgs = parse_txgs(&text, clocks);
        let seen = txgs.iter().map(|txg| (txg.txg, Seen::of(txg))).collect();
        let before = std::mem::replace(&mut self.txgs, seen);
        let is_first = std::mem::replace(&mut self.is_first, false);
        txgs.into_iter()
            .filter(|txg| {
                if is_first {
                    txg.state != 'C'
                } else {
                    before.get(&txg.txg) != Some(&Seen::of(txg))
                }
            })
            .collect()
    }
}

impl Seen {
    const fn of(txg: &Txg) -> Self {
        Self {
            state: txg.state,
            ndirty_bytes: txg.ndirty_bytes,
            nwritten_bytes: txg.nwritten_bytes,
            times_ns: [txg.open_ns, txg.quiesce_ns, txg.wait_ns, txg.sync_ns],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::FakeHost;

    const CLOCKS: ClockPair = ClockPair {
        monotonic_ns: 1000,
        raw_ns: 400,
    };

    fn txgs(host: &FakeHost, lines: &str) {
        let header = "txg birth state ndirty nread nwritten reads writes otime qtime wtime stime";
        host.write(
            "proc/spl/kstat/zfs/tank/txgs",
            &format!("{header}\n{lines}"),
        );
    }

    fn objset(host: &FakeHost, number: u32, dataset: &str, writes: u64) {
        host.write(
            &format!("proc/spl/kstat/zfs/tank/objset-0x{number:x}"),
            &format!("1 2 3\nname type data\ndataset_name 7 {dataset}\nwrites 4 {writes}\n"),
        );
    }

    fn numbers(sample: &[PoolSample]) -> Vec<u64> {
        sample[0].txgs.iter().map(|txg| txg.txg).collect()
    }

    #[test]
    fn only_groups_that_are_new_or_changed_are_given() {
        let host = FakeHost::new();
        host.write("proc/spl/kstat/zfs/arcstats", "no pool");
        host.write("proc/spl/kstat/zfs/tank/state", "SUSPENDED\n");
        txgs(
            &host,
            "1 10 C 0 0 0 0 0 0 0 0 0\n2 20 O 0 0 0 0 0 0 0 0 0\n",
        );
        let mut sampler = PoolSampler::new(&host.roots());
        let first = sampler.sample_with(5, CLOCKS);
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].name.as_str(), first[0].at_ns), ("tank", 5));
        assert_eq!(first[0].state.as_deref(), Some("SUSPENDED"));
        assert_eq!(numbers(&first), [2]);
        assert_eq!(first[0].txgs[0].birth_ns, 620);
        // The clocks part a little: that alone is no change.
        let later = ClockPair {
            monotonic_ns: 2001,
            raw_ns: 1400,
        };
        assert!(numbers(&sampler.sample_with(6, later)).is_empty());
        txgs(
            &host,
            "2 20 C 9 0 9 0 0 1 1 1 1\n3 30 O 0 0 0 0 0 0 0 0 0\n",
        );
        assert_eq!(numbers(&sampler.sample_with(7, later)), [2, 3]);
    }

    #[test]
    fn a_pool_that_goes_and_files_that_are_missing_are_no_trouble() {
        let host = FakeHost::new();
        let mut sampler = PoolSampler::new(&host.roots());
        assert!(sampler.sample(1).is_empty());
        host.write("proc/spl/kstat/zfs/tank/reads", "");
        let sample = sampler.sample(2);
        assert_eq!(
            (sample[0].state.as_deref(), sample[0].txgs.len()),
            (None, 0)
        );
        host.remove("proc/spl/kstat/zfs/tank");
        assert!(sampler.sample(3).is_empty());
    }

    #[test]
    fn the_counters_of_wanted_datasets_are_found_among_many_and_follow_renames() {
        let host = FakeHost::new();
        for n in 0..600 {
            objset(&host, n, &format!("tank/fs{n}"), 1);
        }
        objset(&host, 700, "tank/my vol", 7);
        let mut sampler = PoolSampler::new(&host.roots());
        sampler.set_datasets(["tank/my vol", "other/x", "nopool"]);
        let mut found = Vec::new();
        for _ in 0..3 {
            found = sampler.sample(1)[0].objsets.clone();
        }
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].dataset.as_str(), found[0].writes),
            ("tank/my vol", 7)
        );
        objset(&host, 700, "tank/renamed", 8);
        assert!(
            sampler.sample(1)[0].objsets.is_empty(),
            "it is another's now"
        );
        sampler.set_datasets(["tank/renamed"]);
        for _ in 0..3 {
            found = sampler.sample(1)[0].objsets.clone();
        }
        assert_eq!(
            (found[0].dataset.as_str(), found[0].writes),
            ("tank/renamed", 8)
        );
    }

    #[test]
    fn more_wanted_datasets_than_one_sample_reads_take_turns() {
        let host = FakeHost::new();
        let names: Vec<String> = (0..300).map(|n| format!("tank/v{n}")).collect();
        for (n, name) in (0..).zip(&names) {
            objset(&host, n, name, 1);
        }
        let mut sampler = PoolSampler::new(&host.roots());
        sampler.set_datasets(&names);
        let mut seen = BTreeSet::new();
        for _ in 0..4 {
            for objset in &sampler.sample(1)[0].objsets {
                seen.insert(objset.dataset.clone());
            }
        }
        assert_eq!(seen.len(), 300);
    }
}

//! Which `objset-0x*` file is whose, among thousands.
//!
//! A file does not say in its name whose it is, so each is read once; a few at a time, so that
//! a pool with thousands of datasets costs no more at one moment than a small one.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use super::objset;
use crate::{device::roots::read_text, input::Objset};

/// Files that are read to learn whose they are, at one sample. One takes some 25 us.
const LEARNED_PER_SAMPLE: usize = 256;
/// Counters that are read at one sample; with more wanted, they take turns.
const READ_PER_SAMPLE: usize = 256;
/// Most objsets of a pool that are looked at. With more, some datasets have no counters.
const MAX_OBJSETS: usize = 65_536;
/// Samples between two passes over objsets that were nobody's wanted: one may have been
/// renamed to a wanted name.
const SAMPLES_PER_PASS: u32 = 60;
/// Longest kstat of an objset.
const FILE_BYTES: u64 = 16 << 10;

/// The wanted datasets of one pool and their files.
#[derive(Debug)]
pub(super) struct ObjsetIndex {
    directory: PathBuf,
    /// File of each dataset that was found.
    found: HashMap<String, u64>,
    /// Objsets that are not wanted, in this pass.
    others: HashSet<u64>,
    samples: u32,
    turn: usize,
}

impl ObjsetIndex {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            found: HashMap::new(),
            others: HashSet::new(),
            samples: 0,
            turn: 0,
        }
    }

    /// Counters of the wanted datasets, as far as their files are known by now.
    pub(super) fn sample(&mut self, wanted: &BTreeSet<String>) -> Vec<Objset> {
        self.found.retain(|dataset, _| wanted.contains(dataset));
        if wanted.is_empty() {
            return Vec::new();
        }
        if wanted.len() > self.found.len() {
            self.learn(wanted);
        }
        let mut datasets: Vec<String> = self.found.keys().cloned().collect();
        datasets.sort_unstable();
        let start = if self.turn < datasets.len() {
            self.turn
        } else {
            0
        };
        let turn: Vec<String> = datasets
            .into_iter()
            .skip(start)
            .take(READ_PER_SAMPLE)
            .collect();
        self.turn = start + turn.len();
        turn.iter()
            .filter_map(|dataset| self.read_again(dataset))
            .collect()
    }

    /// Looks again at the objsets that were not wanted: other datasets are wanted now.
    pub(super) fn forget_others(&mut self) {
        self.others.clear();
    }

    fn learn(&mut self, wanted: &BTreeSet<String>) {
        self.samples += 1;
        if self.samples.is_multiple_of(SAMPLES_PER_PASS) {
            self.others.clear();
        }
        let known: HashSet<u64> = self.found.values().copied().collect();
        let fresh: Vec<u64> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| objset::number_of(entry.file_name().to_str()?))
            .take(MAX_OBJSETS)
            .filter(|number| !known.contains(number) && !self.others.contains(number))
            .take(LEARNED_PER_SAMPLE)
            .collect();
        for number in fresh {
            match read(&self.directory, number) {
                Some(objset) if wanted.contains(&objset.dataset) => {
                    self.found.insert(objset.dataset, number);
                }
                _ => {
                    self.others.insert(number);
                }
            }
        }
    }

    /// Reads a known file; when it is gone or another's by now, it is forgotten.
    fn read_again(&mut self, dataset: &str) -> Option<Objset> {
        let number = *self.found.get(dataset)?;
        let objset = read(&self.directory, number).filter(|objset| objset.dataset == dataset);
        if objset.is_none() {
            self.found.remove(dataset);
        }
        objset
    }
}

fn read(directory: &Path, number: u64) -> Option<Objset> {
    let path = directory.join(format!("objset-0x{number:x}"));
    objset::parse(&read_text(&path, FILE_BYTES).ok()?)
}

//! Puts any number of records in order of time in bounded memory.
//!
//! Events come about in order of completion, a trace is in order of time and begins an I/O
//! long before that. Records that do not fit in memory go to temporary files, each a sorted
//! trace of its own, which are merged at the end.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek},
    mem, vec,
};

use rustc_hash::FxHashMap;

use crate::{
    event::{Comm, Event},
    input::Mode,
};

use super::{
    Damage,
    merge::Records,
    record::{Action, Payload, Record},
    write::{TraceWriter, records_of},
};

/// Records in memory, about 30 MB.
const IN_MEMORY: usize = 1 << 18;
/// Files that are merged into one, so that file descriptors stay few.
const FAN_IN: usize = 64;
/// Command names that are followed while files are merged.
const MAX_COMMS: usize = 1 << 20;

/// Why sorting failed.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// Temporary files cannot be written.
    #[error("cannot sort in a temporary file in {folder}: {0}", folder = std::env::temp_dir().display())]
    Temporary(#[from] io::Error),
    /// A temporary file cannot be read back.
    #[error("cannot read a temporary file back: {0}")]
    ReadBack(#[from] Damage),
}

/// Records with the command name of their submitter, to be sorted.
pub struct Sorter {
    in_memory: usize,
    records: Vec<Sorted>,
    /// Sorted files, oldest first, each with the number of merges behind it.
    runs: Vec<(u32, File)>,
}

struct Sorted {
    /// What it is sorted by; records of one instant stay in the order in which they came.
    key_ns: u64,
    record: Record,
    comm: Comm,
}

impl Default for Sorter {
    fn default() -> Self {
        Self::with_memory_for(IN_MEMORY)
    }
}

impl Sorter {
    fn with_memory_for(records: usize) -> Self {
        Self {
            in_memory: records,
            records: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds the records of an I/O of a device.
    ///
    /// # Errors
    /// When memory is full and a temporary file cannot be written.
    pub fn push(&mut self, event: &Event, device: (u32, u32), mode: Mode) -> Result<(), SortError> {
        // A completion that is stamped before its start stays behind it: readers then see an
        // I/O that is wrong, not two halves.
        let mut key_ns = 0;
        records_of(event, device, mode, |record| {
            key_ns = record.time_ns.max(key_ns);
            self.records.push(Sorted {
                key_ns,
                record,
                comm: event.comm,
            });
        });
        if self.records.len() >= self.in_memory {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), SortError> {
        let mut records = mem::take(&mut self.records);
        records.sort_by_key(|sorted| sorted.key_ns);
        let mut run = TraceWriter::exact(temporary()?);
        for Sorted { record, comm, .. } in &records {
            run.write(record, *comm)?;
        }
        records.clear();
        self.records = records;
        self.runs.push((0, rewound(run)?));
        while let Some(level) = self.full_level() {
            let merged_from = self.runs.len() - FAN_IN;
            let group = self.runs.split_off(merged_from);
            let mut merged = TraceWriter::exact(temporary()?);
            let files = group.into_iter().map(|(_, file)| file).collect();
            for sorted in SortedRecords::merging(files)? {
                let (record, comm) = sorted?;
                merged.write(&record, comm)?;
            }
            self.runs.push((level + 1, rewound(merged)?));
        }
        Ok(())
    }

    /// The level of the last runs, when there are enough of it to merge them.
    fn full_level(&self) -> Option<u32> {
        let level = self.runs.last()?.0;
        let same = self
            .runs
            .iter()
            .rev()
            .take_while(|(other, _)| *other == level);
        (same.count() >= FAN_IN).then_some(level)
    }

    /// All records in order of time.
    ///
    /// # Errors
    /// When temporary files fail.
    pub fn sorted(mut self) -> Result<SortedRecords, SortError> {
        if self.runs.is_empty() {
            self.records.sort_by_key(|sorted| sorted.key_ns);
            return Ok(SortedRecords(Place::Memory(self.records.into_iter())));
        }
        self.spill()?;
        SortedRecords::merging(self.runs.into_iter().map(|(_, file)| file).collect())
    }
}

/// Records in order of time, each with the command name of its submitter. An error is one of
/// reading a temporary file back.
pub struct SortedRecords(Place);

enum Place {
    Memory(vec::IntoIter<Sorted>),
    Files {
        records: Records,
        comms: FxHashMap<u32, Comm>,
    },
}

impl SortedRecords {
    fn merging(files: Vec<File>) -> Result<Self, SortError> {
        let named = |file| {
            (
                Box::new(file) as Box<dyn Read + Send>,
                "temporary file".to_owned(),
            )
        };
        let records = Records::merge(files.into_iter().map(named).collect())?;
        Ok(Self(Place::Files {
            records,
            comms: FxHashMap::default(),
        }))
    }
}

impl Iterator for SortedRecords {
    type Item = io::Result<(Record, Comm)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (records, comms) = match &mut self.0 {
            Place::Memory(records) => {
                return records
                    .next()
                    .map(|sorted| Ok((sorted.record, sorted.comm)));
            }
            Place::Files { records, comms } => (records, comms),
        };
        loop {
            let before = records.damage().len();
            let record = records.next();
            if let Some(damage) = records.damage().get(before) {
                return Some(Err(io::Error::other(damage.clone())));
            }
            let record = record?;
            if let (Action::Notify, Payload::Process(comm)) = (record.action, record.payload) {
                if comms.len() >= MAX_COMMS {
                    comms.clear();
                }
                comms.insert(record.pid, comm);
            } else {
                let comm = comms.get(&record.pid).copied().unwrap_or_default();
                return Some(Ok((record, comm)));
            }
        }
    }
}

fn temporary() -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(256 << 10, tempfile::tempfile()?))
}

fn rewound(run: TraceWriter<BufWriter<File>>) -> io::Result<File> {
    let mut file = run
        .finish()?
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{DeviceId, Flags, Op};

    fn event(start_ns: u64, end_ns: u64, tid: u32, comm: &str) -> Event {
        Event {
            device: DeviceId(0),
            op: Op::Write,
            flags: Flags::default(),
            start_ns,
            issue_ns: None,
            end_ns,
            offset_bytes: start_ns * 512,
            bytes: 4096,
            errno: 0,
            cpu: 0,
            pid: tid,
            tid,
            comm: Comm::new(comm),
        }
    }

    #[test]
    fn what_does_not_fit_in_memory_comes_out_in_order_with_its_names() {
        let run = |in_memory| {
            let mut sorter = Sorter::with_memory_for(in_memory);
            for n in 0..5_000_u64 {
                let name = if n < 2_500 { "first" } else { "second" };
                let start = n * 7919 % 5_000;
                sorter
                    .push(&event(start, start + 700, 1, name), (230, 0), Mode::Bio)
                    .unwrap();
            }
            let mut out: Vec<_> = sorter
                .sorted()
                .unwrap()
                .map(Result::unwrap)
                .map(|(record, comm)| (record.time_ns, record.action, record.sector, comm))
                .collect();
            assert!(out.is_sorted_by_key(|(time, ..)| *time));
            out.sort_by_key(|(time, action, sector, _)| (*time, *sector, *action as u8));
            out
        };
        let whole = run(usize::MAX);
        assert_eq!(whole.len(), 10_000);
        // Runs of 20 records: 500 of them, merged in two levels.
        let places = |out: &[(u64, Action, u64, Comm)]| {
            out.iter()
                .map(|(time, action, sector, _)| (*time, *action, *sector))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&run(20)), places(&whole));
    }

    #[test]
    fn a_completion_before_its_start_stays_behind_it() {
        let mut sorter = Sorter::default();
        sorter
            .push(&event(100, 90, 1, "fio"), (230, 0), Mode::Bio)
            .unwrap();
        sorter
            .push(&event(95, 97, 1, "fio"), (230, 0), Mode::Bio)
            .unwrap();
        let records = sorter.sorted().unwrap().map(Result::unwrap);
        let times: Vec<_> = records.map(|(record, _)| record.time_ns).collect();
        assert_eq!(times, [95, 97, 100, 90]);
    }
}

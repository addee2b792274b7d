//! blktrace files and blkparse text as a source.
//!
//! Reports what the trace holds and nothing else: datasets, volblocksize and sizes of disks
//! are not in it and stay unknown.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
};

use anyhow::bail;

use crate::{
    blktrace::{self, Damage, Pairing, Records},
    input::{Device, DeviceSample, End, Host, Input, Lost, Sample, Start},
    report::model::SourceKind,
};

use super::Source;

/// Events handed over at once.
const BATCH: usize = 4096;
/// Batches that are read ahead of the analysis.
const BATCHES_AHEAD: usize = 8;

/// What the trace itself does not tell.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Block size to judge against, `--block-size`.
    pub block_size_bytes: Option<u64>,
    /// Arguments of the command, for the report.
    pub args: Vec<String>,
}

/// Why a trace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No file was found.
    #[error(transparent)]
    Find(#[from] blktrace::FindError),
    /// The files are no trace, or none that can be read.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The system refuses a thread.
    #[error("cannot start a thread to read the trace: {0}")]
    Thread(io::Error),
}

/// A trace that is being read, by a thread of its own: reading and pairing cost about as much
/// as the analysis of what comes out.
pub struct BlktraceSource {
    inputs: Receiver<Input>,
    /// Until its end was seen.
    thread: Option<JoinHandle<()>>,
}

impl BlktraceSource {
    /// Opens the traces behind names: a directory, a base name, files, or `-`.
    ///
    /// # Errors
    /// When a name leads to nothing, or nothing behind it can be read.
    pub fn open(names: &[PathBuf], options: Options) -> Result<Self, OpenError> {
        let found = blktrace::find(names)?;
        let mut reading = Reading::new(Records::open(&found.traces)?, options);
        if let Some(first) = found.left_out.first() {
            let first = first.display();
            let reason = match found.left_out.len() - 1 {
                0 => format!("{first} belongs to the same trace and was not read"),
                more => format!(
                    "{first} and {more} more files belong to the same trace and were not read"
                ),
            };
            reading.reasons.push(reason);
        }
        Self::start(reading)
    }

    /// Reads records that are already open.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(records: Records, options: Options) -> Result<Self, OpenError> {
        Self::start(Reading::new(records, options))
    }

    fn start(mut reading: Reading) -> Result<Self, OpenError> {
        let (sender, inputs) = mpsc::sync_channel(BATCHES_AHEAD);
        // It ends with the trace, or when nobody listens any more.
        let thread = thread::Builder::new()
            .name("blktrace".to_owned())
            .spawn(move || {
                reading.all(|input| sender.send(input).is_ok());
            })
            .map_err(OpenError::Thread)?;
        Ok(Self {
            inputs,
            thread: Some(thread),
        })
    }
}

impl Source for BlktraceSource {
    fn kind(&self) -> SourceKind {
        SourceKind::Blktrace
    }

    fn next(&mut self) -> anyhow::Result<Option<Input>> {
        if let Ok(input) = self.inputs.recv() {
            return Ok(Some(input));
        }
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(())) => Ok(None),
            Some(Err(_)) => {
                bail!("the thread that reads the trace failed: what came before stands")
            }
        }
    }
}

/// Makes inputs of records.
struct Reading {
    records: Records,
    pairing: Pairing,
    options: Options,
    queue: VecDeque<Input>,
    reasons: Vec<String>,
    started: bool,
    ended: bool,
}

impl Iterator for Reading {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        while self.queue.is_empty() && !self.ended {
            self.pump();
        }
        self.queue.pop_front()
    }
}

impl Reading {
    fn new(records: Records, options: Options) -> Self {
        Self {
            records,
            pairing: Pairing::new(),
            options,
            queue: VecDeque::new(),
            reasons: Vec::new(),
            started: false,
            ended: false,
        }
    }

    /// Reads on until a batch of events is there or the trace ends.
    fn pump(&mut self) {
        while self.pairing.ready() < BATCH {
            let Some(record) = self.records.advance() else {
                self.pairing.finish();
                self.ended = true;
                break;
            };
            self.pairing.feed(record);
        }
        if !self.started {
            self.started = true;
            let started_ns = self.pairing.first_ns().unwrap_or(0);
            self.queue.push_back(Input::Start(Start {
                host: Host::default(),
                args: self.options.args.clone(),
                // Text holds no wall-clock time: the epoch then stands for unknown.
                started_unix_ns: self.pairing.wall_clock_ns(started_ns).unwrap_or(0),
                started_ns,
                requested_ns: None,
                clock: "blktrace".to_owned(),
                block_size_bytes: self.options.block_size_bytes,
            }));
        }
        let (arrivals, events) = self.pairing.drain();
        for arrival in arrivals {
            self.queue.push_back(Input::Appeared(Device {
                id: arrival.id,
                name: blktrace::disk_name(arrival.major, arrival.minor),
                major: arrival.major,
                minor: arrival.minor,
                mode: arrival.mode,
                dataset: None,
                volblocksize_bytes: self.options.block_size_bytes,
                size_bytes: 0,
                partitions: Vec::new(),
                stacked_on: Vec::new(),
                appeared_ns: None,
            }));
        }
        if !events.is_empty() {
            self.queue.push_back(Input::Events(events));
        }
        if self.ended {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let at_ns = self.pairing.last_ns();
        let counts = self.pairing.counts();
        let devices = counts
            .devices
            .iter()
            .map(|counts| DeviceSample {
                device: counts.device,
                counters: counts.counters,
                outstanding: counts.outstanding,
                oldest_ns: counts.oldest_ns,
            })
            .collect();
        let lost = Lost {
            undecodable: counts.undecodable,
            ..Lost::default()
        };
        self.queue.push_back(Input::Sample(Sample {
            at_ns,
            devices,
            lost,
        }));
        let mut incomplete_reasons = std::mem::take(&mut self.reasons);
        incomplete_reasons.extend(self.records.damage().iter().map(ToString::to_string));
        self.queue.push_back(Input::End(End {
            at_ns,
            incomplete_reasons,
            overhead: None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Mode;

    fn inputs(text: &str) -> Vec<Input> {
        let records = Records::from_reader(std::io::Cursor::new(text.to_owned()), "t").unwrap();
        let options = Options {
            block_size_bytes: Some(16_384),
            args: Vec::new(),
        };
        let mut source = BlktraceSource::new(records, options).unwrap();
        std::iter::from_fn(|| source.next().unwrap()).collect()
    }

    #[test]
    fn a_trace_comes_as_start_devices_events_sample_and_end() {
        let all = inputs(
            "230,16   0  1  0.000001000 77 Q W 0 + 8 [fio]\n\
             230,16   0  2  0.000005000  0 C W 0 + 8 [0]\n\
             230,0    0  3  0.000007000 77 D R 0 + 8 [fio]\n\
             nonsense\n",
        );
        let [
            Input::Start(start),
            Input::Appeared(first),
            Input::Appeared(second),
            Input::Events(events),
            Input::Sample(sample),
            Input::End(end),
        ] = &all[..]
        else {
            panic!("{all:#?}")
        };
        assert_eq!(
            (start.started_ns, start.block_size_bytes),
            (1000, Some(16_384))
        );
        assert_eq!((first.name.as_str(), first.mode), ("zd16", Mode::Bio));
        assert_eq!((second.name.as_str(), second.mode), ("zd0", Mode::BlkMq));
        assert_eq!(first.volblocksize_bytes, Some(16_384));
        assert_eq!(events.len(), 1);
        assert_eq!(
            (sample.devices[1].outstanding, sample.devices[1].oldest_ns),
            (1, 0)
        );
        assert_eq!(sample.devices[0].counters.count[1], 1);
        assert_eq!(end.at_ns, 7000);
        assert_eq!(
            end.incomplete_reasons.len(),
            1,
            "{:?}",
            end.incomplete_reasons
        );
    }
}

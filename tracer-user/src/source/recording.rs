//! A recording as a source: one file, standard input, or the parts of one rotated recording.
//!
//! Owns how parts join: those that follow each other replay as the capture they were cut from,
//! and one that is read alone counts from its own beginning. It holds one batch at a time.

use std::{collections::VecDeque, io::Read};

use crate::{
    input::{Device, End, Input, Sample, Start},
    recording::{
        Control, Problem, ReadError, Vanished, columns::Row, position::since, reader::Reader,
    },
    report::model::SourceKind,
    source::{Source, open::Opened},
};

/// A recording that is being replayed.
pub struct RecordingSource {
    current: Option<Reader<Box<dyn Read + Send>>>,
    /// Parts that follow, their schema read already.
    following: VecDeque<Reader<Box<dyn Read + Send>>>,
    pending: VecDeque<Input>,
    first_part: u32,
    part: u32,
    is_first: bool,
    /// Counters where the first part begins, unless that is the capture's own beginning.
    base: Option<Sample>,
    devices: usize,
    vanished: Vec<bool>,
    block_size_bytes: Option<u64>,
}

impl RecordingSource {
    /// Reads the beginning of every file: they must be recordings, and several must be parts
    /// of one recording without a gap. The order in which they are given does not matter.
    /// `block_size_bytes` is for disks whose own block size is not in the recording.
    ///
    /// # Errors
    /// [`ReadError`]: a file is no recording, or they do not belong together.
    pub fn open(files: Vec<Opened>, block_size_bytes: Option<u64>) -> Result<Self, ReadError> {
        let opened = files
            .into_iter()
            .map(|file| Reader::open(file.from, &file.name));
        let mut readers = opened.collect::<Result<Vec<_>, _>>()?;
        readers.sort_by_key(|reader| reader.identity().part);
        for pair in readers.windows(2) {
            check_neighbours(&pair[0], &pair[1])?;
        }
        let mut following = VecDeque::from(readers);
        let current = following.pop_front();
        let first_part = current.as_ref().map_or(1, |reader| reader.identity().part);
        Ok(Self {
            current,
            following,
            pending: VecDeque::new(),
            first_part,
            part: first_part,
            is_first: true,
            base: None,
            devices: 0,
            vanished: Vec::new(),
            block_size_bytes,
        })
    }

    fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        while let Some(reader) = &mut self.current {
            match reader.next() {
                Ok(Some(row)) => return Ok(Some(row)),
                Ok(None) => {
                    self.current = self.following.pop_front();
                    self.is_first = false;
                    self.part += 1;
                }
                Err(error) => {
                    self.current = None;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Turns a row that is no I/O into inputs; rows that a part repeats give none.
    fn take(&mut self, control: Control) {
        match control {
            Control::Start(start, part) => {
                if self.is_first {
                    self.base = part;
                    let mut start = match &self.base {
                        Some(base) => started_at(start, base.at_ns),
                        None => start,
                    };
                    start.block_size_bytes = start.block_size_bytes.or(self.block_size_bytes);
                    self.pending.push_back(Input::Start(start));
                }
            }
            Control::Appeared(mut device) => {
                if device.id.0 as usize >= self.devices {
                    let base = self.base.as_ref();
                    if base.is_some_and(|base| device.appeared_ns < Some(base.at_ns)) {
                        device.appeared_ns = None;
                    }
                    self.judge_by_block_size(&mut device);
                    self.devices += 1;
                    self.vanished.push(false);
                    self.pending.push_back(Input::Appeared(device));
                }
            }
            Control::Changed(mut device) => {
                self.judge_by_block_size(&mut device);
                self.pending.push_back(Input::Changed(device));
            }
            Control::Vanished(Vanished { device, at_ns }) => {
                // Gone before this part began: it is gone all the time.
                let at_ns = self
                    .base
                    .as_ref()
                    .map_or(at_ns, |base| at_ns.max(base.at_ns));
                let known = self.vanished.get_mut(device.0 as usize);
                if known.is_some_and(|vanished| !std::mem::replace(vanished, true)) {
                    self.pending.push_back(Input::Vanished { device, at_ns });
                }
            }
            Control::Sample(sample) => {
                let sample = self.since_base(sample);
                self.pending.push_back(Input::Sample(sample));
            }
            Control::Pools(pools) => self.pending.push_back(Input::Pools(pools)),
            Control::End(mut end) => {
                end.incomplete_reasons.extend(self.missing_before());
                self.pending.push_back(Input::End(end));
            }
            Control::PartEnd(sample) => {
                if self.following.is_empty() {
                    let mut incomplete_reasons = Vec::from_iter(self.missing_before());
                    incomplete_reasons.push(format!(
                        "the recording goes on in part {}, which was not given",
                        self.part + 1
                    ));
                    let at_ns = sample.at_ns;
                    let sample = self.since_base(sample);
                    self.pending.push_back(Input::Sample(sample));
                    self.pending.push_back(Input::End(End {
                        at_ns,
                        incomplete_reasons,
                        overhead: None,
                    }));
                }
            }
        }
    }

    fn judge_by_block_size(&self, device: &mut Device) {
        device.volblocksize_bytes = device.volblocksize_bytes.or(self.block_size_bytes);
    }

    fn since_base(&self, sample: Sample) -> Sample {
        match &self.base {
            Some(base) => since(&sample, base),
            None => sample,
        }
    }

    fn missing_before(&self) -> Option<String> {
        let part = self.first_part;
        self.base.is_some().then(|| {
            format!("begins with part {part} of the recording; earlier parts were not given")
        })
    }
}

impl Source for RecordingSource {
    fn kind(&self) -> SourceKind {
        SourceKind::Recording
    }

    fn next(&mut self) -> anyhow::Result<Option<Input>> {
        loop {
            if let Some(input) = self.pending.pop_front() {
                return Ok(Some(input));
            }
            match self.next_row()? {
                None => return Ok(None),
                Some(Row::Events(events)) => return Ok(Some(Input::Events(events))),
                Some(Row::Control(control)) => self.take(*control),
            }
        }
    }
}

/// The start of a part that is read alone: its own first moment.
fn started_at(start: Start, at_ns: u64) -> Start {
    let later_ns = at_ns.saturating_sub(start.started_ns);
    Start {
        started_unix_ns: start.started_unix_ns.saturating_add_unsigned(later_ns),
        started_ns: at_ns,
        requested_ns: None,
        ..start
    }
}

fn check_neighbours<R: Read>(before: &Reader<R>, after: &Reader<R>) -> Result<(), ReadError> {
    let (first, second) = (before.identity(), after.identity());
    let what = if first.capture != second.capture {
        format!(
            "it is of another capture than {}; `zvoltrace compare` takes two captures",
            before.name()
        )
    } else if first.part == second.part {
        format!("it is the same part ({}) as {}", first.part, before.name())
    } else if first.part + 1 != second.part {
        format!(
            "it is part {} and follows part {}: a part is missing",
            second.part, first.part
        )
    } else {
        return Ok(());
    };
    Err(ReadError {
        name: after.name().to_owned(),
        problem: Problem::DoesNotJoin(what),
    })
}

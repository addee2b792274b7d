//! `events`: one line an I/O as it completes, for eyes, scripts and programs.
//!
//! Owns which I/Os are shown and how a line looks. It prints what the source gives and judges
//! nothing.

pub mod filter;
mod handover;
mod json;
mod text;

use std::io::{self, Write};

pub use filter::Filter;
pub use handover::handover;

use crate::{
    event::Event,
    input::{Device, Input},
    source::Source,
};

/// Bytes that are gathered before they are written, when lines come faster than one by one.
const BUFFER_BYTES: usize = 64 << 10;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As `blkparse` prints a completion, then latency and command.
    Text,
    /// One JSON object a line.
    JsonLines,
}

/// What was printed and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// I/Os that came.
    pub seen: u64,
    /// I/Os that were printed.
    pub shown: u64,
    /// Events that were lost on the way and so never came.
    pub lost: u64,
    /// Whether the capture has an end; when not, it was cut off.
    pub ended: bool,
    /// Why the capture is not complete.
    pub incomplete_reasons: Vec<String>,
}

/// Prints inputs as lines.
///
/// Whole lines are written at once, and nothing is held back when an input has been printed:
/// a reader of a pipe sees an I/O as soon as the source delivers it, and never half a line.
pub struct Printer<W> {
    out: W,
    format: Format,
    filter: Filter,
    buffer: Vec<u8>,
    devices: Vec<Device>,
    started_ns: u64,
    summary: Summary,
}

/// What a line needs to know beside the event.
struct Context<'a> {
    device: Option<&'a Device>,
    started_ns: u64,
    /// Number of the line, from 1.
    number: u64,
}

impl<W: Write> Printer<W> {
    /// Prints to `out` what `filter` lets through.
    pub fn new(out: W, format: Format, filter: Filter) -> Self {
        Self {
            out,
            format,
            filter,
            buffer: Vec::new(),
            devices: Vec::new(),
            started_ns: 0,
            summary: Summary::default(),
        }
    }

    /// Prints one input.
    ///
    /// # Errors
    /// Output cannot be written; `BrokenPipe` means that the reader has seen enough.
    pub fn feed(&mut self, input: &Input) -> io::Result<()> {
        match input {
            Input::Start(start) => self.started_ns = start.started_ns,
            Input::Appeared(device) => self.devices.push(device.clone()),
            Input::Changed(device) => {
                if let Some(known) = self.devices.get_mut(device.id.0 as usize) {
                    known.clone_from(device);
                }
            }
            Input::Events(events) => return self.print(events),
            Input::Sample(sample) => self.summary.lost = sample.lost_events(),
            Input::End(end) => {
                self.summary.ended = true;
                self.summary
                    .incomplete_reasons
                    .clone_from(&end.incomplete_reasons);
            }
            Input::Vanished { .. } | Input::Pools(_) => {}
        }
        Ok(())
    }

    /// What was printed so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn print(&mut self, events: &[Event]) -> io::Result<()> {
        self.summary.seen += events.len() as u64;
        for event in events.iter().filter(|event| self.filter.passes(event)) {
            self.summary.shown += 1;
            let context = Context {
                device: self.devices.get(event.device.0 as usize),
                started_ns: self.started_ns,
                number: self.summary.shown,
            };
            match self.format {
                Format::Text => text::line(event, &context, &mut self.buffer)?,
                Format::JsonLines => json::line(event, &context, &mut self.buffer)?,
            }
            if self.buffer.len() >= BUFFER_BYTES {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }
}

/// Prints everything a source gives.
///
/// # Errors
/// The source or the output fails; what came before is printed. A reader of the pipe that went
/// away is an [`io::ErrorKind::BrokenPipe`].
pub fn print_all<W: Write>(
    source: &mut dyn Source,
    printer: &mut Printer<W>,
) -> anyhow::Result<()> {
    while let Some(input) = source.next()? {
        printer.feed(&input)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Tests of the whole way: inputs, writer, bytes, reader, source, inputs.

mod damage;
mod given;
mod parts;
mod readers;
mod recorder;
mod replay;
mod round_trip;
mod seeds;

use std::{
    io::{self, Cursor},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use super::{
    file::{Parts, Sink},
    schema::Identity,
    writer::Writer,
};
use crate::{
    input::Input,
    source::{
        Source,
        open::{Format, Opened},
        recording::RecordingSource,
    },
};

/// Parts in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<Vec<u8>>>>);

impl Memory {
    fn parts(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    /// The one part, where there is no rotation.
    fn bytes(&self) -> Vec<u8> {
        let [bytes] = &self.parts()[..] else {
            panic!("{} parts", self.parts().len());
        };
        bytes.clone()
    }
}

impl Parts for Memory {
    fn open(&mut self, _: u32) -> io::Result<Box<dyn Sink>> {
        self.0.lock().unwrap().push(Vec::new());
        Ok(Box::new(self.clone()))
    }

    fn name(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("memory {number}"))
    }
}

impl Sink for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0
            .lock()
            .unwrap()
            .last_mut()
            .unwrap()
            .extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, len: u64) {
        let len = usize::try_from(len).unwrap();
        self.0.lock().unwrap().last_mut().unwrap().truncate(len);
    }
}

fn identity() -> Identity {
    Identity {
        tool_version: "0.0.0".to_owned(),
        capture: "test".to_owned(),
        part: 1,
    }
}

/// Writes inputs; a batch is closed after each input when `each`, else when it is full.
fn write(inputs: &[Input], max_bytes: Option<u64>, each: bool) -> Memory {
    let flush_every = if each { 1 } else { usize::MAX };
    write_in_batches(inputs, max_bytes, flush_every)
}

fn write_in_batches(inputs: &[Input], max_bytes: Option<u64>, flush_every: usize) -> Memory {
    let memory = Memory::default();
    let mut writer = Writer::open(Box::new(memory.clone()), max_bytes, identity()).unwrap();
    for (index, input) in inputs.iter().enumerate() {
        writer.push(input.clone()).unwrap();
        if (index + 1) % flush_every == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    memory
}

fn source(parts: &[Vec<u8>]) -> Result<RecordingSource, super::ReadError> {
    let opened = parts.iter().enumerate().map(|(index, bytes)| Opened {
        name: format!("part {}", index + 1),
        format: Format::Recording,
        from: Box::new(Cursor::new(bytes.clone())),
    });
    RecordingSource::open(opened.collect(), None)
}

/// Everything that can be read, and the error that ended it.
fn read(parts: &[Vec<u8>]) -> (Vec<Input>, Option<String>) {
    let mut source = match source(parts) {
        Ok(source) => source,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut inputs = Vec::new();
    loop {
        match source.next() {
            Ok(Some(input)) => inputs.push(input),
            Ok(None) => return (joined(inputs), None),
            Err(error) => {
                assert!(matches!(source.next(), Ok(None)), "an error is the end");
                return (joined(inputs), Some(error.to_string()));
            }
        }
    }
}

/// Inputs with neighbouring events in one list: where a list ends is not kept.
fn joined(inputs: Vec<Input>) -> Vec<Input> {
    let mut joined: Vec<Input> = Vec::new();
    for input in inputs {
        match (joined.last_mut(), input) {
            (_, Input::Events(events)) if events.is_empty() => {}
            (Some(Input::Events(before)), Input::Events(events)) => before.extend(events),
            (_, input) => joined.push(input),
        }
    }
    joined
}

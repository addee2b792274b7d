//! The thread that writes a recording, behind a bounded queue.
//!
//! Owns the promise that recording never slows the drain of the ring: [`Recorder::offer`] takes
//! a lock that is only ever held for a moment, and what finds no room is dropped and counted.

use std::{
    collections::VecDeque,
    mem,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    file::{Files, Parts},
    schema::Identity,
    writer::{RecordError, Writer, Written},
};
use crate::input::{Input, Sample};

/// Smallest `--max-size`, bytes: below it a part would hold little beside its header.
pub const MIN_MAX_BYTES: u64 = 1 << 20;

/// How a recording is written.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size at which a part is closed and the next one begun; `None` for one file. At least
    /// [`MIN_MAX_BYTES`].
    pub max_bytes: Option<u64>,
    /// Parts that are kept, the newest; `None` for all.
    pub max_files: Option<u32>,
    /// Events that may wait for the writer, at 88 bytes each.
    pub queue_events: usize,
    /// Age at which a batch is written though it is not full.
    pub max_age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_bytes: None,
            max_files: None,
            // Half a second of a million I/Os a second, in 44 MiB at the most.
            queue_events: 1 << 19,
            // Under the second that is promised, with room for the writing itself.
            max_age: Duration::from_millis(800),
        }
    }
}

/// What became of a recording.
#[derive(Debug)]
pub struct Summary {
    /// What was written.
    pub written: Written,
    /// Events that found no room in the queue or came after a failure.
    pub dropped_events: u64,
    /// Why it stopped early, unless [`Recorder::take_error`] told already.
    pub error: Option<RecordError>,
}

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Written>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    inputs: VecDeque<Input>,
    /// Events among the inputs that wait.
    events: usize,
    capacity_events: usize,
    /// Events that ever found room.
    accepted_events: u64,
    dropped_events: u64,
    closed: bool,
    failed: bool,
    error: Option<RecordError>,
}

/// Inputs without events that may wait: far more than the seconds of a stalled disk bring.
const MAX_WAITING_INPUTS: usize = 1 << 16;

impl Recorder {
    /// Creates the file and starts its writer. `path` may be `-` for standard output. With
    /// `max_bytes` the parts bear their number in front of the extension.
    ///
    /// # Errors
    /// The file cannot be created, the options contradict each other, or there is no thread.
    pub fn spawn(path: &Path, options: &Options) -> anyhow::Result<Self> {
        if let Some(max_bytes) = options.max_bytes {
            anyhow::ensure!(
                max_bytes >= MIN_MAX_BYTES,
                "--max-size is {max_bytes} bytes; the smallest is 1M"
            );
            anyhow::ensure!(path.as_os_str() != "-", "--max-size needs a file, not `-`");
        }
        anyhow::ensure!(
            options.max_files.is_none() || options.max_bytes.is_some(),
            "--max-files needs --max-size: without it there is one file"
        );
        anyhow::ensure!(
            options.max_files != Some(0),
            "--max-files must be at least 1"
        );
        let files = Files::new(path, options.max_bytes.is_some(), options.max_files);
        Self::spawn_with(Box::new(files), options)
    }

    fn spawn_with(parts: Box<dyn Parts>, options: &Options) -> anyhow::Result<Self> {
        let writer = Writer::open(parts, options.max_bytes, new_identity())?;
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                capacity_events: options.queue_events,
                ..Queue::default()
            }),
            wake: Condvar::new(),
        });
        let max_age = options.max_age;
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write(&of_thread, writer, max_age))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues an input; never waits for the disk. Events that find no room are dropped and
    /// counted. Everything but events and samples always finds room.
    pub fn offer(&self, input: Input) {
        let mut queue = self.shared.lock();
        let events = match &input {
            Input::Events(events) => events.len(),
            _ => 0,
        };
        let has_room = match &input {
            // One that is larger than the whole queue still gets through an empty one.
            Input::Events(_) => queue.events == 0 || queue.events + events <= queue.capacity_events,
            Input::Sample(_) | Input::Pools(_) => queue.inputs.len() < MAX_WAITING_INPUTS,
            _ => true,
        };
        if queue.failed || !has_room {
            queue.dropped_events += events as u64;
            return;
        }
        queue.events += events;
        queue.accepted_events += events as u64;
        queue.inputs.push_back(input);
        drop(queue);
        self.shared.wake.notify_one();
    }

    /// Events that were dropped so far.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.shared.lock().dropped_events
    }

    /// Why the recording stopped; once. The capture goes on without it.
    #[must_use]
    pub fn take_error(&self) -> Option<RecordError> {
        self.shared.lock().error.take()
    }

    /// Writes what is queued and closes the file.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        let written = self.close();
        let mut queue = self.shared.lock();
        Summary {
            written,
            dropped_events: queue.dropped_events,
            error: queue.error.take(),
        }
    }

    fn close(&mut self) -> Written {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// The queue. A thread that panicked while it held the lock left nothing half done.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for inputs, until `deadline` at the longest; the flag says that no more will come.
    fn take(&self, deadline: Option<Instant>) -> (VecDeque<Input>, u64, bool) {
        let mut queue = self.lock();
        while queue.inputs.is_empty() && !queue.closed {
            let Some(deadline) = deadline else {
                queue = self
                    .wake
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.wake.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.events = 0;
        let inputs = mem::take(&mut queue.inputs);
        (inputs, queue.dropped_events, queue.closed)
    }

    /// Takes nothing any more; what was taken but is not on disk is lost.
    fn fail(&self, error: RecordError, written: Written) {
        let mut queue = self.lock();
        queue.dropped_events += queue.accepted_events - written.events;
        queue.inputs.clear();
        queue.failed = true;
        queue.error = Some(error);
    }
}

/// Identity of a recording that begins now.
fn new_identity() -> Identity {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Identity {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        capture: format!("{:016x}-{:08x}", now.as_nanos(), std::process::id()),
        part: 1,
    }
}

fn write(shared: &Shared, mut writer: Writer, max_age: Duration) -> Written {
    if let Err(error) = write_until_closed(shared, &mut writer, max_age) {
        shared.fail(error, writer.written());
    }
    writer.written()
}

fn write_until_closed(
    shared: &Shared,
    writer: &mut Writer,
    max_age: Duration,
) -> Result<(), RecordError> {
    let mut losses = Losses::default();
    let mut oldest: Option<Instant> = None;
    loop {
        let deadline = oldest.map(|oldest| oldest + max_age);
        let (inputs, dropped_events, closed) = shared.take(deadline);
        for input in inputs {
            for input in losses.state(input, dropped_events) {
                writer.push(input)?;
                if writer.is_flushed() {
                    oldest = None;
                } else if oldest.is_none() {
                    oldest = Some(Instant::now());
                }
            }
        }
        if closed {
            return writer.finish();
        }
        if oldest.is_some_and(|oldest| oldest.elapsed() >= max_age) {
            writer.flush()?;
            oldest = None;
        }
    }
}

/// Puts the recorder's own losses into the recording, where a report finds all others.
#[derive(Default)]
struct Losses {
    last: Sample,
}

impl Losses {
    fn state(&mut self, input: Input, dropped_events: u64) -> Vec<Input> {
        match input {
            Input::Sample(mut sample) => {
                sample.lost.queue += dropped_events;
                self.last = sample.clone();
                vec![Input::Sample(sample)]
            }
            Input::End(mut end) if dropped_events > 0 => {
                end.incomplete_reasons.push(format!(
                    "the recorder could not keep up: {dropped_events} events are not in the recording"
                ));
                let mut sample = mem::take(&mut self.last);
                sample.lost.queue = sample.lost.queue.max(dropped_events);
                sample.at_ns = sample.at_ns.max(end.at_ns);
                vec![Input::Sample(sample), Input::End(end)]
            }
            other => vec![other],
        }
    }
}

//! What only `zpool` knows: the layout of a pool, how full it is, and whether it resilvers.
//!
//! Asked only on demand (`--ask-zpool`), by a child of its own with a deadline, since a zpool
//! command can hang for good on a pool that is suspended or about to be. Owns that child and the
//! meaning of what it prints; never waits for it, and never asks when the kstat of any pool says
//! that it is not healthy enough to answer.

mod parse;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, Read},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel, sync_channel},
    thread,
    time::{Duration, Instant},
};

use crate::{device::Roots, input::PoolShape, kstat};

/// Time for all commands together. A healthy host answers in some 20 ms.
const DEADLINE: Duration = Duration::from_secs(5);
/// Most output of one command that is read; a pool of 1,000 disks prints some 80 KiB.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// Why the pools' layout is not known.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZpoolError {
    /// A pool is suspended: the command would hang.
    #[error("pool {0} is {1}, and zpool would hang on it")]
    Unhealthy(String, String),
    /// No such program, or it cannot be run.
    #[error("zpool cannot be run: {0}")]
    NotRun(String),
    /// It ended with an error.
    #[error("zpool failed: {0}")]
    Failed(String),
    /// It did not end in time.
    #[error("zpool did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The capture ended before it did.
    #[error("zpool had not answered when the capture ended")]
    Unfinished,
}

/// A question under way.
#[derive(Debug)]
pub struct Asked {
    answer: Receiver<Result<BTreeMap<String, PoolShape>, ZpoolError>>,
    shapes: BTreeMap<String, PoolShape>,
    /// Set once the answer is there.
    ended: Option<Result<(), ZpoolError>>,
}

impl Asked {
    /// Asks `program` (`zpool`) on a thread of its own.
    #[must_use]
    pub fn start(program: OsString, roots: &Roots) -> Self {
        let (send, answer) = sync_channel(1);
        let roots = roots.clone();
        let question = move || {
            let answer = match unhealthy_pool(&roots) {
                Some((pool, state)) => Err(ZpoolError::Unhealthy(pool, state)),
                None => ask(&program, DEADLINE),
            };
            // The capture may have ended.
            let _ = send.send(answer);
        };
        let spawned = thread::Builder::new()
            .name("zpool".to_owned())
            .spawn(question);
        Self {
            answer,
            shapes: BTreeMap::new(),
            ended: spawned
                .err()
                .map(|error| Err(ZpoolError::NotRun(error.to_string()))),
        }
    }

    /// Takes what is known of a pool, once; `None` while there is no answer. Never waits.
    pub fn take(&mut self, pool: &str) -> Option<PoolShape> {
        if self.ended.is_none() {
            self.ended = match self.answer.try_recv() {
                Ok(Ok(shapes)) => {
                    self.shapes = shapes;
                    Some(Ok(()))
                }
                Ok(Err(error)) => Some(Err(error)),
                Err(TryRecvError::Disconnected) => Some(Err(ZpoolError::Unfinished)),
                Err(TryRecvError::Empty) => None,
            };
        }
        self.shapes.remove(pool)
    }

    /// Why there is no answer, at the end of the capture.
    #[must_use]
    pub fn failure(self) -> Option<ZpoolError> {
        match self.ended {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(error),
            None => Some(ZpoolError::Unfinished),
        }
    }
}

/// A pool whose kstat says that commands would wait for it, and its state.
fn unhealthy_pool(roots: &Roots) -> Option<(String, String)> {
    kstat::pool_states(roots)
        .into_iter()
        .find_map(|(pool, state)| {
            let state = state?;
            let answers = matches!(state.as_str(), "ONLINE" | "DEGRADED");
            (!answers).then_some((pool, state))
        })
}

fn ask(program: &OsStr, deadline: Duration) -> Result<BTreeMap<String, PoolShape>, ZpoolError> {
    let until = Instant::now() + deadline;
    let run = |args: &[&str]| run(program, args, until, deadline);
    let listed = run(&["list", "-Hp", "-o", "name,capacity,ashift"])?;
    let mut shapes = parse::list(&listed);
    let status = run(&["status"])?;
    for (pool, status) in parse::status(&status) {
        if let Some(shape) = shapes.get_mut(&pool) {
            shape.layout = status.layout.map(|layout| layout.to_string());
            shape.activity = status.activity;
        }
    }
    // The pool's property is 0 when ZFS chose; vdevs have a property of their own from 2.2 on.
    for (pool, shape) in shapes.iter_mut().filter(|(_, s)| s.ashift.is_none()) {
        let of_vdevs = run(&["get", "-Hp", "-o", "value", "ashift", pool, "all-vdevs"]);
        shape.ashift = of_vdevs.ok().and_then(|text| parse::ashift(&text));
    }
    Ok(shapes)
}

/// Output of one command. A child that cannot be killed (it waits in the kernel) is left behind
/// with its two threads; the capture goes on.
fn run(
    program: &OsStr,
    args: &[&str],
    until: Instant,
    deadline: Duration,
) -> Result<String, ZpoolError> {
    let not_run = |error: io::Error| ZpoolError::NotRun(error.to_string());
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_run)?;
    let (output, error) = (read(child.stdout.take()), read(child.stderr.take()));
    let left = || until.saturating_duration_since(Instant::now());
    let received = output
        .recv_timeout(left())
        .and_then(|output| Ok((output, error.recv_timeout(left())?)));
    let (output, error) = match received {
        Ok(both) => both,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            // It may be beyond a signal's reach.
            let _ = child.kill();
            return Err(ZpoolError::TimedOut(deadline));
        }
    };
    // Both pipes are closed: the child has ended or is about to.
    let status = loop {
        match child.try_wait().map_err(not_run)? {
            Some(status) => break status,
            None if left().is_zero() => {
                let _ = child.kill();
                return Err(ZpoolError::TimedOut(deadline));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    if status.success() {
        Ok(output)
    } else {
        let line = error.lines().next().unwrap_or("without a message");
        Err(ZpoolError::Failed(line.to_owned()))
    }
}

/// Reads a pipe to its end on a thread of its own.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    // Without a thread the sender is dropped, and the receiver says so.
    let _ = thread::Builder::new()
        .name("zpool-output".to_owned())
        .spawn(move || {
            let mut bytes = Vec::new();
            if let Some(pipe) = pipe {
                // What came before an error is kept; it then fails to parse.
                let _ = pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
            }
            let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
        });
    receive
}

#[cfg(test)]
mod tests;

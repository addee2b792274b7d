//! A running `zvoltrace`: started, waited for, ended by signals, its report parsed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::Value;

use crate::binary;
pub use crate::expect::device;

/// What `capture` prints on stderr when everything is attached.
pub const READY: &str = "zvoltrace: tracing";

/// Longest wait for anything: generous, since machines under test are slow at times.
const PATIENCE: Duration = Duration::from_mins(1);

/// A child that is killed when it is dropped.
#[derive(Debug)]
pub struct Capture {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    stdout: Option<JoinHandle<Vec<u8>>>,
}

/// A child that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
}

impl Capture {
    /// Starts `zvoltrace` with these arguments.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(args: &[&str]) -> Self {
        Self::spawn_command(&mut binary::command(args))
    }

    /// Starts a command that runs `zvoltrace` in some surroundings.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn_command(command: &mut std::process::Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let (sender, lines) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let stdout = child.stdout.take().map(|mut stdout| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // A report cut short shows where it is parsed.
                let _ = stdout.read_to_end(&mut bytes);
                bytes
            })
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
            stdout,
        }
    }

    /// Starts `zvoltrace capture --format json` with these arguments and waits until it traces.
    ///
    /// # Panics
    /// When it does not get that far.
    #[must_use]
    pub fn start(args: &[&str]) -> Self {
        let mut all = vec!["capture", "--format", "json"];
        all.extend(args);
        let mut capture = Self::spawn(&all);
        capture.wait_for(READY);
        capture
    }

    /// Waits for a line on stderr that begins so.
    ///
    /// # Panics
    /// When it ends, or a minute passes, without one.
    pub fn wait_for(&mut self, prefix: &str) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let found = line.starts_with(prefix);
                    self.seen.push(line);
                    if found {
                        return;
                    }
                }
                Err(error) => panic!(
                    "no line {prefix:?} ({error}); stderr so far:\n{}",
                    self.seen.join("\n")
                ),
            }
        }
    }

    /// Process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// When it cannot be sent.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("cannot signal {pid:?}: {error}"));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When a minute passes without it.
    #[must_use]
    pub fn wait(mut self) -> Ended {
        // stderr ends with the process: no polling.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("it does not end; stderr so far:\n{}", self.seen.join("\n"))
                }
            }
        }
        let status = self
            .child
            .wait()
            .unwrap_or_else(|error| panic!("cannot wait for it: {error}"));
        let stdout = self.stdout.take().and_then(|reader| reader.join().ok());
        Ended {
            status,
            stdout: String::from_utf8_lossy(&stdout.unwrap_or_default()).into_owned(),
            stderr: self.seen.join("\n"),
        }
    }

    /// Ends the capture as Ctrl-C does and returns its report.
    ///
    /// # Panics
    /// When it does not end with 0 and a report.
    #[must_use]
    pub fn interrupt(self) -> Value {
        self.signal(Signal::INT);
        self.wait().report()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Both fail when it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The JSON report on stdout.
    ///
    /// # Panics
    /// When the exit status is not 0 or stdout is no JSON.
    #[must_use]
    pub fn report(&self) -> Value {
        assert!(
            self.status.success(),
            "{}; stderr:\n{}",
            self.status,
            self.stderr
        );
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}):\n{}", self.stdout))
    }
}

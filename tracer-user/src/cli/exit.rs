//! How the process ends: the exit statuses that scripts rely on, and which error leads to which.

use std::{io, process::ExitCode};

/// Exit status of the command. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done; also a capture ended early by a signal, and a reader that closed the pipe.
    Done = 0,
    /// Something failed while running.
    Failure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Something the command needs is missing: rights, BTF, a disk that matches.
    Prerequisite = 3,
    /// A verdict has the code, or at least the severity, of `--fail-on`.
    Verdict = 4,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// A reason not to begin, as opposed to a failure on the way.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The machine lacks something; the text says what, and what to do.
    #[error("{0}")]
    Prerequisite(String),
}

impl ExitStatus {
    /// The status that an error leads to. A reader that went away is no error, a [`Refusal`]
    /// has its own status, all else is a failure.
    #[must_use]
    pub fn of(error: &anyhow::Error) -> Self {
        for cause in error.chain() {
            if let Some(refusal) = cause.downcast_ref::<Refusal>() {
                return match refusal {
                    Refusal::Usage(_) => Self::Usage,
                    Refusal::Prerequisite(_) => Self::Prerequisite,
                };
            }
            if cause
                .downcast_ref::<io::Error>()
                .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            {
                return Self::Done;
            }
        }
        Self::Failure
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, Error};

    use super::*;

    #[test]
    fn the_cause_decides_the_status_however_deep_it_lies() {
        let usage = Error::new(Refusal::Usage("no".into()));
        assert_eq!(ExitStatus::of(&usage), ExitStatus::Usage);
        let missing = Err::<(), _>(Refusal::Prerequisite("no BTF".into()))
            .context("cannot trace")
            .unwrap_err();
        assert_eq!(ExitStatus::of(&missing), ExitStatus::Prerequisite);
        let closed = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe))
            .context("cannot write")
            .unwrap_err();
        assert_eq!(ExitStatus::of(&closed), ExitStatus::Done);
        assert_eq!(ExitStatus::of(&Error::msg("else")), ExitStatus::Failure);
    }
}

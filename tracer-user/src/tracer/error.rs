//! Why tracing cannot start, in words for somebody who has to act on them.

use crate::btf::BtfError;

/// A failure of the tracer.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// The kernel lacks what the hooks need.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// Not allowed to load BPF programs.
    #[error(
        "not allowed to load BPF programs ({what}): run as root, or with CAP_BPF and \
         CAP_PERFMON; `zvoltrace check` says what is missing"
    )]
    NotPermitted {
        /// What was refused.
        what: String,
    },
    /// The verifier refused a program.
    #[error(
        "the kernel's verifier refused program {program} ({cause}); report this with the output \
         of `uname -r` and these last lines:\n{log}"
    )]
    Refused {
        /// The program.
        program: String,
        /// The error.
        cause: String,
        /// Last lines of the verifier's log.
        log: String,
    },
    /// Any other refusal of the kernel.
    #[error("cannot {what}: {cause}")]
    Kernel {
        /// What was tried.
        what: String,
        /// Why it failed.
        cause: String,
    },
    /// The object in this binary does not have what this code expects.
    #[error("the BPF object in this binary has no {what}: it was built wrongly; report this")]
    Object {
        /// A map or program.
        what: String,
    },
    /// All rows of the filter or of the counters are taken.
    #[error("no room to trace another disk")]
    NoRoom,
}

impl TracerError {
    /// Whether something is missing on the machine, as opposed to a failure on the way.
    #[must_use]
    pub fn is_missing_prerequisite(&self) -> bool {
        matches!(
            self,
            Self::Btf(_) | Self::NotPermitted { .. } | Self::Refused { .. }
        )
    }
}

/// Last lines of a verifier log: the refusal stands at its end.
pub(super) fn last_lines(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().filter(|l| !l.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_log_is_kept() {
        assert_eq!(last_lines("a\nb\n\nc\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
    }
}

//! What the kernel says of a loaded program, from `/proc/self/fdinfo`
//! (`bpf_prog_show_fdinfo` in kernel/bpf/syscall.c): no system call of its own is needed.

use std::{fs, os::fd::RawFd};

/// Statistics of one program. Zero where the kernel does not keep them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramStats {
    /// Time spent in it; moves only while `kernel.bpf_stats_enabled` is 1.
    pub(super) run_time_ns: u64,
    /// Invocations that were skipped because it already ran on that CPU (since about 6.2).
    pub(super) recursion_misses: u64,
}

/// Reads the statistics of a program by its file descriptor.
pub(super) fn of(program: RawFd) -> ProgramStats {
    fs::read_to_string(format!("/proc/self/fdinfo/{program}"))
        .map(|text| parse(&text))
        .unwrap_or_default()
}

fn parse(fdinfo: &str) -> ProgramStats {
    let value = |key: &str| {
        fdinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(0)
    };
    ProgramStats {
        run_time_ns: value("run_time_ns"),
        recursion_misses: value("recursion_misses"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_absent_ones_are_zero() {
        let text = "pos:\t0\nprog_type:\t26\nrun_time_ns:\t1234\nrun_cnt:\t5\n";
        let stats = parse(text);
        assert_eq!((stats.run_time_ns, stats.recursion_misses), (1234, 0));
        assert_eq!(parse("recursion_misses:\t7\n").recursion_misses, 7);
    }
}

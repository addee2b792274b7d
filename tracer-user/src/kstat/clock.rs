//! From the clock of the kstats to the clock of the capture.
//!
//! ZFS stamps with `gethrtime()`, which is `CLOCK_MONOTONIC_RAW` (OpenZFS
//! `include/os/linux/spl/sys/time.h`); a capture runs on `CLOCK_MONOTONIC`. NTP slews only the
//! latter, so that they part by minutes in the course of months.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
    /// `CLOCK_MONOTONIC_RAW`, ns.
    pub raw_ns: u64,
}

impl ClockPair {
    /// Reads both, several times, and keeps the pair whose reading took least: being scheduled
    /// away in between would shift it.
    #[must_use]
    pub fn now() -> Self {
        let read = || {
            let before = ns(clock_gettime(ClockId::Monotonic));
            let raw_ns = ns(clock_gettime(ClockId::MonotonicRaw));
            let spent = ns(clock_gettime(ClockId::Monotonic)).saturating_sub(before);
            let monotonic_ns = before + spent / 2;
            let pair = Self {
                monotonic_ns,
                raw_ns,
            };
            (spent, pair)
        };
        let first = read();
        (0..3)
            .map(|_| read())
            .fold(
                first,
                |best, next| if next.0 < best.0 { next } else { best },
            )
            .1
    }

    /// A raw time on the monotonic clock, ns; 0 when it lies before that clock's start.
    #[must_use]
    pub const fn monotonic_of(self, raw_ns: u64) -> u64 {
        if raw_ns <= self.raw_ns {
            self.monotonic_ns.saturating_sub(self.raw_ns - raw_ns)
        } else {
            self.monotonic_ns.saturating_add(raw_ns - self.raw_ns)
        }
    }
}

fn ns(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_time_keeps_its_distance_to_the_moment_of_the_pair() {
        let pair = ClockPair {
            monotonic_ns: 1_000_000,
            raw_ns: 940_000,
        };
        assert_eq!(pair.monotonic_of(940_000), 1_000_000);
        assert_eq!(pair.monotonic_of(900_000), 960_000);
        assert_eq!(pair.monotonic_of(950_000), 1_010_000);
        let ahead = ClockPair {
            monotonic_ns: 5,
            raw_ns: 100,
        };
        assert_eq!(ahead.monotonic_of(10), 0);
        assert_eq!(ahead.monotonic_of(u64::MAX), u64::MAX - 95);
    }

    #[test]
    fn the_pair_of_now_lies_on_both_clocks() {
        let before = ns(clock_gettime(ClockId::Monotonic));
        let pair = ClockPair::now();
        let after = ns(clock_gettime(ClockId::Monotonic));
        assert!((before..=after).contains(&pair.monotonic_ns));
        assert!(pair.raw_ns > 0);
    }
}

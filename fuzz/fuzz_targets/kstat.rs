//! Any text as the kstats of a pool: parsed or passed over, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tracer_user::kstat::{ClockPair, parse_objset, parse_txgs};

fuzz_target!(|text: &str| {
    let _ = parse_objset(text);
    // Clocks that have parted, in both directions.
    for (monotonic_ns, raw_ns) in [(9_000_000, 5_000_000), (5_000_000, 9_000_000)] {
        let clocks = ClockPair {
            monotonic_ns,
            raw_ns,
        };
        let _ = parse_txgs(text, clocks);
    }
});

//! Any text as the kstats of a pool: parsed or passed over, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tracer_user::kstat::{parse_objset, parse_txgs};

fuzz_target!(|text: &str| {
    let _ = parse_objset(text);
    let _ = parse_txgs(text);
});

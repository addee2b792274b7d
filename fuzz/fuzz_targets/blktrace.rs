//! Any bytes as a blktrace file: read or refused, and every I/O accounted for.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tracer_user::blktrace::{Pairing, Records};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut records) = Records::from_reader(Cursor::new(bytes.to_vec()), "fuzz") else {
        return;
    };
    let mut pairing = Pairing::new();
    for record in records.by_ref() {
        pairing.feed(&record);
    }
    pairing.finish();
    let (_, events) = pairing.drain();
    let counts = pairing.counts();
    let counted: u64 = counts.devices.iter().flat_map(|device| device.counters.count).sum();
    assert_eq!(events.len() as u64, counted);
});

//! Lines behind a good one, as blkparse text: read or left out, never a panic.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tracer_user::blktrace::{Pairing, Records};

fuzz_target!(|bytes: &[u8]| {
    let first = b"230,0 1 42 0.000123456 1234 Q WS 12345678 + 16 [qemu-kvm]\n";
    let text = [first, bytes].concat();
    let mut records = Records::from_reader(Cursor::new(text), "fuzz").expect("begins well");
    let mut pairing = Pairing::new();
    let mut count = 0;
    for record in records.by_ref() {
        pairing.feed(&record);
        count += 1;
    }
    pairing.finish();
    assert!(count > 0 && records.damage().len() <= 1);
});

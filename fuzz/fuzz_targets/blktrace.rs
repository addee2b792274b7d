//! Any bytes as a blktrace file: read or refused, and every I/O accounted for.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tracer_user::{
    blktrace::Records,
    input::Input,
    source::{
        Source,
        blktrace::{BlktraceSource, Options},
    },
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(records) = Records::from_reader(Cursor::new(bytes.to_vec()), "fuzz") else {
        return;
    };
    let mut source = BlktraceSource::new(records, Options::default());
    let (mut events, mut counted) = (0, 0);
    while let Ok(Some(input)) = source.next() {
        match input {
            Input::Events(some) => events += some.len() as u64,
            Input::Sample(sample) => {
                let counts = sample.devices.iter().flat_map(|device| device.counters.count);
                counted = counts.sum();
            }
            _ => {}
        }
    }
    assert_eq!(events, counted);
});

//! Any bytes as a recording: read or refused, every row printed, never a panic, and nothing
//! after an error.
#![no_main]

use std::io::{Cursor, sink};

use libfuzzer_sys::fuzz_target;
use tracer_user::{
    events::{Filter, Format, Printer},
    source::{
        Source,
        open::{Format as Kind, Opened},
        recording::RecordingSource,
    },
};

fuzz_target!(|bytes: &[u8]| {
    let opened = Opened {
        name: "fuzz".to_owned(),
        format: Kind::Recording,
        from: Box::new(Cursor::new(bytes.to_vec())),
    };
    let Ok(mut source) = RecordingSource::open(vec![opened], Some(8192)) else {
        return;
    };
    let mut text = Printer::new(sink(), Format::Text, Filter::default());
    let mut json = Printer::new(sink(), Format::JsonLines, Filter::default());
    loop {
        match source.next() {
            Ok(Some(input)) => {
                text.feed(&input).expect("a sink takes all");
                json.feed(&input).expect("a sink takes all");
            }
            Ok(None) => break,
            Err(_) => {
                assert!(matches!(source.next(), Ok(None)));
                break;
            }
        }
    }
});

//! Any bytes as a JSON report: refused, or compared and printed within the page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tracer_user::compare::{compare, parse, render_text};

fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = parse(bytes, "fuzz") else {
        return;
    };
    // What lies in one place of it is compared with what lies in another.
    let mut turned = report.clone();
    turned.devices.reverse();
    for b in [&report, &turned] {
        let comparison = compare(("a", &report), ("b", b));
        comparison.to_json().expect("numbers and text");
        for unicode in [false, true] {
            let text = render_text(&comparison, unicode);
            assert!(!text.is_empty());
        }
    }
});

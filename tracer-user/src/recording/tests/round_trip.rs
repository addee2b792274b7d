//! What goes in comes out.

use proptest::prelude::*;

use super::{
    given::{arbitrary_capture, capture, device, event, start},
    joined, read, write,
};
use crate::input::Input;

proptest! {
    #[test]
    fn every_input_survives_in_its_order(inputs in arbitrary_capture(), each: bool) {
        let memory = write(&inputs, None, each);
        let (found, error) = read(&memory.parts());
        prop_assert_eq!(error, None);
        prop_assert_eq!(found, joined(inputs));
    }
}

#[test]
fn more_processes_than_a_dictionary_holds_survive() {
    let mut inputs = vec![Input::Start(start()), Input::Appeared(device(0))];
    let events = (0..70_000).map(|n| {
        let mut event = event(0, n);
        event.pid = u32::try_from(n).unwrap();
        event.tid = event.pid ^ 0xffff_0000;
        event
    });
    inputs.push(Input::Events(events.collect()));
    let (found, error) = read(&write(&inputs, None, false).parts());
    assert_eq!(error, None);
    assert_eq!(found, inputs);
}

#[test]
fn a_batch_is_closed_before_its_words_run_out() {
    let mut inputs = vec![Input::Start(start()), Input::Appeared(device(0))];
    let events = (0..2048).map(|n: u32| {
        let mut event = event(0, u64::from(n));
        event.flags = crate::event::Flags::from_opf(n << 11);
        event
    });
    inputs.push(Input::Events(events.collect()));
    let (found, error) = read(&write(&inputs, None, false).parts());
    assert_eq!(error, None);
    assert_eq!(found, inputs);
}

#[test]
fn a_long_capture_survives() {
    let inputs = capture(100_000);
    let (found, error) = read(&write(&inputs, None, false).parts());
    assert_eq!(error, None);
    assert_eq!(found, joined(inputs));
}

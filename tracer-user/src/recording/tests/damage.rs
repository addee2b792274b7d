//! Files that are cut off, damaged, or lie.

use proptest::prelude::*;

use super::{
    given::{capture, device, event, start},
    joined, read, write, write_in_batches,
};
use crate::{event::DeviceId, input::Input};

/// Whether `part` is what a reader gets of `whole` when it stops early.
fn is_beginning(part: &[Input], whole: &[Input]) -> bool {
    part.iter()
        .enumerate()
        .all(|(index, found)| match (found, whole.get(index)) {
            (Input::Events(found), Some(Input::Events(all))) => all.starts_with(found),
            (found, all) => Some(found) == all,
        })
}

#[test]
fn a_file_cut_at_any_byte_is_read_up_to_its_last_whole_batch() {
    let inputs = capture(20);
    let bytes = write_in_batches(&inputs, None, 3).bytes();
    let whole = joined(inputs);
    let mut longest = 0;
    for length in 0..bytes.len() {
        let (found, error) = read(&[bytes[..length].to_vec()]);
        assert!(is_beginning(&found, &whole), "cut at {length}");
        assert!(found.len() >= longest, "cut at {length}");
        longest = found.len();
        let error = error.unwrap_or_default();
        match length {
            0 => assert!(error.contains("empty"), "{error}"),
            _ if found.is_empty() && error.is_empty() => {}
            _ => assert!(
                error.is_empty() || error.contains("cut off at byte"),
                "cut at {length}: {error}"
            ),
        }
    }
    assert_eq!(longest, whole.len());
}

#[test]
fn a_cut_between_two_batches_is_no_error_but_has_no_end() {
    let inputs = capture(100);
    let bytes = write(&inputs, None, true).bytes();
    let (found, error) = read(&[bytes[..bytes.len() - 8].to_vec()]);
    assert_eq!(error, None);
    assert_eq!(found, joined(inputs));
}

#[test]
fn files_of_other_kinds_are_named() {
    let other = |bytes: &[u8]| read(&[bytes.to_vec()]).1.unwrap();
    assert_eq!(
        other(b""),
        "part 1: empty: not a recording (was the capture killed before it began?)"
    );
    insta::assert_snapshot!(other(b"ARROW1\0\0 and more"));
    insta::assert_snapshot!(other(b"{\"schema\": 1}"));
    insta::assert_snapshot!(other(&[0x07, 0x74, 0x61, 0x65, 0, 0, 0, 0]));
    insta::assert_snapshot!(other(&[0xff; 64]));
}

#[test]
fn data_of_the_other_byte_order_is_refused() {
    let mut bytes = write(&capture(1), None, false).bytes();
    // The schema's byte order is not written when it is the usual one: point the first slot of
    // its table of offsets at bytes that are not 0 (flatbuffers, "vtable").
    let message = arrow_ipc::root_as_message(&bytes[8..]).unwrap();
    let table = 8 + message.header_as_schema().unwrap()._tab.loc();
    let offset = i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap());
    let offsets = table.checked_add_signed(-offset as isize).unwrap();
    bytes[offsets + 4..offsets + 6].copy_from_slice(&4_u16.to_le_bytes());
    let (found, error) = read(&[bytes]);
    assert!(found.is_empty());
    let error = error.unwrap();
    assert!(error.contains("big-endian Arrow data"), "{error}");
}

#[test]
fn bytes_behind_the_end_are_told_and_what_is_before_them_kept() {
    let inputs = capture(100);
    let bytes = write(&inputs, None, false).bytes();
    let twice = [bytes.clone(), bytes.clone()].concat();
    let (found, error) = read(&[twice]);
    assert_eq!(found, joined(inputs));
    let at = bytes.len();
    assert!(error.unwrap().contains(&format!("at byte {at}")));
}

#[test]
fn rows_that_break_the_rules_are_told() {
    let error_of = |inputs: &[Input]| {
        let (found, error) = read(&write(inputs, None, false).parts());
        (found.len(), error.unwrap())
    };
    let start = Input::Start(start());
    let lost = Input::Events(vec![event(7, 0)]);
    let (kept, error) = error_of(&[start.clone(), Input::Appeared(device(0)), lost]);
    assert_eq!(kept, 2);
    assert!(error.contains("device 7 was never announced"), "{error}");

    let (kept, error) = error_of(&[start.clone(), Input::Appeared(device(4_000_000_000 / 16))]);
    assert_eq!(kept, 1);
    assert!(error.contains("instead of 0"), "{error}");

    let (kept, error) = error_of(&[start.clone(), start.clone()]);
    assert_eq!((kept, error.contains("second start")), (1, true), "{error}");

    let (kept, error) = error_of(&[Input::Pools(Vec::new())]);
    assert_eq!(
        (kept, error.contains("before the start")),
        (0, true),
        "{error}"
    );

    let gone = Input::Vanished {
        device: DeviceId(3),
        at_ns: 0,
    };
    let (kept, error) = error_of(&[start, gone]);
    assert_eq!(
        (kept, error.contains("never announced")),
        (1, true),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flipped_bytes_never_panic_and_keep_what_comes_before(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..6),
    ) {
        let inputs = capture(120);
        let mut bytes = write(&inputs, None, true).bytes();
        let mut first = bytes.len();
        for (index, flip) in &flips {
            let at = index.index(bytes.len());
            bytes[at] ^= flip;
            first = first.min(at);
        }
        let (found, error) = read(&[bytes.clone()]);
        let (intact, _) = read(&[bytes[..first].to_vec()]);
        prop_assert!(is_beginning(&intact, &found), "{error:?}");
    }

    #[test]
    fn hostile_lengths_never_panic(
        words in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(vec![
                u64::MAX, i64::MAX.cast_unsigned(), 1 << 40, 1 << 32, 1 << 31, 1 << 24, 0,
            ])),
            1..4,
        ),
    ) {
        let mut bytes = write(&capture(120), None, true).bytes();
        for (index, value) in words {
            let at = index.index(bytes.len() / 4) * 4;
            let width = 8.min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        read(&[bytes]);
    }
}

//! The seeds of the fuzzer: whole recordings, as small as they come.

use std::{fs, path::Path};

use super::{
    given::{capture, device, event, start},
    write, write_in_batches,
};
use crate::input::Input;

/// A blk-mq device and a bare start beside the usual rows.
fn mixed() -> Vec<Input> {
    let mut queued = event(1, 7);
    queued.issue_ns = Some(queued.start_ns + 5);
    vec![
        Input::Start(start()),
        Input::Appeared(device(0)),
        Input::Appeared(device(1)),
        Input::Changed(device(1)),
        Input::Events(vec![event(0, 1), queued]),
        Input::Vanished {
            device: device(1).id,
            at_ns: 9,
        },
        Input::Pools(Vec::new()),
    ]
}

#[test]
#[ignore = "run by hand after a change of the format: writes fuzz/seeds/recording"]
fn write_the_seeds_of_the_fuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/recording");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("capture"),
        write(&capture(5), None, false).bytes(),
    )
    .unwrap();
    fs::write(
        folder.join("batches"),
        write_in_batches(&mixed(), None, 3).bytes(),
    )
    .unwrap();
    let parts = write(&capture(3000), Some(40_000), true).parts();
    let mut part = parts[1].clone();
    part.truncate(8 << 10);
    fs::write(folder.join("part"), part).unwrap();
}

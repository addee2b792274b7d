//! A capture on one zvol, exported, replayed by fio on another zvol, and captured again.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, ensure};
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{self, Capture};
use zvoltrace_tests::expect::traffic;
use zvoltrace_tests::plan::Plan;

use super::{Quiet, device, held_open};
use crate::harness::{Differences, Outcome, Test};
use crate::program;
use crate::zfs::{Mode, Zvol, blk_mq_missing};

pub(super) const TESTS: &[Test] = &[
    Test::new("fio_repeats_a_capture_on_another_zvol_in_bio_mode", || {
        replay(Mode::Bio)
    }),
    Test::new(
        "fio_repeats_a_capture_on_another_zvol_in_blk_mq_mode",
        || replay(Mode::BlkMq),
    ),
];

const BYTES: u64 = 64 << 20;
const FOLDER: &str = "/tmp/replay";

/// Like a guest's: sizes from 4K to 128K, reads between the writes, a flush now and then. No
/// longer ones: blk-mq would cut them by the block size, which differs between the two zvols.
fn plan() -> Plan {
    let writes = [(120, 8192), (80, 4096), (20, 128 << 10)];
    Plan::like_a_guest(&writes, 30, BYTES)
}

fn replay(mode: Mode) -> Result<Outcome> {
    if let (Mode::BlkMq, Some(why)) = (mode, blk_mq_missing()) {
        return Ok(Outcome::Skipped(why));
    }
    if !program::exists("fio") {
        return Ok(Outcome::Skipped("this image has no fio".to_owned()));
    }
    fs::create_dir_all(FOLDER)?;
    let path = |name: &str| format!("{FOLDER}/{name}");
    let (recording, log) = (path("first.arrows"), path("first.log"));

    let first = Zvol::create("captured", BYTES, "16K", mode)?;
    let report = {
        let _quiet = Quiet::begin()?;
        let _held = held_open(&first)?;
        let capture = Capture::start(&[
            "--device",
            &first.disk,
            "--duration",
            "600",
            "--record",
            &recording,
        ]);
        plan().run(&first.path())?;
        capture.interrupt()
    };
    let expected = traffic(capture::device(&report, &first.disk));

    let export = binary::command(&["export", &recording, "--to", "fio", "-o", &log])
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        export.status.success(),
        "export failed: {}",
        String::from_utf8_lossy(&export.stderr)
    );
    let second = Zvol::create("replayed", BYTES, "64K", mode)?;
    let replayed = device(&second, |target| {
        let status = program::command("fio")
            .arg("first.log.replay.fio")
            .env("TARGET", target)
            .current_dir(Path::new(FOLDER))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "fio failed: {status}");
        Ok(())
    })?;
    let mut differences = Differences::default();
    differences.equal("replayed", traffic(&replayed), expected);
    differences.none()?;
    Ok(Outcome::Ok)
}

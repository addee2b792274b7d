//! What the tool says a zvol is, against what `zfs get` prints.

use std::process::Stdio;

use anyhow::{Context, Result};
use zvoltrace_tests::binary;
use zvoltrace_tests::capture;

use crate::harness::{Differences, Outcome, Test};
use crate::zfs::{Mode, Zvol, blk_mq_missing, property};

pub(super) const TESTS: &[Test] = &[
    Test::new(
        "datasets_and_block_sizes_are_those_zfs_prints_in_bio_mode",
        || identity(Mode::Bio),
    ),
    Test::new(
        "datasets_and_block_sizes_are_those_zfs_prints_in_blk_mq_mode",
        || identity(Mode::BlkMq),
    ),
];

/// Largest last: before ZFS 2.2 it needs a module parameter that is not set here.
const BLOCKS: [&str; 5] = ["8K", "16K", "64K", "128K", "1M"];

fn identity(mode: Mode) -> Result<Outcome> {
    if let (Mode::BlkMq, Some(why)) = (mode, blk_mq_missing()) {
        return Ok(Outcome::Skipped(why));
    }
    let mut zvols = Vec::new();
    for block in BLOCKS {
        match Zvol::create(
            &format!("vm-{}-disk-0", 100 + zvols.len()),
            32 << 20,
            block,
            mode,
        ) {
            Ok(zvol) => zvols.push(zvol),
            Err(error) if block == "1M" => {
                println!("zvoltrace-vm: no zvol of 1M blocks here: {error:#}");
            }
            Err(error) => return Err(error),
        }
    }
    let list = binary::command(&["list", "--format", "json"])
        .stdin(Stdio::null())
        .output()
        .context("cannot run list")?;
    let text = String::from_utf8_lossy(&list.stdout);
    let list: serde_json::Value = serde_json::from_str(&text).with_context(|| {
        format!(
            "list printed no JSON: {text} {}",
            String::from_utf8_lossy(&list.stderr)
        )
    })?;
    let mut differences = Differences::default();
    for zvol in &zvols {
        let row = capture::device(&list, &zvol.disk);
        let name = &zvol.dataset;
        differences.equal(name, row["dataset"].as_str(), Some(zvol.dataset.as_str()));
        differences.equal(
            &format!("{name}: mode"),
            row["mode"].as_str(),
            Some(mode.name()),
        );
        differences.equal(
            &format!("{name}: volblocksize"),
            row["volblocksize_bytes"]
                .as_u64()
                .map(|bytes| bytes.to_string()),
            Some(property(&zvol.dataset, "volblocksize")?),
        );
        differences.equal(
            &format!("{name}: size"),
            row["size_bytes"].as_str().map(str::to_owned),
            Some(property(&zvol.dataset, "volsize")?),
        );
    }
    differences.none()?;
    Ok(Outcome::Ok)
}

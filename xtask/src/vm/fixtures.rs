//! `cargo xtask vm fixtures`: small real captures from the machines, for the tests that run
//! without any. Replaces `tests/fixtures/<suite>` as a whole.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::btf;
use super::suite::Suite;
use crate::{process, workspace};

/// The in-machine collection that makes them.
pub(crate) const TEST: &str = "collect_fixtures";

/// A kernel's whole BTF, as the collection hands it out.
const BTF: &str = "vmlinux.btf";

/// Takes what a run handed out into the checkout.
pub(crate) fn adopt(suite: Suite, results: &Path) -> Result<()> {
    let whole = fs::read(results.join(BTF)).context("the run handed out no BTF")?;
    let cut = btf::cut(&whole)?;
    let folder = workspace::root()?.join("tests/fixtures").join(suite.name());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    // Links into /dev lead nowhere here and are kept as they are.
    process::run(
        Command::new("cp")
            .arg("-a")
            .arg(results.join("."))
            .arg(&folder),
    )?;
    let file = folder.join(BTF);
    fs::remove_file(&file)?;
    fs::write(&file, &cut)?;
    println!(
        "{}: BTF of {} KiB cut to {} KiB",
        folder.display(),
        whole.len() >> 10,
        cut.len() >> 10
    );
    Ok(())
}

//! What a run hands out to the host: files under a folder, as an archive on the second disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::program;

const FOLDER: &str = "/tmp/results";
const DISK: &str = "/dev/vdb";

/// Folder for files to hand out; made when missing.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let path = Path::new(FOLDER).join(name);
    fs::create_dir_all(&path)?;
    Ok(path)
}

/// Keeps a text under a name and shows it on the console.
pub(crate) fn table(name: &str, text: &str) -> Result<()> {
    fs::write(folder("")?.join(name), text)?;
    for line in text.lines() {
        println!("  | {line}");
    }
    Ok(())
}

/// Writes the archive.
pub(crate) fn hand_out() -> Result<()> {
    if !Path::new(FOLDER).exists() {
        return Ok(());
    }
    program::run("tar", &["-cf", DISK, "-C", FOLDER, "."]).context("cannot hand out results")?;
    File::open(DISK)?.sync_all()?;
    Ok(())
}

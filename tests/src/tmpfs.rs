//! A small file system that fills up.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::run;

/// A tmpfs of its own, unmounted when dropped.
#[derive(Debug)]
pub struct Tmpfs {
    folder: tempfile::TempDir,
}

impl Tmpfs {
    /// One that holds `bytes`, in a new folder.
    pub fn new(bytes: u64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(folder.path()))?;
        Ok(Self { folder })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily: whoever still has a file open there does not keep the folder.
        let mut umount = Command::new("umount");
        if let Err(error) = run(umount.arg("--lazy").arg(self.path())) {
            eprintln!("{} stays mounted: {error}", self.path().display());
        }
    }
}

//! A loop device: the blk-mq disk that every Linux host can make.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::run;

/// A loop device on a sparse file that has no name any more.
///
/// Nothing is left behind, however the process ends: the kernel is told to detach the device with
/// its last close, and the file goes with the device.
#[derive(Debug)]
pub struct LoopDevice {
    name: String,
    _held: File,
}

impl LoopDevice {
    /// A device of `bytes` (a multiple of 4,096) on a file in the folder for temporary files.
    pub fn new(bytes: u64) -> Result<Self> {
        Self::on_sparse_file(&std::env::temp_dir(), bytes, false)
    }

    /// A device of `bytes` on a file in memory, which takes what is written to it. The last close
    /// of a device waits until its file is deleted: seconds on a disk, nothing here.
    pub fn in_memory(bytes: u64) -> Result<Self> {
        Self::on_sparse_file(Path::new("/dev/shm"), bytes, false)
    }

    /// A device of `bytes` with one partition of `sectors` (512 B) at `first_sector`; it has the
    /// name of [`Self::partition`].
    pub fn with_partition(bytes: u64, first_sector: u64, sectors: u64) -> Result<Self> {
        let device = Self::on_sparse_file(&std::env::temp_dir(), bytes, true)?;
        run(Command::new("addpart").arg(device.path()).args([
            "1",
            &first_sector.to_string(),
            &sectors.to_string(),
        ]))?;
        Ok(device)
    }

    fn on_sparse_file(folder: &Path, bytes: u64, partitions: bool) -> Result<Self> {
        let file = tempfile::NamedTempFile::new_in(folder).with_context(|| {
            format!(
                "cannot make a file for a loop device in {}",
                folder.display()
            )
        })?;
        file.as_file().set_len(bytes)?;
        Self::on_file(file.path(), partitions)
    }

    /// A device on a file that exists, which keeps its name.
    pub fn on_file(file: &Path, partitions: bool) -> Result<Self> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--nooverlap"]);
        if partitions {
            losetup.arg("--partscan");
        }
        let path = run(losetup.arg(file))?;
        let path = Path::new(path.trim());
        // Detached from here on: while it is held open, the kernel only marks it, and detaches it
        // with the last close (drivers/block/loop.c, loop_clr_fd).
        let held = OpenOptions::new().read(true).open(path);
        run(Command::new("losetup").arg("--detach").arg(path))?;
        let held = held.with_context(|| format!("cannot open {}", path.display()))?;
        let name = path
            .file_name()
            .context("losetup printed no device")?
            .to_string_lossy()
            .into_owned();
        Ok(Self { name, _held: held })
    }

    /// Kernel name: `loop0`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Device node.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// Kernel name of the partition that [`Self::with_partition`] made: `loop0p1`.
    #[must_use]
    pub fn partition(&self) -> String {
        format!("{}p1", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::{Need, live};

    #[test]
    fn a_loop_device_is_gone_when_it_is_dropped() {
        if !live(&[Need::Loop]) {
            return;
        }
        let device = LoopDevice::with_partition(64 << 20, 2048, 4096).unwrap();
        let sysfs = Path::new("/sys/block").join(device.name());
        assert!(sysfs.join("loop").exists());
        assert!(sysfs.join(device.partition()).exists());
        drop(device);
        assert!(!sysfs.join("loop/backing_file").exists());
    }
}

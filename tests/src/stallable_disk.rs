//! A blk-mq disk whose writes can be held in flight for as long as a test likes.
//!
//! It is a loop device on a file of an ext4 that is frozen: the loop driver's worker then waits
//! inside the write, the request stays issued and uncompleted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::command::run;
use crate::loop_device::LoopDevice;

/// The disk. Dropping it lets everything go on, and takes it apart.
#[derive(Debug)]
pub struct StallableDisk {
    /// `None` only while it is taken apart.
    disk: Option<LoopDevice>,
    name: String,
    mount: TempDir,
    _below: LoopDevice,
}

impl StallableDisk {
    /// A disk of `bytes`.
    pub fn new(bytes: u64) -> Result<Self> {
        let below = LoopDevice::new(bytes + (32 << 20))?;
        run(Command::new("mkfs.ext4")
            .args(["-q", "-E", "nodiscard"])
            .arg(below.path()))?;
        let mount = TempDir::new().context("cannot make a mount point")?;
        run(Command::new("mount").arg(below.path()).arg(mount.path()))?;
        let mut made = Self {
            disk: None,
            name: String::new(),
            mount,
            _below: below,
        };
        let file = made.mount.path().join("disk");
        File::create(&file)?.set_len(bytes)?;
        let disk = LoopDevice::on_file(&file, false)?;
        disk.name().clone_into(&mut made.name);
        made.disk = Some(disk);
        Ok(made)
    }

    /// Kernel name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Device node.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// From here on writes are issued and do not complete.
    pub fn stall(&self) -> Result<()> {
        self.freeze("--freeze")
    }

    /// Lets them complete.
    pub fn resume(&self) -> Result<()> {
        self.freeze("--unfreeze")
    }

    /// Waits until so many writes are in flight.
    pub fn wait_for_in_flight(&self, writes: u64) -> Result<()> {
        let path = Path::new("/sys/block").join(&self.name).join("inflight");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            // "reads writes"
            let text = fs::read_to_string(&path)?;
            let now = text.split_whitespace().nth(1).map(str::parse);
            if now == Some(Ok(writes)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{} has {text:?} in flight, not {writes} writes", self.name);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn freeze(&self, how: &str) -> Result<()> {
        run(Command::new("fsfreeze").arg(how).arg(self.mount.path())).map(drop)
    }
}

impl Drop for StallableDisk {
    fn drop(&mut self) {
        // Fails when it is not frozen, which is what is wanted.
        let _ = self.resume();
        drop(self.disk.take());
        if let Err(error) = run(Command::new("umount").arg(self.mount.path())) {
            eprintln!("{} stays mounted: {error}", self.mount.path().display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::rights::{Need, live};

    #[test]
    fn a_stalled_write_is_in_flight_until_it_is_let_go() {
        if !live(&[Need::Loop]) {
            return;
        }
        let disk = StallableDisk::new(16 << 20).unwrap();
        disk.stall().unwrap();
        thread::scope(|scope| {
            let path = disk.path();
            let write = scope.spawn(move || Plan::random_writes(1, 1, 4096, 1 << 20).run(&path));
            disk.wait_for_in_flight(1).unwrap();
            disk.resume().unwrap();
            write.join().unwrap().unwrap();
        });
        disk.wait_for_in_flight(0).unwrap();
    }
}

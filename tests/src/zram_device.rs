//! A zram device: the bio-mode disk that a host without ZFS can make.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

const CONTROL: &str = "/sys/class/zram-control";

/// A zram device of its own, removed when dropped.
#[derive(Debug)]
pub struct ZramDevice {
    number: u32,
}

impl ZramDevice {
    /// A device of `bytes` (rounded up to whole pages by the kernel).
    pub fn new(bytes: u64) -> Result<Self> {
        // Reading this file makes a device and returns its number (drivers/block/zram).
        let number = fs::read_to_string(Path::new(CONTROL).join("hot_add"))
            .context("cannot add a zram device")?;
        let device = Self {
            number: number.trim().parse()?,
        };
        let size = Path::new("/sys/block").join(device.name()).join("disksize");
        fs::write(size, bytes.to_string()).context("cannot size the zram device")?;
        Ok(device)
    }

    /// Kernel name: `zram1`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("zram{}", self.number)
    }

    /// Device node.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(self.name())
    }
}

impl Drop for ZramDevice {
    fn drop(&mut self) {
        // Busy as long as anybody (a prober, say) has it open; it never stays so for long.
        for _ in 0..50 {
            if fs::write(
                Path::new(CONTROL).join("hot_remove"),
                self.number.to_string(),
            )
            .is_ok()
            {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed: it is in use", self.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::{Need, live};

    #[test]
    fn a_zram_device_is_gone_when_it_is_dropped() {
        if !live(&[Need::Zram]) {
            return;
        }
        let device = ZramDevice::new(16 << 20).unwrap();
        let sysfs = Path::new("/sys/block").join(device.name());
        assert_eq!(
            fs::read_to_string(sysfs.join("size")).unwrap().trim(),
            "32768"
        );
        drop(device);
        assert!(!sysfs.exists());
    }
}

//! Pools and zvols of the tests. Every zvol goes when its value goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::harness::wait_until;
use crate::kstat;
use crate::program;

/// The pool that most tests share, on a file in memory.
pub(crate) const POOL: &str = "tank";
const RAIDZ2: &str = "parity";
const ROOMY: &str = "roomy";

const BLK_MQ: &str = "/sys/module/zfs/parameters/zvol_use_blk_mq";

/// How a zvol takes its I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// bios.
    Bio,
    /// Requests, from ZFS 2.2.1 on.
    BlkMq,
}

impl Mode {
    /// As the report names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bio => "bio",
            Self::BlkMq => "blk-mq",
        }
    }
}

/// Whether this ZFS can make blk-mq zvols; why not.
pub(crate) fn blk_mq_missing() -> Option<String> {
    (!Path::new(BLK_MQ).exists()).then(|| {
        let version = fs::read_to_string("/sys/module/zfs/version").unwrap_or_default();
        format!(
            "ZFS {} has no blk-mq zvols (zvol_use_blk_mq came with 2.2.1)",
            version.trim()
        )
    })
}

/// The shared pool, made by whoever comes first.
pub(crate) fn pool() -> Result<&'static str> {
    if !kstat::folder(POOL).exists() {
        create_pool(POOL, &[], &[1 << 30])?;
    }
    Ok(POOL)
}

/// A pool with room for what ZFS sets aside: 24 times the dirty data (`spa_asize_inflation`). With
/// less, a write finds no room and ends the open group (`dmu_tx_quota` of the kstat `dmu_tx`), which
/// no real pool is that small for. What is freed leaves the memory again.
pub(crate) fn roomy() -> Result<&'static str> {
    if !kstat::folder(ROOMY).exists() {
        create_pool(ROOMY, &[], &[8 << 30])?;
        program::run("zpool", &["set", "autotrim=on", ROOMY])?;
    }
    Ok(ROOMY)
}

/// A pool of one RAIDZ2 vdev of six disks, made by whoever comes first.
pub(crate) fn raidz2() -> Result<&'static str> {
    if !kstat::folder(RAIDZ2).exists() {
        create_pool(RAIDZ2, &["raidz2"], &[128 << 20; 6])?;
    }
    Ok(RAIDZ2)
}

/// A pool on sparse files in memory.
fn create_pool(name: &str, layout: &[&str], sizes: &[u64]) -> Result<()> {
    let files = (0..sizes.len()).map(|n| format!("/tmp/{name}.{n}.pool"));
    let files: Vec<String> = files.collect();
    for (file, bytes) in files.iter().zip(sizes) {
        fs::File::create(file)?.set_len(*bytes)?;
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let create = ["create", "-f", "-o", "ashift=12", "-O", "compression=off"];
    program::run("zpool", &[&create[..], &[name], layout, &files].concat())
}

/// A zvol and its disk.
#[derive(Debug)]
pub(crate) struct Zvol {
    /// Dataset.
    pub(crate) dataset: String,
    /// Kernel name of its disk.
    pub(crate) disk: String,
    kept: bool,
}

impl Zvol {
    /// A zvol in the shared pool.
    pub(crate) fn create(name: &str, bytes: u64, block: &str, mode: Mode) -> Result<Self> {
        Self::create_in(pool()?, name, bytes, block, mode)
    }

    /// A zvol in a pool.
    pub(crate) fn create_in(
        pool: &str,
        name: &str,
        bytes: u64,
        block: &str,
        mode: Mode,
    ) -> Result<Self> {
        let dataset = format!("{pool}/{name}");
        // Read when the disk is made.
        if Path::new(BLK_MQ).exists() {
            fs::write(BLK_MQ, if mode == Mode::BlkMq { "1" } else { "0" })?;
        }
        let block = format!("volblocksize={block}");
        program::run(
            "zfs",
            &["create", "-V", &bytes.to_string(), "-o", &block, &dataset],
        )?;
        let disk = disk_of(&dataset)?;
        Ok(Self {
            dataset,
            disk,
            kept: false,
        })
    }

    /// Device node.
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.disk)
    }

    /// Folder in sysfs.
    pub(crate) fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(&self.disk)
    }

    /// Destroys it now.
    pub(crate) fn destroy(mut self) -> Result<()> {
        self.kept = true;
        destroy(&self.dataset)?;
        // From ZFS 2.0 on the disk goes in a worker, after the command has returned.
        wait_until("the disk to go", Duration::from_mins(1), || {
            !self.sysfs().exists()
        })
    }

    /// Renames it; its disk stays.
    pub(crate) fn rename(&mut self, name: &str) -> Result<()> {
        let dataset = format!("{POOL}/{name}");
        program::run("zfs", &["rename", &self.dataset, &dataset])?;
        self.dataset = dataset;
        disk_of(&self.dataset).map(drop)
    }
}

impl Drop for Zvol {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = destroy(&self.dataset)
        {
            println!("  | {error:#}");
        }
    }
}

fn destroy(dataset: &str) -> Result<()> {
    // udev may still look at the disk, which makes it busy.
    program::run("udevadm", &["settle"])?;
    program::run("zfs", &["destroy", "-R", dataset])
}

/// The disk behind a dataset, once udev has made its link.
pub(crate) fn disk_of(dataset: &str) -> Result<String> {
    let link = Path::new("/dev/zvol").join(dataset);
    program::run("udevadm", &["settle"])?;
    wait_until(
        &format!("{}", link.display()),
        Duration::from_mins(1),
        || link.exists(),
    )?;
    let target = fs::canonicalize(&link)?;
    let name = target.file_name().context("the link leads nowhere")?;
    Ok(name.to_string_lossy().into_owned())
}

/// A property as `zfs get` prints it, in exact numbers.
pub(crate) fn property(dataset: &str, name: &str) -> Result<String> {
    let text = program::output("zfs", &["get", "-Hp", "-o", "value", name, dataset])?;
    Ok(text.trim().to_owned())
}

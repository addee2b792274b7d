//! Collects small real captures for the tests that run without machines. Asked for by name.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::Result;
use zvoltrace_tests::plan::{Plan, Step};

use super::Quiet;
use crate::blktrace::Blktrace;
use crate::harness::{Outcome, Test};
use crate::kstat;
use crate::program;
use crate::results;
use crate::zfs::{Mode, POOL, Zvol, blk_mq_missing, disk_of, property};

pub(super) const TESTS: &[Test] = &[Test::on_demand("collect_fixtures", collect)];

/// Files of a disk that the tool reads, below `/sys/block/<disk>`.
const DISK_FILES: [&str; 13] = [
    "dev",
    "size",
    "ro",
    "stat",
    "diskseq",
    "mq/0/cpu_list",
    "queue/physical_block_size",
    "queue/logical_block_size",
    "queue/discard_granularity",
    "queue/optimal_io_size",
    "queue/max_sectors_kb",
    "queue/write_cache",
    "queue/iostats",
];

fn collect() -> Result<Outcome> {
    let plain = Zvol::create("vm-101-disk-0", 64 << 20, "64K", Mode::Bio)?;
    let _blank = Zvol::create("base-102-disk-1", 32 << 20, "8K", Mode::Bio)?;
    blktrace("bio", &plain)?;
    if blk_mq_missing().is_none() {
        let requests = Zvol::create("vm-103-disk-0", 64 << 20, "16K", Mode::BlkMq)?;
        blktrace("blk-mq", &requests)?;
        tree()?;
        requests.destroy()?;
    } else {
        tree()?;
    }
    fs::copy(
        "/sys/kernel/btf/vmlinux",
        results::folder("")?.join("vmlinux.btf"),
    )?;
    Ok(Outcome::Ok)
}

/// A traced workload, with what is known of it beside it.
fn blktrace(name: &str, zvol: &Zvol) -> Result<()> {
    let folder = results::folder(&format!("blktrace-{name}"))?;
    let quiet = Quiet::begin()?;
    let trace = Blktrace::start(&zvol.disk, &folder)?;
    let mut plan = Plan::random_writes(11, 60, 8192, 32 << 20);
    plan.steps
        .retain(|step| !matches!(step, Step::Write { offset: 0, .. }));
    for index in 1..=10 {
        plan.steps.push(Step::WriteDurable {
            offset: index << 20,
            len: 16 << 10,
        });
        plan.steps.push(Step::Flush);
        plan.steps.push(Step::Read {
            offset: index << 20,
            len: 32 << 10,
        });
        plan.steps.push(Step::Discard {
            offset: (32 << 20) + (index << 20),
            len: 128 << 10,
        });
    }
    plan.run(&zvol.path())?;
    trace.stop()?;
    drop(quiet);
    let text = program::command("blkparse")
        .args(["-q", "-i", &zvol.disk])
        .current_dir(&folder)
        .output()?;
    fs::write(folder.join("blkparse.txt"), text.stdout)?;
    let queue = zvoltrace_tests::queue::Queue::read(&zvol.disk)?;
    fs::write(
        folder.join("expected.txt"),
        format!("{:#?}\n", plan.expected(&queue)),
    )?;
    Ok(())
}

/// The parts of /sys, /dev and /proc that the tool reads.
fn tree() -> Result<()> {
    let root = results::folder("root")?;
    for entry in fs::read_dir("/sys/block")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("zd") {
            continue;
        }
        let disk = entry.path();
        for file in DISK_FILES {
            copy(
                &disk.join(file),
                &root.join("sys/block").join(&name).join(file),
            )?;
        }
    }
    for name in [
        "version",
        "parameters/zvol_use_blk_mq",
        "parameters/zfs_txg_timeout",
        "parameters/zvol_major",
    ] {
        copy(
            &Path::new("/sys/module/zfs").join(name),
            &root.join("sys/module/zfs").join(name),
        )?;
    }
    for name in ["proc/devices", "proc/sys/kernel/osrelease"] {
        copy(&Path::new("/").join(name), &root.join(name))?;
    }
    let links = root.join("dev/zvol").join(POOL);
    fs::create_dir_all(&links)?;
    for entry in fs::read_dir(Path::new("/dev/zvol").join(POOL))?.flatten() {
        symlink(fs::read_link(entry.path())?, links.join(entry.file_name()))?;
    }
    for name in ["state", "txgs"] {
        copy(
            &kstat::folder(POOL).join(name),
            &root.join("proc/spl/kstat/zfs").join(POOL).join(name),
        )?;
    }
    let mut said = String::new();
    for entry in fs::read_dir(Path::new("/dev/zvol").join(POOL))?.flatten() {
        let dataset = format!("{POOL}/{}", entry.file_name().to_string_lossy());
        let (path, _) = kstat::objset_file(&dataset)?;
        copy(&path, &root.join(path.strip_prefix("/")?))?;
        writeln!(
            said,
            "{dataset} {} volblocksize {} volsize {}",
            disk_of(&dataset)?,
            property(&dataset, "volblocksize")?,
            property(&dataset, "volsize")?
        )?;
    }
    fs::write(results::folder("")?.join("zfs-get.txt"), said)?;
    Ok(())
}

/// Copies a file of a kernel file system; one that this kernel lacks is left out.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(to, fs::read(from)?)?;
    Ok(())
}

//! From the initial RAM disk to a running system: drivers, the root file system, kernel file
//! systems, udev, ZFS.

use std::ffi::CStr;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{chdir, chroot};
use rustix::system::finit_module;

use crate::harness::wait_until;
use crate::program;

const ROOT_DISK: &str = "/dev/vda";

/// Kernel file systems of the final root; those that an old kernel lacks are left out.
const FILE_SYSTEMS: [(&CStr, &str); 9] = [
    (c"proc", "/proc"),
    (c"sysfs", "/sys"),
    (c"tmpfs", "/run"),
    (c"tmpfs", "/tmp"),
    (c"tmpfs", "/dev/shm"),
    (c"devpts", "/dev/pts"),
    (c"securityfs", "/sys/kernel/security"),
    (c"debugfs", "/sys/kernel/debug"),
    (c"tracefs", "/sys/kernel/tracing"),
];

/// Everything up to a running udev.
pub(crate) fn system() -> Result<()> {
    fs::create_dir_all("/dev")?;
    fs::create_dir_all("/root")?;
    mount_new(c"devtmpfs", "/dev")?;
    load_drivers()?;
    wait_until("the root disk", Duration::from_mins(1), || {
        Path::new(ROOT_DISK).exists()
    })?;
    mount(ROOT_DISK, "/root", c"ext4", MountFlags::NOATIME, None)
        .context("cannot mount the root file system")?;
    // The files of this run lie in the RAM disk, which is about to go out of sight.
    fs::create_dir_all("/root/t")?;
    mount_new(c"tmpfs", "/root/t")?;
    for entry in fs::read_dir("/t")? {
        let entry = entry?;
        fs::copy(entry.path(), Path::new("/root/t").join(entry.file_name()))?;
    }
    mount_move("/dev", "/root/dev")?;
    chdir("/root")?;
    mount_move(".", "/")?;
    chroot(".")?;
    chdir("/")?;
    for (kind, place) in FILE_SYSTEMS {
        if place.starts_with("/dev/") {
            fs::create_dir_all(place)?;
        }
        if let Err(error) = mount_new(kind, place)
            && kind != c"securityfs"
        {
            println!("zvoltrace-vm: {error:#}");
        }
    }
    let version = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    println!("zvoltrace-vm: kernel {}", version.trim());
    let udev = [
        "/lib/systemd/systemd-udevd",
        "/usr/lib/systemd/systemd-udevd",
    ]
    .into_iter()
    .find(|path| Path::new(path).exists())
    .context("the image has no udev")?;
    program::run(udev, &["--daemon"])?;
    Ok(())
}

/// Loads ZFS and says which.
pub(crate) fn zfs() -> Result<()> {
    let begin = Instant::now();
    program::run("modprobe", &["zfs"])?;
    let version = fs::read_to_string("/sys/module/zfs/version")?;
    println!(
        "zvoltrace-vm: ZFS {}, loaded in {} s",
        version.trim(),
        begin.elapsed().as_secs()
    );
    Ok(())
}

fn mount_new(kind: &CStr, place: &str) -> Result<()> {
    mount(kind, place, kind, MountFlags::empty(), None)
        .with_context(|| format!("cannot mount {} on {place}", kind.to_string_lossy()))
}

/// The modules in the RAM disk, in the order of their names.
fn load_drivers() -> Result<()> {
    let mut paths: Vec<_> = fs::read_dir("/modules")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        finit_module(File::open(&path)?, c"", 0)
            .with_context(|| format!("cannot load {}", path.display()))?;
    }
    Ok(())
}

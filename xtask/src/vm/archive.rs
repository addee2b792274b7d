//! The initial RAM file system: modules that reach the disk (built once) and, appended for each
//! run, PID 1, the binary under test and their inputs. The kernel unpacks archives that follow
//! each other into one tree.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use cpio::newc::Builder;

use crate::process;

/// Drivers between the kernel and its disk.
const DRIVERS: [&str; 3] = ["virtio_pci", "virtio_blk", "ext4"];

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// One archive in the making.
pub(crate) struct Archive<W: Write> {
    out: W,
    inode: u32,
}

impl<W: Write> Archive<W> {
    /// Starts an archive at the writer's position.
    pub(crate) fn new(out: W) -> Self {
        Self { out, inode: 0 }
    }

    /// Adds a folder; parents first.
    pub(crate) fn folder(&mut self, name: &str) -> Result<()> {
        self.entry(name, FOLDER, &[])
    }

    /// Adds an executable file.
    pub(crate) fn program(&mut self, name: &str, content: &[u8]) -> Result<()> {
        self.entry(name, PROGRAM, content)
    }

    /// Ends the archive.
    pub(crate) fn finish(self) -> Result<W> {
        Ok(cpio::newc::trailer(self.out)?)
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.inode += 1;
        let size = u32::try_from(content.len()).with_context(|| format!("{name} is too large"))?;
        let mut writer = Builder::new(name)
            .ino(self.inode)
            .nlink(1)
            .mode(mode)
            .write(&mut self.out, size);
        writer.write_all(content)?;
        writer.finish()?;
        Ok(())
    }
}

/// Writes the archive of the drivers of a root, in the order in which they load.
pub(crate) fn write_modules(root: &Path, kernel: &str, path: &Path) -> Result<()> {
    let listing = process::output(
        Command::new("chroot")
            .arg(root)
            .args(["modprobe", "-S", kernel, "--show-depends", "--all"])
            .args(DRIVERS),
    )?;
    let mut archive = Archive::new(fs::File::create(path)?);
    archive.folder("modules")?;
    for (index, module) in module_paths(&listing).into_iter().enumerate() {
        let file = root.join(module.trim_start_matches('/'));
        let content = decompressed(&file)?;
        archive.program(&format!("modules/{index:02}.ko"), &content)?;
    }
    archive.finish()?.sync_all()?;
    Ok(())
}

/// Module files in load order, each once; what is built in needs none.
fn module_paths(listing: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    for path in listing
        .lines()
        .filter_map(|line| line.strip_prefix("insmod "))
    {
        let path = path.trim();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn decompressed(file: &Path) -> Result<Vec<u8>> {
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    if file.extension().is_none_or(|extension| extension != "xz") {
        return Ok(content);
    }
    let output = Command::new("xz")
        .arg("-dc")
        .arg(file)
        .output()
        .context("cannot start xz")?;
    anyhow::ensure!(output.status.success(), "xz cannot read {}", file.display());
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::{Archive, module_paths};

    #[test]
    fn modules_keep_their_order_and_come_once() {
        let listing = "insmod /lib/a.ko \ninsmod /lib/b.ko.xz \nbuiltin ext4\ninsmod /lib/a.ko \n";
        assert_eq!(module_paths(listing), ["/lib/a.ko", "/lib/b.ko.xz"]);
    }

    #[test]
    fn an_archive_reads_back_and_ends_on_a_word() {
        let mut archive = Archive::new(Vec::new());
        archive.folder("t").expect("written");
        archive.program("t/init", b"12345").expect("written");
        let bytes = archive.finish().expect("finished");
        assert_eq!(bytes.len() % 4, 0);
        let reader = cpio::newc::Reader::new(bytes.as_slice()).expect("an archive");
        assert_eq!(reader.entry().name(), "t");
        let reader = cpio::newc::Reader::new(reader.finish().expect("next")).expect("an archive");
        assert_eq!(
            (reader.entry().name(), reader.entry().file_size()),
            ("t/init", 5)
        );
    }
}

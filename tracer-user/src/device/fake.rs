//! A fake host for tests: sysfs, `/dev` links and procfs below a temporary directory.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::Roots;

/// The directory; it goes away with this value.
pub(crate) struct FakeHost {
    directory: tempfile::TempDir,
}

impl FakeHost {
    /// A host without disks, whose zvols have the major 230.
    pub(crate) fn new() -> Self {
        // In memory where that is possible: some tests make tens of thousands of files.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let host = Self {
            directory: directory.unwrap(),
        };
        fs::create_dir_all(host.path("sys/block")).unwrap();
        fs::create_dir_all(host.path("dev")).unwrap();
        host.write(
            "proc/devices",
            "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n230 zvol\n259 blkext\n",
        );
        host
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::under(self.directory.path())
    }

    fn path(&self, path: impl AsRef<Path>) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    /// Writes a file, its directories included.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// A bio-mode zvol of 1 GiB with blocks of 64K. It is made aside and moved into place, so
    /// that its inode differs from that of one it replaces.
    pub(crate) fn zvol(&self, name: &str, minor: u32) {
        self.disk(name, 230, minor);
        self.write(
            &format!("sys/block/{name}/queue/physical_block_size"),
            "65536\n",
        );
    }

    /// A bio-mode disk of 1 GiB.
    pub(crate) fn disk(&self, name: &str, major: u32, minor: u32) {
        let aside = format!("aside-{name}");
        for (file, text) in [
            ("dev", format!("{major}:{minor}\n")),
            ("size", "2097152\n".to_owned()),
            ("ro", "0\n".to_owned()),
            ("queue/physical_block_size", "512\n".to_owned()),
        ] {
            self.write(&format!("{aside}/{file}"), &text);
        }
        fs::create_dir_all(self.path(format!("{aside}/slaves"))).unwrap();
        let place = format!("sys/block/{name}");
        if self.path(&place).exists() {
            self.rename(&place, &format!("gone-{name}"));
        }
        self.rename(&aside, &place);
    }

    pub(crate) fn blk_mq(&self, name: &str) {
        fs::create_dir_all(self.path(format!("sys/block/{name}/mq/0"))).unwrap();
    }

    pub(crate) fn partition(&self, disk: &str, number: u32, start: u64, sectors: u64) {
        let name = format!("{disk}p{number}");
        let path = format!("sys/block/{disk}/{name}");
        self.write(&format!("{path}/partition"), &format!("{number}\n"));
        self.write(&format!("{path}/start"), &format!("{start}\n"));
        self.write(&format!("{path}/size"), &format!("{sectors}\n"));
        self.symlink(
            &format!("../../block/{disk}/{name}"),
            &format!("sys/class/block/{name}"),
        );
    }

    pub(crate) fn symlink(&self, target: &str, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// The link of a dataset or of one of its partitions, as udev makes it.
    pub(crate) fn link(&self, dataset: &str, device: &str) {
        let up = "../".repeat(dataset.matches('/').count() + 1);
        self.symlink(&format!("{up}{device}"), &format!("dev/zvol/{dataset}"));
        if !self.path(format!("dev/{device}")).exists() {
            self.write(&format!("dev/{device}"), "");
        }
    }
}

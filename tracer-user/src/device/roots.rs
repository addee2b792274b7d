//! Where the host's pseudo file systems are, and how one of their files is read.
//!
//! Everything that learns about the host goes through [`Roots`], so a test can lay out a fake
//! tree. Nothing here opens a block device.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// Mount points of sysfs, devtmpfs and procfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
}

impl Roots {
    /// The running system.
    #[must_use]
    pub fn system() -> Self {
        Self::under("/")
    }

    /// `sys`, `dev` and `proc` below a directory.
    #[must_use]
    pub fn under(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self {
            sys: path.join("sys"),
            dev: path.join("dev"),
            proc: path.join("proc"),
        }
    }

    /// Directory of a disk (never of a partition) in sysfs.
    #[must_use]
    pub fn disk(&self, name: &str) -> PathBuf {
        self.sys.join("block").join(name)
    }
}

/// Longest pseudo file that [`read_word`] takes: an attribute of sysfs is at most a page
/// (Documentation/filesystems/sysfs.rst).
const ATTRIBUTE_BYTES: usize = 4096;

/// Content of an attribute, trimmed; `None` when it is not there, not readable, empty, or the
/// object behind it is going away.
pub(crate) fn read_word(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut buffer = [0_u8; ATTRIBUTE_BYTES];
    let length = file.read(&mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..length]).ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number from an attribute; `None` as with [`read_word`] or when it is no number.
pub(crate) fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_word(path)?.parse().ok()
}

/// Content of a pseudo file of unknown length, at most `limit_bytes` of it.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit_bytes)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

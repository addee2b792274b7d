//! The cache of machines, outside the checkout: what is in it, whether it is whole, and how an
//! entry is replaced. An entry is built under a temporary name and renamed when it is complete,
//! so whatever has its final name was complete once; digests notice what happened later.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use sha2::{Digest as _, Sha256};

use crate::workspace;

use super::suite::Suite;

/// Overrides where the cache lies.
const CACHE_VARIABLE: &str = "ZVOLTRACE_CACHE";
const MANIFEST: &str = "manifest.json";

/// Files of an entry.
pub(crate) const KERNEL: &str = "vmlinuz";
/// Archive of the modules that reach the disk.
pub(crate) const MODULES: &str = "modules.cpio";
/// The root file system.
pub(crate) const DISK: &str = "disk.img";

/// What an entry was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Debian's name of the suite.
    pub(crate) suite: String,
    /// Digest of the scripts and lists that built it.
    pub(crate) recipe: String,
    /// Versions that decide what it is, by package.
    pub(crate) versions: BTreeMap<String, String>,
    /// SHA-256 of the entry's files, by name; filled in when it is complete.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

/// A complete entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// What it was built from.
    pub(crate) manifest: Manifest,
}

impl Entry {
    /// Path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The cache's folder; made when missing.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = match std::env::var_os(CACHE_VARIABLE) {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => workspace::home()?.join(".cache/zvoltrace"),
    }
    .join("vm");
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the cache {}", folder.display()))?;
    Ok(folder)
}

/// A suite's place in the cache, held by this process alone while it lives.
#[derive(Debug)]
pub(crate) struct Slot {
    suite: Suite,
    folder: PathBuf,
    _lock: File,
}

impl Slot {
    /// Takes the suite's place: waits for another process that holds it, and drops what one
    /// that was killed left behind.
    pub(crate) fn take(suite: Suite) -> Result<Self> {
        let folder = folder()?;
        let lock = File::create(folder.join(format!("{}.lock", suite.name())))?;
        if lock.try_lock().is_err() {
            eprintln!("{}: waiting for another process that uses it", suite.name());
            lock.lock()?;
        }
        let slot = Self {
            suite,
            folder,
            _lock: lock,
        };
        let temporary = slot.temporary();
        if temporary.exists() {
            fs::remove_dir_all(&temporary)
                .with_context(|| format!("cannot clear {}", temporary.display()))?;
        }
        fs::create_dir_all(&temporary)?;
        Ok(slot)
    }

    /// Whose it is.
    pub(crate) fn suite(&self) -> Suite {
        self.suite
    }

    /// Folder for things that may vanish.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.join(format!("{}.tmp", self.suite.name()))
    }

    /// A file or folder of the suite that stays between runs.
    pub(crate) fn lasting(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}.{what}", self.suite.name()))
    }

    /// A whole entry that was built by `recipe`; a broken one is reported and removed.
    pub(crate) fn find(&self, recipe: &str) -> Result<Option<Entry>> {
        for folder in self.folders()? {
            match read(&folder) {
                Ok(manifest) if manifest.recipe == recipe => {
                    return Ok(Some(Entry { folder, manifest }));
                }
                Ok(_) => {}
                Err(error) => {
                    eprintln!(
                        "{} is broken and will be rebuilt: {error:#}",
                        folder.display()
                    );
                    fs::remove_dir_all(&folder)?;
                }
            }
        }
        Ok(None)
    }

    /// Makes the entry of `manifest` from a folder that holds its files, and drops older
    /// entries of the same suite.
    pub(crate) fn adopt(&self, built: &Path, mut manifest: Manifest) -> Result<Entry> {
        let versions = serde_json::to_string(&manifest.versions)?;
        let key = digest(&[manifest.recipe.as_bytes(), versions.as_bytes()].concat());
        for name in [KERNEL, MODULES, DISK] {
            manifest
                .files
                .insert(name.to_owned(), file_digest(&built.join(name))?);
        }
        fs::write(
            built.join(MANIFEST),
            serde_json::to_string_pretty(&manifest)?,
        )?;
        let folder = self
            .folder
            .join(format!("{}-{}", self.suite.name(), &key[..12]));
        let older = self.folders()?;
        for old in older {
            fs::remove_dir_all(&old)?;
        }
        fs::rename(built, &folder)?;
        Ok(Entry { folder, manifest })
    }

    fn folders(&self) -> Result<Vec<PathBuf>> {
        let prefix = format!("{}-", self.suite.name());
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }
}

/// Reads an entry's manifest, once its files are those that were built.
fn read(folder: &Path) -> Result<Manifest> {
    let text = fs::read_to_string(folder.join(MANIFEST)).context("it has no manifest")?;
    let manifest: Manifest = serde_json::from_str(&text).context("its manifest is damaged")?;
    for name in [KERNEL, MODULES, DISK] {
        let built = manifest.files.get(name);
        if built != Some(&file_digest(&folder.join(name))?) {
            bail!("{name} is not what was built");
        }
    }
    Ok(manifest)
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

fn file_digest(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(hasher)),
            bytes => hasher.update(&buffer[..bytes]),
        }
    }
}

fn hexadecimal(hasher: Sha256) -> String {
    hasher
        .finalize()
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::{DISK, KERNEL, MODULES, Manifest, Slot, Suite, read};

    #[test]
    fn an_entry_with_one_changed_byte_or_a_missing_file_is_broken() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let suite = Suite::Trixie;
        let slot = Slot {
            suite,
            folder: root.path().to_owned(),
            _lock: tempfile::tempfile().expect("a temporary file"),
        };
        let manifest = Manifest {
            suite: suite.name().to_owned(),
            recipe: "r".to_owned(),
            versions: [("zfs-dkms".to_owned(), "2.3.9".to_owned())].into(),
            files: [].into(),
        };
        let build = || {
            let built = root.path().join("tmp-build");
            std::fs::create_dir(&built).expect("made");
            for name in [KERNEL, MODULES, DISK] {
                std::fs::write(built.join(name), name).expect("written");
            }
            slot.adopt(&built, manifest.clone()).expect("adopted")
        };
        let entry = build();
        assert_eq!(
            read(&entry.folder).expect("whole").versions,
            manifest.versions
        );
        assert!(slot.find("another recipe").expect("readable").is_none());
        assert!(slot.find("r").expect("readable").is_some());

        std::fs::write(entry.file(DISK), "dIsk.img").expect("written");
        assert!(slot.find("r").expect("readable").is_none());
        assert!(!entry.folder.exists());

        let entry = build();
        std::fs::remove_file(entry.file(KERNEL)).expect("removed");
        assert!(slot.find("r").expect("readable").is_none());
    }
}

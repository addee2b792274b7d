//! Dataset names, from the links below `/dev/zvol` that udev makes.
//!
//! Owns a picture of that tree and keeps it fresh: a directory is listed again only when its
//! modification time moved, and in it only a link whose inode is new is read. It never opens
//! what a link points to.

use std::{
    collections::{HashMap, HashSet},
    fs,
    os::unix::fs::DirEntryExt,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use super::partition;

/// Most links that are remembered. One takes about 350 B, so the tree
/// at most 22 MiB.
const MAX_LINKS: usize = 65_536;
/// Deepest nesting of datasets that is followed (ZFS: `zfs_max_dataset_nesting`, 50).
const MAX_DEPTH: usize = 52;
/// A directory that changed this recently may change again under the same coarse time stamp:
/// it is listed again.
const SETTLED: Duration = Duration::from_secs(2);
/// How long a link is distrusted that was there before its disk was replaced. If udev has not
/// remade it by then, the new disk has the same name as the old one.
const DISTRUST: Duration = Duration::from_secs(3);

/// One link.
#[derive(Clone, Debug)]
struct Link {
    inode: u64,
    /// Kernel name it points to, disk or partition.
    target: String,
    /// Not believed before this moment.
    distrusted_until: Option<Instant>,
}

/// One directory below `/dev/zvol`.
#[derive(Clone, Debug, Default)]
struct Directory {
    modified: Option<SystemTime>,
    links: HashMap<String, Link>,
    subdirectories: Vec<String>,
}

/// Every link below `/dev/zvol`.
#[derive(Clone, Debug)]
pub(super) struct ZvolLinks {
    root: PathBuf,
    /// By path below the root; the root itself is the empty path.
    directories: HashMap<PathBuf, Directory>,
    /// Kernel name of a disk to its dataset, made from the above.
    datasets: HashMap<String, String>,
    count: usize,
    any_distrusted: bool,
}

impl ZvolLinks {
    /// Reads the whole tree once.
    #[must_use]
    pub(super) fn read(dev: &Path) -> Self {
        let mut links = Self {
            root: dev.join("zvol"),
            directories: HashMap::new(),
            datasets: HashMap::new(),
            count: 0,
            any_distrusted: false,
        };
        links.refresh(Instant::now());
        links
    }

    /// The dataset of a disk, by its kernel name.
    #[must_use]
    pub(super) fn dataset(&self, disk: &str) -> Option<&str> {
        self.datasets.get(disk).map(String::as_str)
    }

    /// Reads again what changed; gives the kernel names of the disks whose dataset is another
    /// now, a disk that lost its link included. Without a change it costs one `stat` a
    /// directory.
    pub(super) fn refresh(&mut self, now: Instant) -> Vec<String> {
        let mut dirty = self.any_distrusted;
        let mut pending = vec![(PathBuf::new(), 0)];
        let mut alive = Vec::new();
        while let Some((path, depth)) = pending.pop() {
            let absolute = self.root.join(&path);
            let Ok(modified) = fs::metadata(&absolute).and_then(|meta| meta.modified()) else {
                continue;
            };
            let known = self.directories.get(&path);
            let current = known.is_some_and(|directory| directory.modified == Some(modified));
            if !current {
                self.list(&path, &absolute, modified);
                dirty = true;
            }
            if let Some(directory) = self.directories.get(&path)
                && depth < MAX_DEPTH
            {
                for name in &directory.subdirectories {
                    pending.push((path.join(name), depth + 1));
                }
            }
            alive.push(path);
        }
        if self.directories.len() != alive.len() {
            let alive: HashSet<_> = alive.into_iter().collect();
            self.directories.retain(|path, directory| {
                let keep = alive.contains(path);
                if !keep {
                    self.count -= directory.links.len();
                }
                keep
            });
            dirty = true;
        }
        if dirty { self.rebuild(now) } else { Vec::new() }
    }

    /// Stops believing the links to disks that have just gone or been replaced: they name the
    /// old ones until udev remakes them.
    pub(super) fn distrust(&mut self, disks: &HashSet<&str>, now: Instant) {
        if disks.is_empty() {
            return;
        }
        for directory in self.directories.values_mut() {
            for link in directory.links.values_mut() {
                if disks.contains(partition::disk_of(&link.target)) {
                    link.distrusted_until = Some(now + DISTRUST);
                    self.any_distrusted = true;
                }
            }
        }
        self.datasets
            .retain(|disk, _| !disks.contains(disk.as_str()));
    }

    /// Lists one directory, keeping what it knew of the links whose inode is the same.
    fn list(&mut self, path: &Path, absolute: &Path, modified: SystemTime) {
        let mut old = self.directories.remove(path).unwrap_or_default();
        self.count -= old.links.len();
        let mut new = Directory::default();
        for entry in fs::read_dir(absolute).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if kind.is_dir() {
                new.subdirectories.push(name);
            } else if kind.is_symlink() && self.count + new.links.len() < MAX_LINKS {
                let link = match old.links.remove(&name) {
                    Some(link) if link.inode == entry.ino() => Some(link),
                    _ => read_target(&entry.path()).map(|target| Link {
                        inode: entry.ino(),
                        target,
                        distrusted_until: None,
                    }),
                };
                if let Some(link) = link {
                    new.links.insert(name, link);
                }
            }
        }
        // The stamp is that from before the listing, and one too young to be told from a later
        // change is not kept.
        let age = SystemTime::now().duration_since(modified);
        new.modified = age.is_ok_and(|age| age >= SETTLED).then_some(modified);
        self.count += new.links.len();
        self.directories.insert(path.to_owned(), new);
    }

    /// Makes the map from disks to datasets anew and says which differ.
    fn rebuild(&mut self, now: Instant) -> Vec<String> {
        let mut datasets: HashMap<String, String> = HashMap::new();
        self.any_distrusted = false;
        for (path, directory) in &mut self.directories {
            for (name, link) in &mut directory.links {
                if link.distrusted_until.is_some_and(|until| now < until) {
                    self.any_distrusted = true;
                    continue;
                }
                link.distrusted_until = None;
                if partition::disk_of(&link.target) != link.target {
                    // A partition's link adds nothing: the disk has its own.
                    continue;
                }
                let dataset = dataset_of(path, name);
                // Of two links to one disk (a rename that udev has not finished) the choice is
                // the same every time.
                datasets
                    .entry(link.target.clone())
                    .and_modify(|chosen| {
                        if *chosen < dataset {
                            chosen.clone_from(&dataset);
                        }
                    })
                    .or_insert(dataset);
            }
        }
        let mut changed: Vec<String> = datasets
            .iter()
            .filter(|(disk, dataset)| self.datasets.get(*disk) != Some(dataset))
            .map(|(disk, _)| disk.clone())
            .collect();
        changed.extend(
            self.datasets
                .keys()
                .filter(|disk| !datasets.contains_key(*disk))
                .cloned(),
        );
        changed.sort_unstable();
        self.datasets = datasets;
        changed
    }
}

/// Kernel name that a link points to (`../../zd16`).
fn read_target(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

/// Dataset of a link: its path below `/dev/zvol`, with udev's `+` turned back into the blank
/// it stands for (a `+` is not allowed in a dataset's name; OpenZFS `udev/zvol_id.c`).
fn dataset_of(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    path.to_string_lossy().replace('+', " ")
}

//! Which disks a command is about: the patterns of `-d/--device` and of the positionals.
//!
//! A pattern is one of four things, told apart by its slashes:
//! - no slash: a kernel name or a glob of kernel names (`zd16`, `zd*`); a partition's name
//!   stands for its disk. It never matches a dataset: a zvol's dataset always has a slash;
//! - `/dev/zvol/...`: the dataset of that link (a glob too; `+` is a blank, `-partN` stands
//!   for the disk);
//! - another path below `/dev`: the disk behind it, partitions resolved to their disk; it must
//!   exist, except `/dev/NAME`, which is the kernel name `NAME` and may come later;
//! - any other text with a slash: a dataset or a glob of datasets. `*` stays within one level,
//!   `**` crosses levels (`tank/vm-*`, `tank/**`, `**/vm-100-*`).
//!
//! Nothing here opens a device: paths are resolved by their links and numbers.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use globset::{GlobBuilder, GlobMatcher};

use super::{Disk, disk, partition, roots::Roots};

/// What is selected when no pattern is given.
pub const DEFAULT_PATTERN: &str = "zd*";
/// Disks that an error names before it says how many more there are.
const NAMED_DISKS: usize = 8;

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SelectorError {
    /// Nothing in it.
    #[error(
        "the device pattern is empty: give a kernel name (zd16), a glob ('zd*'), a /dev path or a dataset (tank/vm-1)"
    )]
    Empty,
    /// Not a glob.
    #[error(
        "'{pattern}' is not a valid pattern: {cause}; put a backslash before a bracket or brace that is meant literally"
    )]
    BadGlob {
        /// As given.
        pattern: String,
        /// What the glob compiler says.
        cause: String,
    },
    /// A path that is not there.
    #[error(
        "{path} does not exist; for a disk that comes later give its kernel name ('zd*') or its dataset"
    )]
    NoSuchPath {
        /// As given.
        path: String,
    },
    /// A path that is there, but no block device.
    #[error("{path} is not a block device; give a path such as /dev/zd0 or /dev/zvol/tank/vm-1")]
    NotABlockDevice {
        /// As given.
        path: String,
    },
    /// A path outside of `/dev`.
    #[error("{path} is not below /dev; a dataset is written without a leading slash (tank/vm-1)")]
    NotBelowDev {
        /// As given.
        path: String,
    },
}

#[derive(Clone, Debug)]
enum Matcher {
    /// Exact kernel name of a disk or of one of its partitions.
    Name(String),
    NameGlob(GlobMatcher),
    /// Exact datasets, any of them.
    Datasets(Vec<String>),
    DatasetGlob(GlobMatcher),
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    matcher: Matcher,
}

/// A set of patterns; a disk is selected when one matches.
#[derive(Clone, Debug)]
pub struct Selector {
    patterns: Vec<Pattern>,
}

impl Selector {
    /// Compiles patterns; none at all means [`DEFAULT_PATTERN`]. Paths are resolved now.
    pub fn new<S: AsRef<str>>(roots: &Roots, patterns: &[S]) -> Result<Self, SelectorError> {
        let mut compiled: Vec<Pattern> = Vec::new();
        for pattern in patterns {
            compiled.push(compile(roots, pattern.as_ref().trim())?);
        }
        if compiled.is_empty() {
            compiled.push(compile(roots, DEFAULT_PATTERN)?);
        }
        Ok(Self { patterns: compiled })
    }

    /// Whether a disk is selected.
    #[must_use]
    pub fn matches(&self, disk: &Disk) -> bool {
        self.picks(&disk.name, disk.dataset.as_deref())
    }

    /// Whether a disk of that kernel name and dataset is selected.
    #[must_use]
    pub fn picks(&self, name: &str, dataset: Option<&str>) -> bool {
        self.patterns
            .iter()
            .any(|pattern| pattern.matcher.picks(name, dataset))
    }

    /// The patterns, as given.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// The patterns that match none of these disks, as given.
    #[must_use]
    pub fn unmatched(&self, disks: &[Disk]) -> Vec<&str> {
        self.patterns
            .iter()
            .filter(|pattern| {
                !disks
                    .iter()
                    .any(|disk| pattern.matcher.picks(&disk.name, disk.dataset.as_deref()))
            })
            .map(|pattern| pattern.text.as_str())
            .collect()
    }

    /// What to tell when no disk, or none for some pattern, is selected out of `here` (every
    /// disk of the host); `None` when every pattern matches.
    #[must_use]
    pub fn absence(&self, here: &[Disk]) -> Option<String> {
        let unmatched = self.unmatched(here);
        let first = unmatched.first()?;
        let patterns = unmatched
            .iter()
            .map(|pattern| format!("'{pattern}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let mut message = format!("no disk matches {patterns}; ");
        message.push_str(&present(here));
        let volume = here.iter().filter_map(|disk| disk.dataset.as_deref());
        if !first.contains('/')
            && volume
                .clone()
                .any(|name| name.rsplit('/').next() == Some(first))
        {
            message.push_str("; a dataset is matched by its full name or as '**/");
            message.push_str(first);
            message.push('\'');
        }
        Some(message)
    }
}

/// The disks of a host in a line, zvols first.
fn present(here: &[Disk]) -> String {
    if here.is_empty() {
        return "this host has none".to_owned();
    }
    let mut disks: Vec<&Disk> = here.iter().collect();
    disks.sort_by_key(|disk| (!disk.is_zvol, disk.rank()));
    let named = disks
        .iter()
        .take(NAMED_DISKS)
        .map(|disk| match &disk.dataset {
            Some(dataset) => format!("{} ({dataset})", disk.name),
            None => disk.name.clone(),
        })
        .collect::<Vec<_>>()
        .join(", ");
    match disks.len().saturating_sub(NAMED_DISKS) {
        0 => format!("this host has {named}"),
        more => format!("this host has {named} and {more} more ('zvoltrace list')"),
    }
}

impl Matcher {
    fn picks(&self, name: &str, dataset: Option<&str>) -> bool {
        match self {
            Self::Name(wanted) => wanted == name || partition::number_of(wanted, name).is_some(),
            Self::NameGlob(glob) => glob.is_match(name),
            Self::Datasets(wanted) => {
                dataset.is_some_and(|dataset| wanted.iter().any(|wanted| wanted == dataset))
            }
            Self::DatasetGlob(glob) => dataset.is_some_and(|dataset| glob.is_match(dataset)),
        }
    }
}

fn compile(roots: &Roots, text: &str) -> Result<Pattern, SelectorError> {
    if text.is_empty() {
        return Err(SelectorError::Empty);
    }
    let matcher = if let Some(link) = text.strip_prefix("/dev/zvol/") {
        zvol_link(roots, text, link)?
    } else if let Some(rest) = text.strip_prefix("/dev/") {
        dev_path(roots, text, rest)?
    } else if text.starts_with('/') {
        return Err(SelectorError::NotBelowDev {
            path: text.to_owned(),
        });
    } else if text.contains('/') {
        dataset(text, text)?
    } else {
        kernel_name(text, text)?
    };
    Ok(Pattern {
        text: text.to_owned(),
        matcher,
    })
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

fn glob(pattern: &str, text: &str) -> Result<GlobMatcher, SelectorError> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| SelectorError::BadGlob {
            pattern: pattern.to_owned(),
            cause: error.kind().to_string(),
        })
}

fn kernel_name(pattern: &str, text: &str) -> Result<Matcher, SelectorError> {
    if is_glob(text) {
        Ok(Matcher::NameGlob(glob(pattern, text)?))
    } else {
        Ok(Matcher::Name(text.to_owned()))
    }
}

fn dataset(pattern: &str, text: &str) -> Result<Matcher, SelectorError> {
    if is_glob(text) {
        Ok(Matcher::DatasetGlob(glob(pattern, text)?))
    } else {
        Ok(Matcher::Datasets(vec![text.to_owned()]))
    }
}

/// A link below `/dev/zvol`. What it points to now says whether `-partN` is a partition or
/// part of the dataset's name; while it is not there, both are possible.
fn zvol_link(roots: &Roots, pattern: &str, link: &str) -> Result<Matcher, SelectorError> {
    let name = link.replace('+', " ");
    if is_glob(&name) {
        return dataset(pattern, &name);
    }
    let volume = name
        .rsplit_once("-part")
        .filter(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map(|(volume, _)| volume.to_owned());
    let target = fs::read_link(roots.dev.join("zvol").join(link))
        .ok()
        .and_then(|target| target.file_name()?.to_str().map(str::to_owned));
    let datasets = match (volume, target) {
        (Some(volume), None) => vec![name, volume],
        (Some(volume), Some(target)) if partition::disk_of(&target) != target => vec![volume],
        (_, _) => vec![name],
    };
    Ok(Matcher::Datasets(datasets))
}

/// Another path below `/dev`.
fn dev_path(roots: &Roots, pattern: &str, rest: &str) -> Result<Matcher, SelectorError> {
    let path = roots.dev.join(rest);
    let is_plain = !rest.contains('/');
    if is_plain && (is_glob(rest) || fs::symlink_metadata(&path).is_err()) {
        return kernel_name(pattern, rest);
    }
    // Resolves links; it does not open what they lead to.
    let target = fs::canonicalize(&path).map_err(|_| SelectorError::NoSuchPath {
        path: pattern.to_owned(),
    })?;
    disk_of_node(roots, &target)
        .map(Matcher::Name)
        .ok_or_else(|| SelectorError::NotABlockDevice {
            path: pattern.to_owned(),
        })
}

/// Kernel name of the disk behind a device node: by its number, or else by its name.
fn disk_of_node(roots: &Roots, node: &Path) -> Option<String> {
    let meta = fs::metadata(node).ok()?;
    if meta.file_type().is_block_device() {
        let (major, minor) = (
            rustix::fs::major(meta.rdev()),
            rustix::fs::minor(meta.rdev()),
        );
        let entry = roots.sys.join(format!("dev/block/{major}:{minor}"));
        if let Some(disk) = disk::disk_behind(&entry) {
            return Some(disk);
        }
    }
    let name = node.file_name()?.to_str()?;
    if roots.disk(name).exists() {
        return Some(name.to_owned());
    }
    disk::disk_behind(&roots.sys.join("class/block").join(name))
}

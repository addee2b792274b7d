//! ZFS's own counts, read from `/proc/spl/kstat/zfs/<pool>`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folder of a pool.
pub(crate) fn folder(pool: &str) -> PathBuf {
    Path::new("/proc/spl/kstat/zfs").join(pool)
}

/// Writes and reads that a dataset has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Objset {
    /// Writes.
    pub(crate) writes: u64,
    /// Bytes of them.
    pub(crate) nwritten: u64,
    /// Reads.
    pub(crate) reads: u64,
    /// Bytes of them.
    pub(crate) nread: u64,
}

/// The counts of a dataset.
pub(crate) fn objset(dataset: &str) -> Result<Objset> {
    let (path, text) = objset_file(dataset)?;
    let number = |name: &str| -> Result<u64> {
        value(&text, name)
            .and_then(|value| value.parse().ok())
            .with_context(|| format!("{} has no {name}", path.display()))
    };
    Ok(Objset {
        writes: number("writes")?,
        nwritten: number("nwritten")?,
        reads: number("reads")?,
        nread: number("nread")?,
    })
}

/// The file of a dataset and its text.
pub(crate) fn objset_file(dataset: &str) -> Result<(PathBuf, String)> {
    let pool = dataset.split('/').next().unwrap_or(dataset);
    for entry in fs::read_dir(folder(pool))? {
        let path = entry?.path();
        let named = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("objset-"));
        if named {
            let text = fs::read_to_string(&path)?;
            if value(&text, "dataset_name") == Some(dataset) {
                return Ok((path, text));
            }
        }
    }
    anyhow::bail!("no objset kstat of {dataset}")
}

/// Bytes written by the synced transaction groups after `after`, and how many groups those are.
pub(crate) fn written_after(pool: &str, after: u64) -> Result<(u64, u64)> {
    let mut sum = (0, 0);
    for group in groups(pool)? {
        if group.number > after && group.committed {
            sum.0 += group.nwritten;
            sum.1 += 1;
        }
    }
    Ok(sum)
}

/// A transaction group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Its number.
    pub(crate) number: u64,
    /// Whether it is on disk.
    pub(crate) committed: bool,
    /// Bytes written when it synced.
    pub(crate) nwritten: u64,
}

/// The groups the kstat still has, oldest first.
pub(crate) fn groups(pool: &str) -> Result<Vec<Group>> {
    let text = fs::read_to_string(folder(pool).join("txgs"))?;
    let mut lines = text.lines();
    let columns: Vec<_> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let column = |name: &str| {
        columns
            .iter()
            .position(|column| *column == name)
            .with_context(|| format!("txgs has no {name}"))
    };
    let (number, state, nwritten) = (column("txg")?, column("state")?, column("nwritten")?);
    lines
        .map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let at = |index: usize| fields.get(index).copied().unwrap_or_default();
            Ok(Group {
                number: at(number).parse()?,
                committed: at(state) == "C",
                nwritten: at(nwritten).parse()?,
            })
        })
        .collect()
}

/// `name type data` of a named kstat.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.nth(1))?
    })
}

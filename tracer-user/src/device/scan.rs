//! The disks of the host at one moment.

use std::{fs, os::unix::fs::DirEntryExt};

use super::{
    Selector,
    disk::{self, Disk, Identity},
    links::ZvolLinks,
    roots::Roots,
};

/// Most entries of `/sys/block` that are looked at.
const MAX_ENTRIES: usize = 131_072;

/// Names in `/sys/block` with the identity of each, in no order; one directory listing and no
/// more.
#[must_use]
pub(super) fn names(roots: &Roots) -> Vec<(String, Identity)> {
    fs::read_dir(roots.sys.join("block"))
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, Identity(entry.ino())))
        })
        .collect()
}

/// Every disk of the host, ordered by [`order`]. It lists `/sys/block` and reads the links
/// below `/dev/zvol` once, then some ten attributes a disk.
#[must_use]
pub fn scan(roots: &Roots) -> Vec<Disk> {
    scan_where(roots, &ZvolLinks::read(&roots.dev), |_, _| true)
}

/// The disks that a selector picks; the others are not read at all.
#[must_use]
pub fn scan_selected(roots: &Roots, selector: &Selector) -> Vec<Disk> {
    scan_where(roots, &ZvolLinks::read(&roots.dev), |name, dataset| {
        selector.picks(name, dataset)
    })
}

fn scan_where(
    roots: &Roots,
    links: &ZvolLinks,
    wanted: impl Fn(&str, Option<&str>) -> bool,
) -> Vec<Disk> {
    let zvol_major = disk::zvol_major(roots);
    let mut disks: Vec<Disk> = names(roots)
        .iter()
        .map(|(name, _)| (name, links.dataset(name)))
        .filter(|(name, dataset)| wanted(name, *dataset))
        .filter_map(|(name, dataset)| disk::read(roots, name, zvol_major, dataset))
        .collect();
    order(&mut disks);
    disks
}

/// Sorts disks by [`Disk::rank`], then by number: the order in which they are taken while
/// there is room.
pub fn order(disks: &mut [Disk]) {
    disks.sort_by(|a, b| {
        (a.rank(), a.major, a.first_minor, &a.name).cmp(&(
            b.rank(),
            b.major,
            b.first_minor,
            &b.name,
        ))
    });
}

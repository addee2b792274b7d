//! The disks of the host at one moment.

use std::{fs, os::unix::fs::DirEntryExt};

use super::{
    Selector,
    disk::{self, Disk, Identity},
    links::ZvolLinks,
    roots::Roots,
};
use crate::input::Mode;

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

/// How many zvols there are in bio mode and in blk-mq mode. It lists `/sys/block` and looks
/// for one directory a zvol; zvols are told by their names (`ZVOL_DEV_NAME` in OpenZFS).
#[must_use]
pub fn count_zvols(roots: &Roots) -> (usize, usize) {
    let is_zvol = |name: &str| {
        name.strip_prefix("zd").is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let names = names(roots);
    let zvols = names.iter().filter(|(name, _)| is_zvol(name));
    zvols.fold((0, 0), |(bio, blk_mq), (name, _)| {
        match disk::mode_of(&roots.disk(name)) {
            Mode::Bio => (bio + 1, blk_mq),
            Mode::BlkMq => (bio, blk_mq + 1),
        }
    })
}

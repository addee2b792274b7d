//! What `zpool list`, `zpool status` and `zpool get` print, OpenZFS 2.0 to 2.4.

use std::collections::BTreeMap;

use crate::{analysis::space::Layout, input::PoolShape};

/// What `zpool status` says of one pool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// Layout of the data vdevs, when all have the same.
    pub(super) layout: Option<Layout>,
    /// A scrub or resilver in progress.
    pub(super) activity: Option<String>,
}

/// `zpool list -Hp -o name,capacity,ashift`: a line a pool, columns apart by tabs.
pub(super) fn list(text: &str) -> BTreeMap<String, PoolShape> {
    text.lines()
        .filter_map(|line| {
            let mut columns = line.split('\t');
            let name = columns.next().filter(|name| !name.is_empty())?;
            let capacity = columns.next().unwrap_or_default();
            let shape = PoolShape {
                fill_percent: capacity.trim_end_matches('%').parse().ok(),
                ashift: columns.next().and_then(ashift),
                ..PoolShape::default()
            };
            Some((name.to_owned(), shape))
        })
        .collect()
}

/// The one sector size that all lines agree on; 0 and `-` say nothing.
pub(super) fn ashift(text: &str) -> Option<u32> {
    let mut known = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .filter(|shift| (9..=16).contains(shift));
    let first = known.next()?;
    known.all(|shift| shift == first).then_some(first)
}

/// `zpool status`: a paragraph a pool.
pub(super) fn status(text: &str) -> BTreeMap<String, Status> {
    let mut pools = BTreeMap::new();
    let mut name = String::new();
    let mut tree = Vec::new();
    let mut status = Status::default();
    let mut in_config = false;
    for line in text.lines().chain(["  pool: "]) {
        if let Some(next) = line.trim_start_matches(' ').strip_prefix("pool: ") {
            if !name.is_empty() {
                status.layout = layout(&tree);
                pools.insert(std::mem::take(&mut name), std::mem::take(&mut status));
            }
            next.trim().clone_into(&mut name);
            tree.clear();
            in_config = false;
        } else if let Some(scan) = line.trim_start_matches(' ').strip_prefix("scan: ") {
            status.activity = activity(scan);
        } else if line.starts_with("config:") {
            in_config = true;
        } else if line.starts_with("errors:") {
            in_config = false;
        } else if in_config && let Some(row) = line.strip_prefix('\t') {
            tree.extend(node(row));
        }
    }
    pools
}

/// `resilver in progress since Tue Dec  1 02:00:00 2026`, without the date.
fn activity(scan: &str) -> Option<String> {
    let (what, _) = scan.split_once(" in progress")?;
    Some(format!("{what} in progress"))
}

/// Depth and name of a line of the vdev tree.
fn node(row: &str) -> Option<(usize, &str)> {
    let name = row.split_whitespace().next()?;
    let depth = (row.len() - row.trim_start_matches(' ').len()) / 2;
    Some((depth, name))
}

/// The layout that all data vdevs share. The tree is a header, the pool with its data vdevs one
/// step deeper, then `special`, `logs`, `cache`, `spares`, each a root with its own.
fn layout(tree: &[(usize, &str)]) -> Option<Layout> {
    let data: Vec<_> = tree
        .iter()
        .skip_while(|(_, name)| *name == "NAME")
        .skip(1)
        .take_while(|(depth, _)| *depth > 0)
        .collect();
    let starts: Vec<usize> = (0..data.len()).filter(|n| data[*n].0 == 1).collect();
    let ends = starts.iter().skip(1).copied().chain([data.len()]);
    let mut layouts = starts.iter().zip(ends).map(|(start, end)| {
        let children = data[start + 1..end].iter().filter(|(d, _)| *d == 2).count();
        vdev(data[*start].1, u32::try_from(children).ok()?)
    });
    let first = layouts.next()??;
    layouts.all(|layout| layout == Some(first)).then_some(first)
}

/// Layout of a data vdev by its name: `mirror-0`, `raidz2-1`, `draid2:4d:6c:1s-0`; a plain disk,
/// or one that is being replaced, is a stripe.
fn vdev(name: &str, children: u32) -> Option<Layout> {
    let kind = name.rsplit_once('-').map_or(name, |(kind, _)| kind);
    match kind {
        "mirror" => Some(Layout::Mirror(Some(children))),
        "raidz1" | "raidz2" | "raidz3" => format!("{kind}:{children}").parse().ok(),
        _ if kind.starts_with("draid") && kind.contains(':') => kind.parse().ok(),
        // Names the layout cannot be read from.
        "indirect" | "hole" | "missing" => None,
        _ => Some(Layout::Stripe),
    }
}

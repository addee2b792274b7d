//! Space that a block takes on a pool's layout.
//!
//! Owns the allocation of mirrors, RAIDZ and dRAID (OpenZFS 2.0 to 2.4: `vdev_default_asize`,
//! `vdev_raidz_asize`, `vdev_draid_asize`), without compression. `raw` counts what the vdev
//! allocates: parity and padding, but not the copies of a mirror, as `zpool list` does. `used`
//! is the same as `zfs list` shows it: scaled so that a block of 128K looks free of parity.

use std::{fmt, str::FromStr};

/// log2 of the sector that a vdev allocates, when nobody says otherwise: 4K.
pub const DEFAULT_ASHIFT: u32 = 12;
/// The block that `used` is scaled by (`vdev_set_deflate_ratio`, `SPA_OLD_MAXBLOCKSIZE`).
const REFERENCE_BYTES: u64 = 128 << 10;

/// Redundancy of the pool's data vdevs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Single disks.
    Stripe,
    /// Mirrors, of so many disks where that is known.
    Mirror(Option<u32>),
    /// RAIDZ.
    Raidz {
        /// Parity disks, 1 to 3.
        parity: u32,
        /// Disks of one vdev, parity included.
        width: u32,
    },
    /// Distributed RAID.
    Draid {
        /// Parity disks of a group, 1 to 3.
        parity: u32,
        /// Data disks of a group.
        data: u32,
    },
}

/// A layout that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "layout `{0}` is not known: use stripe, mirror, raidz1:3, raidz2:6 (parity:disks) or draid2:8d (parity:data disks)"
)]
pub struct LayoutError(String);

/// A layout and its sector size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLayout {
    /// Redundancy.
    pub layout: Layout,
    /// log2 of the sector, 9 to 16.
    pub ashift: u32,
}

/// Bytes per byte stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Allocated on the vdev.
    pub raw: f64,
    /// As `zfs list` shows it.
    pub used: f64,
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text).ok_or_else(|| LayoutError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Layout> {
    let (kind, shape) = match text.split_once(':') {
        Some((kind, shape)) => (kind, Some(shape)),
        None => (text, None),
    };
    match (kind, shape) {
        ("stripe" | "single", None) => Some(Layout::Stripe),
        ("mirror", None) => Some(Layout::Mirror(None)),
        ("mirror", Some(disks)) => match disks.parse() {
            Ok(disks) if disks >= 2 => Some(Layout::Mirror(Some(disks))),
            _ => None,
        },
        _ if kind.starts_with("raidz") => {
            let parity = parity(kind.strip_prefix("raidz")?)?;
            let width = shape?.parse().ok()?;
            (width > parity && width <= 255).then_some(Layout::Raidz { parity, width })
        }
        _ => {
            let parity = parity(kind.strip_prefix("draid")?)?;
            // `8d`, and then children and spares, which do not change the space.
            let data: u32 = shape?.split(':').next()?.strip_suffix('d')?.parse().ok()?;
            (1..=255)
                .contains(&data)
                .then_some(Layout::Draid { parity, data })
        }
    }
}

fn parity(digits: &str) -> Option<u32> {
    match digits {
        "" | "1" => Some(1),
        "2" => Some(2),
        "3" => Some(3),
        _ => None,
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stripe => f.write_str("stripe"),
            Self::Mirror(None) => f.write_str("mirror"),
            Self::Mirror(Some(disks)) => write!(f, "mirror:{disks}"),
            Self::Raidz { parity, width } => write!(f, "raidz{parity}:{width}"),
            Self::Draid { parity, data } => write!(f, "draid{parity}:{data}d"),
        }
    }
}

impl Layout {
    /// Whether small blocks cost padding or parity: mirrors and stripes pay nothing.
    #[must_use]
    pub fn pads_small_blocks(self) -> bool {
        matches!(self, Self::Raidz { .. } | Self::Draid { .. })
    }
}

impl PoolLayout {
    /// Space of blocks of a size that are written whole. At least one byte.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "factors for people")]
    pub fn space(&self, block_bytes: u64) -> Space {
        let stored = block_bytes.max(1) as f64;
        let allocated = self.allocated_bytes(block_bytes);
        // In 512 B units and whole numbers, as ZFS computes it.
        let deflate = REFERENCE_BYTES / (self.allocated_bytes(REFERENCE_BYTES) >> 9).max(1);
        let used = (allocated >> 9) * deflate;
        Space {
            raw: allocated as f64 / stored,
            used: used as f64 / stored,
        }
    }

    /// Bytes that one block allocates.
    #[must_use]
    pub fn allocated_bytes(&self, block_bytes: u64) -> u64 {
        let ashift = self.ashift.clamp(9, 16);
        let sectors = block_bytes.max(1).div_ceil(1 << ashift);
        let allocated = match self.layout {
            Layout::Stripe | Layout::Mirror(_) => sectors,
            Layout::Raidz { parity, width } => {
                let (parity, width) = (u64::from(parity), u64::from(width));
                let data_disks = width.saturating_sub(parity).max(1);
                let with_parity = sectors + parity * sectors.div_ceil(data_disks);
                // So that no hole is too small for the smallest block.
                with_parity.next_multiple_of(parity + 1)
            }
            Layout::Draid { parity, data } => {
                let (parity, data) = (u64::from(parity), u64::from(data).max(1));
                sectors.div_ceil(data) * (data + parity)
            }
        };
        allocated << ashift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(layout: &str, block_bytes: u64) -> (f64, f64) {
        let layout = layout.parse().unwrap();
        let found = PoolLayout { layout, ashift: 12 }.space(block_bytes);
        let round = |factor: f64| (factor * 100.0).round() / 100.0;
        (round(found.raw), round(found.used))
    }

    #[test]
    fn case_1_raidz_pads_small_blocks() {
        assert_eq!(space("raidz2:6", 8 << 10), (3.0, 2.0));
        assert_eq!(space("raidz2:6", 16 << 10), (1.5, 1.0));
        assert_eq!(space("raidz2:6", 4 << 10), (3.0, 2.0));
        assert_eq!(space("raidz2:6", 128 << 10), (1.5, 1.0));
        assert_eq!(space("raidz1:3", 8 << 10), (2.0, 1.33));
        assert_eq!(space("raidz1:3", 128 << 10), (1.5, 1.0));
    }

    #[test]
    fn mirrors_and_stripes_pay_nothing_for_small_blocks() {
        for layout in ["stripe", "mirror", "mirror:3"] {
            for shift in 12..=20 {
                assert_eq!(space(layout, 1 << shift), (1.0, 1.0));
            }
            assert!(!layout.parse::<Layout>().unwrap().pads_small_blocks());
        }
    }

    #[test]
    fn a_block_below_the_sector_takes_a_whole_one() {
        assert_eq!(space("mirror", 512), (8.0, 8.0));
    }

    #[test]
    fn draid_fills_whole_rows() {
        assert_eq!(space("draid2:8d", 8 << 10), (5.0, 3.99));
        assert_eq!(space("draid2:8d", 32 << 10), (1.25, 1.0));
        assert_eq!(space("draid2:8d:24c:1s", 64 << 10), (1.25, 1.0));
    }

    #[test]
    fn layouts_are_read_and_written_alike_and_nonsense_is_refused() {
        for text in [
            "stripe",
            "mirror",
            "mirror:2",
            "raidz1:3",
            "raidz2:6",
            "raidz3:11",
            "draid2:8d",
        ] {
            assert_eq!(text.parse::<Layout>().unwrap().to_string(), text);
        }
        assert_eq!("raidz:5".parse::<Layout>().unwrap().to_string(), "raidz1:5");
        for text in [
            "", "raidz", "raidz2", "raidz2:2", "raidz4:8", "raidz2:x", "mirror:1", "draid2:8",
            "draid:0d", "raid5:4",
        ] {
            let error = text.parse::<Layout>().unwrap_err().to_string();
            assert!(error.contains("raidz2:6"), "{error}");
        }
    }
}

//! How the kernel names partitions (block/partitions/core.c): disk and number, with a `p`
//! between them when the disk's name ends in a digit.

/// Number of the partition when `name` is a partition of the disk `disk`.
#[must_use]
pub(super) fn number_of(name: &str, disk: &str) -> Option<u32> {
    let rest = name.strip_prefix(disk)?;
    let digits = if disk.ends_with(|last: char| last.is_ascii_digit()) {
        rest.strip_prefix('p')?
    } else {
        rest
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// The disk of a name of the form `zd16p1`; the name itself when it has no such form. It knows
/// nothing of `sda1`, so it serves for zvols and others that are numbered.
#[must_use]
pub(super) fn disk_of(name: &str) -> &str {
    let without_number = name.trim_end_matches(|last: char| last.is_ascii_digit());
    match without_number.strip_suffix('p') {
        Some(disk)
            if without_number.len() < name.len()
                && disk.ends_with(|last: char| last.is_ascii_digit()) =>
        {
            disk
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_told_from_a_disk_whose_name_begins_alike() {
        assert_eq!(number_of("zd16p1", "zd16"), Some(1));
        assert_eq!(number_of("zd160", "zd16"), None);
        assert_eq!(number_of("zd16p", "zd16"), None);
        assert_eq!(number_of("zd16", "zd16"), None);
        assert_eq!(number_of("sda12", "sda"), Some(12));
        assert_eq!(number_of("sdab", "sda"), None);
        assert_eq!(number_of("zd16p99999999999", "zd16"), None);
    }

    #[test]
    fn the_disk_of_a_partition_is_its_name_without_the_number() {
        assert_eq!(disk_of("zd16p1"), "zd16");
        assert_eq!(disk_of("nvme0n1p12"), "nvme0n1");
        for disk in ["zd16", "zram0", "loop7", "dm-3", "sda", "zdp1", "p", ""] {
            assert_eq!(disk_of(disk), disk);
        }
    }
}

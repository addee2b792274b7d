//! The `objset-0x*` kstat of a dataset: its counters, a line each.

use crate::input::Objset;

/// The parts of the ZIL's bytes: by the way the record carried its data (OpenZFS `zil.h`).
const ZIL_BYTES: [&str; 3] = [
    "zil_itx_indirect_bytes",
    "zil_itx_copied_bytes",
    "zil_itx_needcopy_bytes",
];

/// Number of an objset by the name of its kstat.
#[must_use]
pub(super) fn number_of(file_name: &str) -> Option<u64> {
    u64::from_str_radix(file_name.strip_prefix("objset-0x")?, 16).ok()
}

/// Parses the kstat; `None` when it does not name its dataset. Counters are found by name: the
/// `zil_*` ones came with 2.2, and more came later.
#[must_use]
pub fn parse(text: &str) -> Option<Objset> {
    let mut objset = Objset::default();
    let mut zil_bytes = None;
    for (name, value) in text.lines().filter_map(field) {
        let number = || value.parse::<u64>().ok();
        match name {
            "dataset_name" => value.clone_into(&mut objset.dataset),
            "writes" => objset.writes = number()?,
            "nwritten" => objset.nwritten_bytes = number()?,
            "reads" => objset.reads = number()?,
            "nread" => objset.nread_bytes = number()?,
            "zil_commit_count" => objset.zil_commit_count = number(),
            name if ZIL_BYTES.contains(&name) => {
                zil_bytes = Some(zil_bytes.unwrap_or(0_u64).saturating_add(number()?));
            }
            _ => {}
        }
    }
    objset.zil_itx_bytes = zil_bytes;
    (!objset.dataset.is_empty()).then_some(objset)
}

/// A line is name, type, value; the name of a dataset may have blanks.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim().split_once(char::is_whitespace)?;
    let (_, value) = rest.trim_start().split_once(char::is_whitespace)?;
    Some((name, value.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "\
36 1 0x01 7 2160 5010344217 2055412536
name                            type data
dataset_name                    7    tank/my data
writes                          4    12
nwritten                        4    49152
reads                           4    3
nread                           4    4096
nunlinks                        4    0
nunlinked                       4    0
";

    #[test]
    fn counters_are_found_by_name_with_and_without_those_of_the_zil() {
        let old = parse(OLD).unwrap();
        assert_eq!(old.dataset, "tank/my data");
        assert_eq!((old.writes, old.nwritten_bytes), (12, 49_152));
        assert_eq!((old.reads, old.nread_bytes), (3, 4096));
        assert_eq!((old.zil_commit_count, old.zil_itx_bytes), (None, None));
        let new = format!(
            "{OLD}zil_commit_count 4 9\nzil_itx_count 4 5\nzil_itx_indirect_bytes 4 100\n\
             zil_itx_copied_bytes 4 20\nzil_itx_needcopy_bytes 4 3\nzil_itx_metaslab_slog_bytes 4 77\n"
        );
        let new = parse(&new).unwrap();
        assert_eq!(
            (new.zil_commit_count, new.zil_itx_bytes),
            (Some(9), Some(123))
        );
    }

    #[test]
    fn what_is_no_objset_gives_nothing() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("name type data\nwrites 4 1\n"), None);
        assert_eq!(parse("dataset_name 7 tank/a\nwrites 4 many\n"), None);
        assert_eq!(number_of("objset-0x1f"), Some(31));
        assert_eq!(number_of("objset-31"), None);
        assert_eq!(number_of("txgs"), None);
    }
}

//! The `txgs` kstat of a pool: its last transaction groups, a line each.

use super::ClockPair;
use crate::input::Txg;

/// Most groups that are taken from one reading (`zfs_txg_history` is 100 by default).
const MAX_TXGS: usize = 1024;

/// The columns that are used, by name: their set differs between versions.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    txg: Option<usize>,
    birth: Option<usize>,
    state: Option<usize>,
    ndirty: Option<usize>,
    nread: Option<usize>,
    nwritten: Option<usize>,
    otime: Option<usize>,
    qtime: Option<usize>,
    wtime: Option<usize>,
    stime: Option<usize>,
}

/// Parses the kstat; the births are put on the capture clock. The last [`MAX_TXGS`] groups are
/// kept, in the order of the file (oldest first). A line that does not parse is left out; a
/// column that is missing gives 0.
#[must_use]
pub fn parse(text: &str, clocks: ClockPair) -> Vec<Txg> {
    let mut lines = text.lines();
    let Some(columns) = lines.by_ref().find_map(header) else {
        return Vec::new();
    };
    let lines: Vec<&str> = lines.collect();
    let skipped = lines.len().saturating_sub(MAX_TXGS);
    lines
        .into_iter()
        .skip(skipped)
        .filter_map(|line| txg(line, columns, clocks))
        .collect()
}

/// The header is the line that names `txg` and `birth`; what stands before it is the kstat's
/// own preamble.
fn header(line: &str) -> Option<Columns> {
    let mut columns = Columns::default();
    for (index, word) in line.split_ascii_whitespace().enumerate() {
        let column = match word {
            "txg" => &mut columns.txg,
            "birth" => &mut columns.birth,
            "state" => &mut columns.state,
            "ndirty" => &mut columns.ndirty,
            "nread" => &mut columns.nread,
            "nwritten" => &mut columns.nwritten,
            "otime" => &mut columns.otime,
            "qtime" => &mut columns.qtime,
            "wtime" => &mut columns.wtime,
            "stime" => &mut columns.stime,
            _ => continue,
        };
        *column = Some(index);
    }
    (columns.txg.is_some() && columns.birth.is_some()).then_some(columns)
}

fn txg(line: &str, columns: Columns, clocks: ClockPair) -> Option<Txg> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let word = |column: Option<usize>| column.and_then(|index| words.get(index).copied());
    let number = |column| word(column).and_then(|word| word.parse::<u64>().ok());
    Some(Txg {
        txg: number(columns.txg)?,
        birth_ns: clocks.monotonic_of(number(columns.birth)?),
        state: word(columns.state)
            .and_then(|word| word.chars().next())
            .unwrap_or('?'),
        ndirty_bytes: number(columns.ndirty).unwrap_or(0),
        nread_bytes: number(columns.nread).unwrap_or(0),
        nwritten_bytes: number(columns.nwritten).unwrap_or(0),
        open_ns: number(columns.otime).unwrap_or(0),
        quiesce_ns: number(columns.qtime).unwrap_or(0),
        wait_ns: number(columns.wtime).unwrap_or(0),
        sync_ns: number(columns.stime).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLOCKS: ClockPair = ClockPair {
        monotonic_ns: 10_000,
        raw_ns: 9_000,
    };

    const TEXT: &str = "\
txg      birth            state ndirty       nread        nwritten     reads    writes   otime        qtime        wtime        stime
41       1000             C     5242880      0            6291456      0        97       5120000000   11000        22000        330000000
42       2000             S     1024         16           32           1        2        7            8            9            0
43       2500             O     0            0            0            0        0        0            0            0            0
";

    #[test]
    fn every_column_lands_in_its_field_and_births_are_converted() {
        let txgs = parse(TEXT, CLOCKS);
        assert_eq!(txgs.len(), 3);
        assert_eq!(
            txgs[0],
            Txg {
                txg: 41,
                birth_ns: 2000,
                state: 'C',
                ndirty_bytes: 5_242_880,
                nread_bytes: 0,
                nwritten_bytes: 6_291_456,
                open_ns: 5_120_000_000,
                quiesce_ns: 11_000,
                wait_ns: 22_000,
                sync_ns: 330_000_000,
            }
        );
        assert_eq!((txgs[1].state, txgs[1].nread_bytes), ('S', 16));
        assert_eq!((txgs[2].state, txgs[2].birth_ns), ('O', 3500));
    }

    #[test]
    fn columns_may_come_in_another_order_or_be_missing_behind_a_preamble() {
        let text = "18 0 0x01 3 336 100 200\nbirth new stime txg\n8000 x 5 7\nbroken\n";
        let txgs = parse(text, CLOCKS);
        assert_eq!(txgs.len(), 1);
        assert_eq!(
            (txgs[0].txg, txgs[0].birth_ns, txgs[0].sync_ns),
            (7, 9000, 5)
        );
        assert_eq!(txgs[0].state, '?');
        assert!(parse("", CLOCKS).is_empty());
        assert!(parse("txg state\n1 O\n", CLOCKS).is_empty());
    }

    #[test]
    fn a_long_history_keeps_its_end() {
        let lines: Vec<String> = (0..5000).map(|n| format!("{n} {n}")).collect();
        let txgs = parse(&format!("txg birth\n{}\n", lines.join("\n")), CLOCKS);
        assert_eq!(txgs.len(), MAX_TXGS);
        assert_eq!(txgs.last().map(|txg| txg.txg), Some(4999));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[txgbirstaeo0-9 \n-]{0,200}") {
            let lines = text.lines().count();
            let txgs = parse(&format!("txg birth state\n{text}"), CLOCKS);
            prop_assert!(txgs.len() <= lines);
        }
    }
}

//! The words a recording uses for operations, flags and command names.
//!
//! Owns the mapping between [`Event`](crate::event::Event)'s codes and the text in the columns
//! `op`, `flags` and `comm`. Every code has exactly one word and comes back from it unchanged;
//! a word that is not known is `None`, never a guess.

use std::borrow::Cow;

use tracer_common::{COMM_LEN, flag};

use crate::event::{Comm, Flags, Op};

/// Prefix of an operation this version does not know; its number follows.
const UNKNOWN: &str = "unknown-";

/// Flag bits and their words, in the order they are written.
const FLAGS: [(u32, &str); 11] = [
    (flag::SYNC, "sync"),
    (flag::META, "meta"),
    (flag::PRIO, "prio"),
    (flag::NOMERGE, "nomerge"),
    (flag::IDLE, "idle"),
    (flag::INTEGRITY, "integrity"),
    (flag::FUA, "fua"),
    (flag::PREFLUSH, "preflush"),
    (flag::RAHEAD, "rahead"),
    (flag::BACKGROUND, "background"),
    (flag::NOWAIT, "nowait"),
];

/// The word of an operation: `read`, `write`, `flush`, `discard`, `secure-erase`,
/// `write-zeroes`, or `unknown-N`.
#[must_use]
pub fn op_word(op: Op) -> Cow<'static, str> {
    Cow::Borrowed(match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush => "flush",
        Op::Discard => "discard",
        Op::SecureErase => "secure-erase",
        Op::WriteZeroes => "write-zeroes",
        Op::Unknown(code) => return Cow::Owned(format!("{UNKNOWN}{code}")),
    })
}

/// The operation of a word of [`op_word`].
#[must_use]
pub fn parse_op(word: &str) -> Option<Op> {
    Some(match word {
        "read" => Op::Read,
        "write" => Op::Write,
        "flush" => Op::Flush,
        "discard" => Op::Discard,
        "secure-erase" => Op::SecureErase,
        "write-zeroes" => Op::WriteZeroes,
        other => Op::Unknown(other.strip_prefix(UNKNOWN)?.parse().ok()?),
    })
}

/// The words of the flags that are set, joined by one blank; empty without any.
#[must_use]
pub fn flag_words(flags: Flags) -> String {
    let set = FLAGS.iter().filter(|(bit, _)| flags.has(*bit));
    set.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

/// The bit of one flag's word.
#[must_use]
pub fn parse_flag(word: &str) -> Option<u32> {
    FLAGS
        .iter()
        .find(|(_, known)| *known == word)
        .map(|(bit, _)| *bit)
}

/// The flags of a text of [`flag_words`].
#[must_use]
pub fn parse_flags(text: &str) -> Option<Flags> {
    let mut bits = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        bits |= parse_flag(word)?;
    }
    Some(Flags::from_opf(bits))
}

/// Every flag's word, for messages.
pub fn all_flag_words() -> impl Iterator<Item = &'static str> {
    FLAGS.iter().map(|(_, word)| *word)
}

/// A command name as text: what is UTF-8 stands as it is; a backslash is doubled, and any other
/// byte (not UTF-8, or a NUL that is not padding) becomes `\xNN`.
#[must_use]
pub fn comm_text(comm: Comm) -> String {
    let end = comm
        .0
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let mut text = String::new();
    for chunk in comm.0[..end].utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '\0' => text.push_str("\\x00"),
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            text.extend(["\\x".to_owned(), format!("{byte:02x}")]);
        }
    }
    text
}

/// The command name of a text of [`comm_text`]; `None` when it is longer than the kernel's 16
/// bytes or holds an escape that is not ours.
#[must_use]
pub fn parse_comm(text: &str) -> Option<Comm> {
    let mut comm = [0; COMM_LEN];
    let mut used = 0;
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => (b'\\', after),
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digit = |b: &u8| char::from(*b).to_digit(16);
                let value = digit(high)? * 16 + digit(low)?;
                (u8::try_from(value).ok()?, after)
            }
            (b'\\', _) => return None,
            (byte, after) => (*byte, after),
        };
        *comm.get_mut(used)? = byte;
        used += 1;
        rest = after;
    }
    Some(Comm(comm))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_operation_has_one_word() {
        for code in 0..=255 {
            for op in [Op::from_opf(code, 0), Op::from_opf(code, 1), Op::Unknown(0)] {
                assert_eq!(parse_op(&op_word(op)), Some(op));
            }
        }
        assert_eq!(parse_op("trim"), None);
        assert_eq!(parse_op("unknown-256"), None);
    }

    #[test]
    fn names_are_readable_and_strange_ones_survive() {
        assert_eq!(comm_text(Comm::new("qemu-kvm")), "qemu-kvm");
        assert_eq!(comm_text(Comm::new("a\\b")), "a\\\\b");
        assert_eq!(
            comm_text(Comm(*b"a\xffb\0c\0\0\0\0\0\0\0\0\0\0\0")),
            "a\\xffb\\x00c"
        );
        assert_eq!(parse_comm("12345678901234567"), None);
        assert_eq!(parse_comm("a\\"), None);
        assert_eq!(
            flag_words(Flags::from_opf(flag::SYNC | flag::FUA)),
            "sync fua"
        );
        assert_eq!(parse_flags("sync shiny"), None);
    }

    proptest! {
        #[test]
        fn every_flag_set_and_every_name_survives(bits: u32, name: [u8; COMM_LEN]) {
            let flags = Flags::from_opf(bits);
            prop_assert_eq!(parse_flags(&flag_words(flags)), Some(flags));
            prop_assert_eq!(parse_comm(&comm_text(Comm(name))), Some(Comm(name)));
        }
    }
}

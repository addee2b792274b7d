//! Sentences and names on a page: made safe to print, and fitted to a width.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Makes text from outside (names, arguments, kernel words) safe to print: what could move the
/// cursor, turn the direction of writing or hide (signs without a width) becomes `?`.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => '?',
            c if c.is_control() => '?',
            c => c,
        })
        .collect()
}

/// Breaks a paragraph into lines of at most `width` columns, the first behind `first`, the
/// others behind `rest`. A word is cut only when it is wider than a line: names are full of
/// hyphens, and one that is cut cannot be copied.
#[must_use]
pub fn wrap(first: &str, rest: &str, text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
        .into_iter()
        .map(String::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_whole_and_commands_to_the_terminal_are_not() {
        let lines = wrap("- ", "  ", "the zvol tank/vm-100-disk-0 is new", 22);
        assert_eq!(lines, ["- the zvol", "  tank/vm-100-disk-0", "  is new"]);
        assert_eq!(printable("a\u{1b}[2J\u{202e}b\né"), "a?[2J?b?é");
        assert_eq!(printable("tank/\u{200b}\u{feff}"), "tank/??");
    }
}

//! Bars and names fitted to a number of columns: the same on a page and on the screen.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A bar, `length` of 1 being `room` columns; what is there at all is seen.
pub(crate) fn bar(length: f64, room: usize, unicode: bool) -> String {
    if unicode {
        blocks(length, room)
    } else {
        "#".repeat(steps(length, room))
    }
}

/// A bar in eighths of a column.
fn blocks(length: f64, room: usize) -> String {
    const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = steps(length, room * 8);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).map(|rest| EIGHTHS[rest]));
    bar
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a few hundred columns"
)]
fn steps(length: f64, room: usize) -> usize {
    ((length * room as f64).round() as usize).clamp(1, room.max(1))
}

/// Cuts out the middle of what is too wide: the ends of a dataset's name tell the most.
pub(crate) fn shorten(text: &str, width: usize, unicode: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let dots = if unicode { "…" } else { "..." };
    let room = width.saturating_sub(dots.width());
    let start = fitting(text.chars(), room / 2);
    let end: String = fitting(text.chars().rev(), room - room / 2)
        .chars()
        .rev()
        .collect();
    format!("{start}{dots}{end}")
}

/// As many characters as fit.
pub(crate) fn fitting(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_its_middle_and_never_more_than_it_must() {
        assert_eq!(
            shorten("tank/vm-100-disk-0", 18, true),
            "tank/vm-100-disk-0"
        );
        assert_eq!(shorten("tank/vm-100-disk-0", 10, true), "tank…isk-0");
        assert_eq!(shorten("tank/vm-100-disk-0", 10, false), "tan...sk-0");
        let wide = shorten("データ/仮想-100-ディスク", 12, true);
        assert!(wide.width() <= 12 && wide.width() >= 10, "{wide}");
    }

    #[test]
    fn the_smallest_bar_is_seen_and_the_longest_fills_its_room() {
        assert_eq!(bar(0.000_1, 10, true), "▏");
        assert_eq!(bar(1.0, 10, true), "██████████");
        assert_eq!(bar(0.55, 10, true), "█████▌");
        assert_eq!(bar(0.000_1, 10, false), "#");
    }
}

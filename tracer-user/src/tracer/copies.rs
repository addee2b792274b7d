//! Which copies of each hook are attached.

use tracer_common::names::COPIES;

/// A choice among the programs of each hook, by their place in `Hook::programs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies(u8);

impl Copies {
    /// The first program of each hook alone: enough where the kernel calls it every time.
    pub const FIRST: Self = Self(1);
    /// Every copy, for kernels that skip a program.
    pub const ALL: Self = Self((1 << COPIES) - 1);

    /// Reads a list of numbers from 1 on, such as `1,2`; for tests, which have the copies alone
    /// do the work. `None` when it is no such list.
    #[must_use]
    pub fn parse(list: &str) -> Option<Self> {
        let mut chosen = 0;
        for number in list.split(',') {
            let place = number.trim().parse::<usize>().ok()?.checked_sub(1)?;
            if place >= COPIES {
                return None;
            }
            chosen |= 1 << place;
        }
        Some(Self(chosen))
    }

    /// Whether the first program of each hook is among them; only a test leaves it out.
    pub(super) fn have_first(self) -> bool {
        self.0 & Self::FIRST.0 != 0
    }

    /// The place of the last one.
    pub(super) fn last(self) -> u32 {
        self.0.checked_ilog2().unwrap_or(0)
    }

    /// The chosen ones of a hook's programs, in the order in which they are attached.
    pub(super) fn of(self, programs: [&'static str; COPIES]) -> impl Iterator<Item = &'static str> {
        let is_chosen = move |place: usize| self.0 & (1 << place) != 0;
        let places = programs.into_iter().enumerate();
        places.filter_map(move |(place, name)| is_chosen(place).then_some(name))
    }
}

/// Calls of a hook that no copy was called for, at most: of what the first was skipped for, what
/// no copy did instead, and never more than any copy was skipped for. `misses` is by copy, in the
/// order of calls.
pub(super) fn missed(misses: &[u64], rescued: u64) -> u64 {
    let least = misses.iter().min().copied().unwrap_or(0);
    let first = misses.first().copied().unwrap_or(0);
    least.min(first.saturating_sub(rescued))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_every_copy_was_skipped_for_is_missed() {
        assert_eq!(missed(&[], 0), 0);
        // One program alone.
        assert_eq!(missed(&[7], 0), 7);
        // Copies did it all.
        assert_eq!(missed(&[100, 9], 100), 0);
        // Two calls skipped by both.
        assert_eq!(missed(&[100, 9], 98), 2);
        // Calls that cannot be told: bounded by the copy that was skipped least.
        assert_eq!(missed(&[100, 3, 9], 40), 3);
        assert_eq!(missed(&[100, 3, 9], 99), 1);
    }

    #[test]
    fn a_list_names_copies_from_one_on() {
        let names = ["a", "b"];
        let chosen = |list| Copies::parse(list).map(|c| (c.of(names).collect(), c.last()));
        assert_eq!(chosen("1"), Some((vec!["a"], 0)));
        assert_eq!(chosen("1,2"), Some((vec!["a", "b"], 1)));
        assert_eq!(chosen(" 2"), Some((vec!["b"], 1)));
        for wrong in ["", "0", "3", "x", "1,,2", "-1"] {
            assert_eq!(chosen(wrong), None, "{wrong:?}");
        }
        assert_eq!(Copies::parse("1,2"), Some(Copies::ALL));
        assert_eq!(Copies::parse("1"), Some(Copies::FIRST));
    }
}

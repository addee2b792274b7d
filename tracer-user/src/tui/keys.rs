//! The keys: one table makes bindings, footer and help.

/// A key, whatever terminal it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the key of that name")]
pub enum Key {
    Char(char),
    Ctrl(char),
    Up,
    Down,
    Left,
    Right,
    Enter,
    Esc,
    Tab,
    Backspace,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Back,
    SortNext,
    SortReverse,
    Filter,
    Window,
    Pause,
    Earlier,
    Later,
    Now,
    Beginning,
    Ending,
    Faster,
    Slower,
    Heat,
    Explain,
    Capture,
    Reset,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// Where a binding means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On every screen.
    Everywhere,
    /// In the table.
    Overview,
    /// With one zvol.
    Detail,
    /// While a recording runs.
    Replay,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [Key],
    /// What they ask for.
    pub action: Action,
    /// The keys as the help shows them.
    pub label: &'static str,
    /// One word for the footer; empty for what the footer leaves out. The footer shows
    /// [`Binding::footer_key`] before it.
    pub word: &'static str,
    /// What it does, for the help.
    pub help: &'static str,
    /// Where it means something.
    pub place: Place,
}

impl Binding {
    /// The key that the footer shows: the first of the label.
    #[must_use]
    pub fn footer_key(&self) -> &'static str {
        self.label.split(' ').next().unwrap_or(self.label)
    }
}

const fn binding(
    keys: &'static [Key],
    action: Action,
    label: &'static str,
    word: &'static str,
    help: &'static str,
    place: Place,
) -> Binding {
    Binding {
        keys,
        action,
        label,
        word,
        help,
        place,
    }
}

/// Every binding, in the order of help and footer: the most needed first, since a narrow footer
/// shows as many as fit.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    binding(&[Key::Char('q'), Key::Ctrl('c')], Action::Quit, "q", "quit", "Leave", Place::Everywhere),
    binding(&[Key::Char('?')], Action::Help, "?", "help", "This help", Place::Everywhere),
    binding(&[Key::Enter], Action::Open, "Enter", "open", "Look at the zvol under the cursor closely", Place::Overview),
    binding(&[Key::Esc], Action::Back, "Esc", "back", "One step back: close, clear the filter, follow time", Place::Everywhere),
    binding(&[Key::Char('w')], Action::Window, "w", "window", "Time the numbers cover: 1 s, 10 s, 60 s, since the start", Place::Everywhere),
    binding(&[Key::Char('p'), Key::Char(' ')], Action::Pause, "p Space", "pause", "Freeze the view; tracing goes on", Place::Everywhere),
    binding(&[Key::Char('s')], Action::SortNext, "s", "sort", "Sort by the next column", Place::Overview),
    binding(&[Key::Char('S')], Action::SortReverse, "S", "", "Turn the order round", Place::Overview),
    binding(&[Key::Char('/')], Action::Filter, "/", "filter", "Show only datasets or devices that contain a text", Place::Overview),
    binding(&[Key::Char('e')], Action::Explain, "e", "explain", "Every rule of the verdict, with its numbers", Place::Everywhere),
    binding(&[Key::Char('c')], Action::Capture, "c", "capture", "Write a report of the next seconds to a file", Place::Everywhere),
    binding(&[Key::Char('r')], Action::Reset, "r", "reset", "Begin \"since the start\" anew", Place::Everywhere),
    binding(&[Key::Char('o')], Action::Heat, "o", "heat", "Heat map of writes, reads or flushes", Place::Detail),
    binding(&[Key::Left, Key::Char('h')], Action::Earlier, "Left h", "", "Back in time by one window, up to 15 minutes", Place::Everywhere),
    binding(&[Key::Right, Key::Char('l')], Action::Later, "Right l", "", "Forward in time by one window; a recording reads on", Place::Everywhere),
    binding(&[Key::Char('n')], Action::Now, "n", "", "Back to now", Place::Everywhere),
    binding(&[Key::Char('+'), Key::Char('=')], Action::Faster, "+", "faster", "Run the recording twice as fast", Place::Replay),
    binding(&[Key::Char('-')], Action::Slower, "-", "slower", "Run the recording half as fast", Place::Replay),
    binding(&[Key::Char('<')], Action::Beginning, "<", "", "Run the recording from its beginning", Place::Replay),
    binding(&[Key::Char('>')], Action::Ending, ">", "", "Read the recording to its end", Place::Replay),
    binding(&[Key::Up, Key::Char('k')], Action::Up, "Up k", "", "Up", Place::Everywhere),
    binding(&[Key::Down, Key::Char('j')], Action::Down, "Down j", "", "Down", Place::Everywhere),
    binding(&[Key::PageUp, Key::Ctrl('b')], Action::PageUp, "PgUp ^B", "", "A page up", Place::Everywhere),
    binding(&[Key::PageDown, Key::Ctrl('f')], Action::PageDown, "PgDn ^F", "", "A page down", Place::Everywhere),
    binding(&[Key::Home, Key::Char('g')], Action::First, "Home g", "", "To the first line", Place::Everywhere),
    binding(&[Key::End, Key::Char('G')], Action::Last, "End G", "", "To the last line", Place::Everywhere),
    binding(&[Key::Ctrl('l')], Action::Redraw, "^L", "", "Draw the screen anew", Place::Everywhere),
    binding(&[Key::Ctrl('z')], Action::Suspend, "^Z", "", "Suspend; fg comes back", Place::Everywhere),
];

/// What a key asks for outside a prompt.
#[must_use]
pub fn action(key: Key) -> Option<Action> {
    BINDINGS
        .iter()
        .find(|binding| binding.keys.contains(&key))
        .map(|binding| binding.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_bound_twice() {
        let keys: Vec<Key> = BINDINGS.iter().flat_map(|b| b.keys).copied().collect();
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key), "{key:?}");
        }
    }

    #[test]
    fn every_action_is_bound_once() {
        for (n, binding) in BINDINGS.iter().enumerate() {
            assert!(BINDINGS[..n].iter().all(|b| b.action != binding.action));
        }
    }
}

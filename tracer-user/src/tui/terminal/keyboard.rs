//! Keys: a thread that reads the terminal and hands over what was typed.

use std::{
    fs::File,
    io::{self, IsTerminal},
    os::fd::{AsFd, BorrowedFd},
    thread,
    time::Duration,
};

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::tui::keys::Key;

/// How long to wait for what is there already: crossterm does not look at all when it may not
/// wait.
const AT_HAND: Duration = Duration::from_millis(1);

/// What comes from the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Typed {
    /// A key.
    Key(Key),
    /// The terminal is gone: nothing comes any more.
    Gone,
}

/// Starts to read keys. The thread ends with the process or the terminal.
///
/// # Errors
/// There is no terminal to read from.
pub(in crate::tui) fn listen() -> anyhow::Result<UnboundedReceiver<Typed>> {
    let (to, from) = unbounded_channel();
    // The same choice as crossterm's: standard input may be the recording.
    let tty = if io::stdin().is_terminal() {
        None
    } else {
        Some(File::open("/dev/tty").context("cannot read keys: no terminal")?)
    };
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            let stdin = io::stdin();
            let fd = tty.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
            while read(fd, &to) {}
            // Nobody may listen any more.
            let _ = to.send(Typed::Gone);
        })
        .context("cannot start the thread that reads keys")?;
    Ok(from)
}

/// Waits for keys and hands them over; false when there are no more.
///
/// crossterm reads on and on from a terminal that is gone, so it is asked only when there is
/// something to read and nobody has hung up.
fn read(fd: BorrowedFd<'_>, to: &UnboundedSender<Typed>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    match poll(&mut fds, None) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return true,
        Err(_) => return false,
    }
    let found = fds[0].revents();
    if found.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return false;
    }
    loop {
        match event::poll(AT_HAND) {
            Ok(false) => return true,
            Ok(true) => {}
            Err(_) => return false,
        }
        match event::read() {
            Ok(Event::Key(key)) => {
                if let Some(key) = translate(key)
                    && to.send(Typed::Key(key)).is_err()
                {
                    return false;
                }
            }
            // Sizes come by signal; nothing else was asked for.
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn translate(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char(c) if ctrl => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_for_what_they_are() {
        let key = |code, modifiers| translate(KeyEvent::new(code, modifiers));
        assert_eq!(
            key(KeyCode::Char('S'), KeyModifiers::SHIFT),
            Some(Key::Char('S'))
        );
        assert_eq!(
            key(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Key::Ctrl('c'))
        );
        assert_eq!(key(KeyCode::Char('x'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::F(1), KeyModifiers::NONE), None);
    }

    #[test]
    fn a_terminal_that_hung_up_ends_the_reading() {
        let (ours, theirs) = io::pipe().unwrap();
        drop(theirs);
        let (to, _from) = unbounded_channel();
        assert!(!read(ours.as_fd(), &to));
    }
}

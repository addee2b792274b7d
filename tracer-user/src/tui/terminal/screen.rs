//! Raw mode and the alternate screen, and how they are given back: on drop, and on a panic of
//! any thread before its message is printed.

use std::{
    io::{self, Stdout, Write},
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ratatui::{
    Frame, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        ExecutableCommand,
        cursor::{Hide, Show},
        terminal::{
            Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
            enable_raw_mode,
        },
    },
};

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// It was given back, by this or by a panic: nothing is drawn.
    is_ours: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// There is none, or it cannot be set.
    pub(super) fn enter() -> io::Result<Self> {
        let is_ours = Arc::new(AtomicBool::new(false));
        let mut screen = Self {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout()))?,
            is_ours: Arc::clone(&is_ours),
        };
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back(&is_ours);
            previous(info);
        }));
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        self.is_ours.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        io::stdout().execute(EnterAlternateScreen)?.execute(Hide)?;
        self.terminal.clear()
    }

    /// Gives the terminal back for a while.
    pub(super) fn suspend(&mut self) {
        give_back(&self.is_ours);
    }

    /// Takes it again.
    ///
    /// # Errors
    /// It is gone.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.take()
    }

    /// Everything is drawn anew with the next frame.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if self.is_ours.load(Ordering::SeqCst) {
            self.terminal.draw(draw)?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.is_ours);
        if !std::thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// Gives the terminal back, once. What fails here fails because there is no terminal any more.
fn give_back(is_ours: &AtomicBool) {
    if !is_ours.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // tmux moves what is left on a screen that was made larger meanwhile to the shell's lines.
    let _ = out.execute(Clear(ClearType::All));
    let _ = out.execute(LeaveAlternateScreen);
    let _ = out.execute(Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use ratatui::text::Text;
    use zvoltrace_tests::{
        rights::{Need, live},
        tmux::Tmux,
    };

    use super::*;

    const ON_SCREEN: &str = "drawn before it broke down";

    #[test]
    #[ignore = "panics; run in a terminal by the test below"]
    fn panics_on_another_thread_with_the_screen_up() {
        let mut screen = Screen::enter().unwrap();
        screen
            .draw(|frame| frame.render_widget(Text::raw(ON_SCREEN), frame.area()))
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let broken = std::thread::spawn(|| panic!("on purpose")).join();
        screen
            .draw(|_| panic!("nothing is drawn any more"))
            .unwrap();
        assert!(broken.is_ok(), "the end");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_says_anything() {
        if !live(&[Need::Tmux]) {
            return;
        }
        let terminal = Tmux::new(100, 40);
        let this = std::env::current_exe().unwrap();
        terminal.line(&format!(
            "clear; RUST_BACKTRACE=0 {} --nocapture --ignored --exact {}::panics_on_another_thread_with_the_screen_up",
            this.display(),
            module_path!().split_once("::").unwrap().1,
        ));
        terminal.wait_for(ON_SCREEN);
        let screen = terminal.wait_for("the end");
        assert!(screen.contains("on purpose"), "{screen}");
        assert!(!screen.contains(ON_SCREEN), "{screen}");
        assert!(!screen.contains("nothing is drawn"), "{screen}");
        assert!(!terminal.is_on_alternate_screen());
        terminal.assert_sane();
    }
}

//! A terminal of a known size with a shell in it, by tmux: keys in, the screen as text out.
//!
//! Every terminal is a server of its own, without anybody's configuration, and is gone when it is
//! dropped.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::run;

/// Longest wait for anything: generous, since machines under test are slow at times.
const PATIENCE: Duration = Duration::from_mins(1);
/// Time between two looks at the screen.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What the shell prints when it is ready.
pub const PROMPT: &str = "ready>";

/// A terminal with a shell.
#[derive(Debug)]
pub struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// A terminal of this size. Its shell's folder is [`Self::folder`].
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new(columns: u16, lines: u16) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let tmux = Self { folder };
        let shell = format!("env PS1='{PROMPT} ' LC_ALL=C.UTF-8 bash --norc --noprofile");
        tmux.command(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &columns.to_string(),
            "-y",
            &lines.to_string(),
            &shell,
        ]);
        // The size stays what it is told to be though nobody is attached.
        tmux.command(&["set-option", "-g", "window-size", "manual"]);
        tmux.wait_for(PROMPT);
        tmux
    }

    /// Folder of the shell; empty at first, but for tmux's own socket.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn command(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command
            .current_dir(self.folder.path())
            .env_remove("TMUX")
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .args(args);
        run(&mut command).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Presses keys, in tmux's names: `q`, `Enter`, `C-z`, `Down`.
    pub fn press(&self, keys: &[&str]) {
        let mut args = vec!["send-keys"];
        args.extend(keys);
        self.command(&args);
    }

    /// Types a line and Enter.
    pub fn line(&self, text: &str) {
        self.command(&["send-keys", "-l", text]);
        self.press(&["Enter"]);
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.command(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// What is on the screen.
    #[must_use]
    pub fn screen(&self) -> String {
        self.command(&["capture-pane", "-p"])
    }

    /// Whether a program holds the alternate screen.
    #[must_use]
    pub fn is_on_alternate_screen(&self) -> bool {
        self.command(&["display-message", "-p", "#{alternate_on}"])
            .trim()
            == "1"
    }

    /// Whether anything on the screen has a colour.
    #[must_use]
    pub fn is_colored(&self) -> bool {
        // SGR parameters from 30 on are colours; below are bold, reverse and the like.
        let screen = self.command(&["capture-pane", "-p", "-e"]);
        screen.split("\u{1b}[").skip(1).any(|rest| {
            let parameters = rest.split('m').next().unwrap_or_default();
            parameters.split(';').any(|n| {
                n.parse::<u32>()
                    .is_ok_and(|n| n >= 30 && n != 39 && n != 49)
            })
        })
    }

    /// Asserts that the terminal's settings are a shell's: lines, echo, signals.
    ///
    /// # Panics
    /// When they are not.
    pub fn assert_sane(&self) {
        let settings = "icanon|echo|isig|icrnl|opost";
        self.line(&format!(
            "clear; stty -a | tr ' ;' '\\n\\n' | grep -Ecx '{settings}'"
        ));
        self.wait("5 settings", |screen| {
            screen.lines().any(|line| line.trim() == "5")
        });
    }

    /// Closes the terminal under whatever runs in it.
    pub fn close(&self) {
        self.command(&["kill-server"]);
    }

    /// Waits for a text on the screen; the screen then.
    ///
    /// # Panics
    /// When it does not come within a minute.
    #[allow(clippy::must_use_candidate, reason = "most wait only")]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted; the screen then.
    ///
    /// # Panics
    /// When it is not within a minute.
    pub fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain: {what}; on the screen:\n{screen}"
            );
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Closed already, perhaps.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .arg("kill-server")
            .output();
    }
}

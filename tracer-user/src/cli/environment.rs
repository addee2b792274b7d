//! What the process finds around it: arguments, terminals, locale. Read once, at start; nothing
//! else of the command line looks at the environment.

use std::{ffi::OsString, fs::File, io::IsTerminal};

use crate::tracer::Copies;

/// Facts about this process's surroundings.
#[derive(Clone, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct Environment {
    /// Arguments without the program's name.
    pub args: Vec<String>,
    /// Standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Keys can be read: standard input is a terminal, or the process has one.
    pub has_keyboard: bool,
    /// `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// `ZVOLTRACE_KERNEL_LOG` is set and not empty.
    pub kernel_log: bool,
    /// `ZVOLTRACE_HOOK_COPIES`, a list such as `1,2`: copies of each hook to attach, for tests.
    pub copies: Option<Copies>,
    /// `TERM` is `dumb` or not set.
    pub dumb_terminal: bool,
    /// The terminal has the palette of 256 colours, by `TERM` or `COLORTERM`.
    pub colors_256: bool,
    /// The locale's character set is UTF-8.
    pub unicode: bool,
}

impl Environment {
    /// Reads the process's own.
    #[must_use]
    pub fn of_process(args: &[OsString]) -> Self {
        let text = |args: &[OsString]| {
            args.iter()
                .skip(1)
                .map(|a| a.to_string_lossy().into_owned())
                .collect()
        };
        Self {
            args: text(args),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            has_keyboard: std::io::stdin().is_terminal() || File::open("/dev/tty").is_ok(),
            ..Self::of_variables(|name| std::env::var_os(name))
        }
    }

    /// The part that comes from variables, through `get`.
    fn of_variables(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        // POSIX: the first of these that is set and not empty decides; none means "C".
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.unwrap_or_default().to_string_lossy().to_lowercase();
        Self {
            no_color: set("NO_COLOR").is_some(),
            kernel_log: set("ZVOLTRACE_KERNEL_LOG").is_some(),
            copies: set("ZVOLTRACE_HOOK_COPIES")
                .and_then(|list| Copies::parse(&list.to_string_lossy())),
            dumb_terminal: set("TERM").is_none_or(|term| term == "dumb"),
            colors_256: set("COLORTERM").is_some()
                || set("TERM").is_some_and(|term| term.to_string_lossy().contains("256color")),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(set: &[(&str, &str)]) -> Environment {
        Environment::of_variables(|name| {
            set.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_first_locale_variable_that_is_set_decides_the_characters() {
        assert!(variables(&[("LANG", "de_DE.UTF-8")]).unicode);
        assert!(variables(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).unicode);
        assert!(!variables(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).unicode);
        assert!(!variables(&[]).unicode);
    }

    #[test]
    fn a_variable_that_is_empty_is_not_set() {
        assert!(variables(&[("NO_COLOR", "1"), ("TERM", "xterm")]).no_color);
        assert!(!variables(&[("NO_COLOR", "")]).no_color);
        assert!(variables(&[("TERM", "dumb")]).dumb_terminal);
        assert!(variables(&[]).dumb_terminal);
        assert!(!variables(&[("TERM", "xterm")]).dumb_terminal);
    }
}

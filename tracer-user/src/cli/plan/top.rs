//! Plan of `top`.

use std::path::PathBuf;

use super::TracePlan;
use crate::{
    analysis,
    cli::{
        Environment, Refusal,
        args::{ColorWhen, TopArgs},
    },
    tui::style::{Colors, Style},
};

/// Where `top` takes its inputs from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopFrom {
    /// Tracing.
    Live {
        /// What is traced.
        trace: TracePlan,
        /// Ask zpool for the layout of the pools.
        ask_zpool: bool,
    },
    /// Files that were kept.
    Files {
        /// Files, folders or base names.
        inputs: Vec<PathBuf>,
        /// Block size for disks whose own is not in the input.
        block_size_bytes: Option<u64>,
        /// Arguments as given, for inputs that do not hold those of the capture.
        args: Vec<String>,
    },
}

/// Plan of `top`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopPlan {
    /// What is shown.
    pub from: TopFrom,
    /// How it is analysed.
    pub analysis: analysis::Options,
    /// What the terminal can show.
    pub style: Style,
}

impl TopPlan {
    /// Resolves the arguments of `top`.
    ///
    /// # Errors
    /// There is no terminal to draw on.
    pub fn resolve(args: TopArgs, env: &Environment) -> Result<Self, Refusal> {
        require_a_terminal(env)?;
        Ok(Self {
            from: if args.from.is_empty() {
                TopFrom::Live {
                    trace: TracePlan::resolve(args.trace, env),
                    ask_zpool: args.pool.ask_zpool,
                }
            } else {
                TopFrom::Files {
                    inputs: args.from,
                    block_size_bytes: args.trace.block_size,
                    args: env.args.clone(),
                }
            },
            analysis: super::analysis(&args.pool.told),
            style: Style {
                colors: colors(args.color, env),
                unicode: env.unicode,
            },
        })
    }
}

/// Refuses where nothing can be drawn, and says which verbs need no screen.
fn require_a_terminal(env: &Environment) -> Result<(), Refusal> {
    let why = if !env.stdout_is_terminal {
        "standard output is no terminal"
    } else if env.dumb_terminal {
        "TERM says that the terminal cannot be drawn on (it is dumb or not set)"
    } else if !env.has_keyboard {
        "there is no terminal to read keys from"
    } else {
        return Ok(());
    };
    Err(Refusal::Usage(format!(
        "top needs a terminal, and {why}: use `zvoltrace capture` for a report, or \
         `zvoltrace events` for one line an I/O"
    )))
}

fn colors(when: ColorWhen, env: &Environment) -> Colors {
    match when {
        ColorWhen::Never => Colors::None,
        ColorWhen::Auto if env.no_color => Colors::None,
        _ if env.colors_256 => Colors::Indexed,
        _ => Colors::Sixteen,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Cli, Verb};

    fn terminal() -> Environment {
        Environment {
            stdout_is_terminal: true,
            has_keyboard: true,
            unicode: true,
            colors_256: true,
            ..Environment::default()
        }
    }

    fn plan(line: &str, env: &Environment) -> Result<TopPlan, Refusal> {
        match Cli::try_parse_from(line.split_whitespace()).unwrap().verb {
            Verb::Top(args) => TopPlan::resolve(args, env),
            verb => panic!("{verb:?}"),
        }
    }

    #[test]
    fn without_a_terminal_the_verbs_that_need_none_are_named() {
        let cases = [
            (
                Environment {
                    stdout_is_terminal: false,
                    ..terminal()
                },
                "standard output",
            ),
            (
                Environment {
                    dumb_terminal: true,
                    ..terminal()
                },
                "dumb",
            ),
            (
                Environment {
                    has_keyboard: false,
                    ..terminal()
                },
                "keys",
            ),
        ];
        for (env, why) in cases {
            let error = plan("zvoltrace top", &env).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(error.contains("`zvoltrace capture`"), "{error}");
        }
    }

    #[test]
    fn colours_follow_the_flag_then_no_color_then_the_terminal() {
        let colors = |line: &str, env: &Environment| plan(line, env).unwrap().style.colors;
        let no_color = Environment {
            no_color: true,
            ..terminal()
        };
        let sixteen = Environment {
            colors_256: false,
            ..terminal()
        };
        assert_eq!(colors("zvoltrace top", &terminal()), Colors::Indexed);
        assert_eq!(colors("zvoltrace top", &sixteen), Colors::Sixteen);
        assert_eq!(colors("zvoltrace top", &no_color), Colors::None);
        assert_eq!(
            colors("zvoltrace top --color always", &no_color),
            Colors::Indexed
        );
        assert_eq!(
            colors("zvoltrace top --color never", &terminal()),
            Colors::None
        );
    }

    #[test]
    fn files_are_shown_instead_of_tracing() {
        let plan = plan(
            "zvoltrace top --from a --from b --block-size 8K",
            &terminal(),
        )
        .unwrap();
        let TopFrom::Files {
            inputs,
            block_size_bytes,
            ..
        } = plan.from
        else {
            panic!("live")
        };
        assert_eq!(inputs.len(), 2);
        assert_eq!(block_size_bytes, Some(8192));
        let both = Cli::try_parse_from(["zvoltrace", "top", "zd0", "--from", "a"]);
        assert!(both.is_err());
    }
}

//! Tools that are not part of a Rust toolchain: whether they are there, and how to get them.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::process;

/// Where a tool comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A crate on crates.io, built by `cargo install`.
    Crate(&'static str),
    /// A package of Debian and Ubuntu.
    Debian(&'static str),
}

/// A tool that a verb runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// Program.
    pub(crate) program: &'static str,
    /// Arguments with which it ends at once and with 0.
    pub(crate) probe: &'static [&'static str],
    /// What it is needed for.
    pub(crate) purpose: &'static str,
    /// Where it comes from.
    pub(crate) source: Source,
}

impl Tool {
    /// Whether it can be run.
    pub(crate) fn is_present(&self) -> bool {
        Command::new(self.program)
            .args(self.probe)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// The command that gets it.
    fn remedy(&self) -> String {
        match self.source {
            Source::Crate(name) => format!("cargo install --locked {name}"),
            Source::Debian(name) => format!("apt-get install {name}"),
        }
    }

    fn install(&self) -> Result<()> {
        match self.source {
            Source::Crate(name) => {
                process::run(process::cargo().args(["install", "--locked", name]))
            }
            Source::Debian(name) => apt_install(&[name]),
        }
    }
}

/// Whether a verb installs what it lacks: when told to, and in CI, where nobody could.
pub(crate) fn may_install(flag: bool) -> bool {
    flag || std::env::var_os("CI").is_some()
}

/// Installs those that are missing, or fails and names each with its remedy.
pub(crate) fn require(tools: &[Tool], install: bool) -> Result<()> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.is_present()).collect();
    if install {
        return missing.iter().try_for_each(|tool| tool.install());
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\n(or let `--install` do it)",
        missing
            .iter()
            .map(|tool| format!(
                "{} is missing, {}: {}",
                tool.program,
                tool.purpose,
                tool.remedy()
            ))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

/// Installs Debian's packages, as root and without questions.
pub(crate) fn apt_install(packages: &[&str]) -> Result<()> {
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    process::run(apt().args(["update", "--quiet"]))?;
    process::run(
        apt()
            .args(["install", "--quiet", "--yes", "--no-install-recommends"])
            .args(packages),
    )
}

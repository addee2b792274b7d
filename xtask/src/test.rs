//! `cargo xtask test`: every test there is, by one command.
//!
//! The runner's summary is the last line it prints, so documentation tests run first.

use std::path::Path;

use anyhow::Result;
use zvoltrace_tests::{binary, rights};

use crate::tool::{self, Source, Tool};
use crate::{process, python, workspace};

const NEXTEST: Tool = Tool {
    program: "cargo-nextest",
    probe: &["nextest", "--version"],
    purpose: "to run the tests",
    source: Source::Crate("cargo-nextest"),
};

/// Other people's programs that read what zvoltrace writes, or show it.
const READERS: [Tool; 3] = [
    Tool {
        program: "fio",
        probe: &["--version"],
        purpose: "to replay what is exported for it",
        source: Source::Debian("fio"),
    },
    Tool {
        program: "blkparse",
        probe: &["--version"],
        purpose: "to read what is exported for it",
        source: Source::Debian("blktrace"),
    },
    Tool {
        program: "tmux",
        probe: &["-V"],
        purpose: "to look at the screen of top",
        source: Source::Debian("tmux"),
    },
];

/// Options of the verb.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Install what is missing (as root; the default when the variable CI is set).
    #[arg(long)]
    install: bool,
    /// Passed on to `cargo nextest run`.
    #[arg(last = true)]
    nextest: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    let install = tool::may_install(options.install);
    tool::require(&[NEXTEST], install)?;
    if let Err(error) = tool::require(&READERS, install) {
        println!("test: some tests skip themselves:\n{error}");
    }
    let python = match python::environment() {
        Ok(python) => Some(python),
        Err(error) => {
            println!("test: tests that read Parquet skip themselves: {error:#}");
            None
        }
    };
    if !rustix::process::geteuid().is_root() {
        println!(
            "test: live tests skip themselves: they need root, to load eBPF programs and to make \
             block devices"
        );
    }

    let cargo = |args: &[&str]| {
        let mut cargo = process::cargo();
        cargo.current_dir(root).args(args);
        cargo
    };
    process::run(&mut cargo(&["build", "--locked", "--bin", "zvoltrace"]))?;
    process::run(&mut cargo(&["test", "--locked", "--quiet", "--doc"]))?;
    let mut nextest = cargo(&["nextest", "run", "--locked"]);
    let built = workspace::target_dir()?.join("debug/zvoltrace");
    nextest.env(binary::BINARY, built);
    if let Some(python) = python {
        nextest.env(python::VARIABLE, python);
    }
    if tool::may_install(false) {
        nextest.args(["--profile", "ci"]);
    }
    // A machine in CI without block devices must not look like a green one.
    if std::env::var_os(rights::REQUIRE_LIVE).is_some() && !Path::new("/dev/loop-control").exists()
    {
        let _ = process::run(std::process::Command::new("modprobe").args(["-a", "loop", "zram"]));
    }
    process::run(nextest.args(&options.nextest))
}

//! `cargo xtask fuzz`: every decoder against damaged input, one after the other.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use crate::tool::{self, Source, Tool};
use crate::{process, workspace};

/// What is run and for how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Targets, by their names in fuzz/Cargo.toml [default: all].
    targets: Vec<String>,
    /// Seconds for each.
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// Install cargo-fuzz when it is missing.
    #[arg(long)]
    install: bool,
}

/// Instrumentation is a nightly toolchain's (`rustup toolchain install nightly`).
const TOOL: Tool = Tool {
    program: "cargo",
    probe: &["+nightly", "fuzz", "--version"],
    purpose: "with nightly and cargo-fuzz",
    source: Source::Crate("cargo-fuzz"),
};

/// Memory that an input may take at most, MiB.
const MEMORY_MIB: u32 = 1024;

/// Runs the targets; the first input that breaks one is kept in fuzz/artifacts and ends it.
pub(crate) fn run(options: &Options) -> Result<()> {
    tool::require(&[TOOL], tool::may_install(options.install))?;
    let folder = workspace::root()?.join("fuzz");
    let targets = if options.targets.is_empty() {
        all(&folder)?
    } else {
        options.targets.clone()
    };
    for target in targets {
        let corpus = folder.join("corpus").join(&target);
        fs::create_dir_all(&corpus)?;
        println!("xtask: fuzzing {target} for {} s", options.seconds);
        // The toolchain is chosen by rustup's cargo, not by the one that runs this.
        let mut fuzz = process::detached("cargo");
        fuzz.args(["+nightly", "fuzz", "run", "--fuzz-dir"])
            .arg(&folder)
            .arg(&target)
            .arg(&corpus)
            .arg(folder.join("seeds").join(&target))
            .args([
                "--",
                &format!("-max_total_time={}", options.seconds),
                &format!("-rss_limit_mb={MEMORY_MIB}"),
            ]);
        process::run(&mut fuzz)?;
    }
    Ok(())
}

fn all(folder: &std::path::Path) -> Result<Vec<String>> {
    let folder = folder.join("fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name: OsString = entry?.path().file_stem().unwrap_or_default().to_os_string();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

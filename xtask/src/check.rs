//! `cargo xtask check`: formatting, lints, licences, documentation and the age of the eBPF
//! object. Changes nothing. Every step runs, so that one call shows everything there is to do.

use std::process::Command;

use anyhow::{Result, bail};

use crate::tool::{self, Source, Tool};
use crate::{build_ebpf, process, workspace};

const CARGO_DENY: Tool = Tool {
    program: "cargo-deny",
    probe: &["--version"],
    purpose: "to check licences and sources of dependencies",
    source: Source::Crate("cargo-deny"),
};

/// Everything but the kernel half, which has a target of its own.
const HOST: [&str; 4] = ["--workspace", "--exclude", "tracer-ebpf", "--locked"];

/// The documentation is for those who work on the code, so links to private items are fine.
const PRIVATE_DOCS: &str = "--deny warnings --allow rustdoc::private_intra_doc_links";

/// Options of the verb.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Install what is missing (as root; the default when the variable CI is set).
    #[arg(long)]
    install: bool,
}

/// A step's name, and what it does.
type Step<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// Runs the verb.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    let install = tool::may_install(options.install);
    let cargo = |args: &[&str]| {
        let mut cargo = process::cargo();
        cargo.current_dir(root).args(args);
        cargo
    };
    let steps: [Step; 6] = [
        ("formatting", &|| {
            process::run(&mut cargo(&["fmt", "--all", "--check"]))
        }),
        ("clippy", &|| {
            let mut clippy = cargo(&["clippy", "--all-targets"]);
            process::run(clippy.args(HOST).args(["--", "--deny", "warnings"]))
        }),
        ("clippy of the kernel half", &|| build_ebpf::clippy(install)),
        ("eBPF object", &|| build_ebpf::check(root)),
        ("documentation", &|| {
            let mut doc = cargo(&["doc", "--no-deps", "--document-private-items"]);
            process::run(doc.args(HOST).env("RUSTDOCFLAGS", PRIVATE_DOCS))
        }),
        ("dependencies", &|| {
            tool::require(&[CARGO_DENY], install)?;
            dependencies(&cargo)
        }),
    ];
    let mut failed = Vec::new();
    for (name, step) in steps {
        println!("check: {name}");
        if let Err(error) = step() {
            eprintln!("check: {name}: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("check: all good");
    Ok(())
}

/// Licences, sources and bans; advisories where their database can be had.
fn dependencies(cargo: &dyn Fn(&[&str]) -> Command) -> Result<()> {
    let mut deny = cargo(&["deny", "--log-level", "error", "check"]);
    deny.args(["--show-stats", "bans", "licenses", "sources"]);
    if process::output(&mut cargo(&["deny", "fetch", "db"])).is_ok() {
        deny.arg("advisories");
    } else {
        println!("check: advisories not looked at: their database is out of reach");
    }
    process::run(&mut deny)
}

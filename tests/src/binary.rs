//! The binary under test.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Names a binary to test instead of the one that cargo builds; `cargo xtask test` sets it.
pub const BINARY: &str = "ZVOLTRACE_BIN";

/// Path of `zvoltrace`. Unless [`BINARY`] names one it is built first, so that a test that is run
/// on its own never meets an old one.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn zvoltrace() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| env::var_os(BINARY).map_or_else(build, PathBuf::from))
        .clone()
}

/// A command of the binary under test.
#[must_use]
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(zvoltrace());
    command.args(args);
    command
}

fn build() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--bin", "zvoltrace"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status()
        .unwrap_or_else(|error| panic!("cannot run cargo to build zvoltrace: {error}"));
    assert!(built.success(), "zvoltrace does not build");
    // <target>/debug/deps/<test>
    let test = env::current_exe().unwrap_or_else(|error| panic!("no path of this test: {error}"));
    let Some(profile) = test.ancestors().nth(2) else {
        panic!("{} is not in a target folder", test.display());
    };
    profile.join("zvoltrace")
}

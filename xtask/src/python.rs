//! A Python of our own with the libraries that read Parquet and Arrow: an opinion about our files
//! that is not ours.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// Tells tests where the interpreter is.
pub(crate) const VARIABLE: &str = "ZVOLTRACE_PYTHON";

/// Pinned, so that a release of theirs does not fail a build of ours.
const REQUIREMENTS: &str = "duckdb==2.0.1\npolars==2.1.0\npyarrow==26.0.1\n";

/// The interpreter, in a virtual environment in the cache folder; made when it is not there.
pub(crate) fn environment() -> Result<PathBuf> {
    let folder = workspace::cache_dir()?.join("python");
    let interpreter = folder.join("bin/python");
    // Written last: with it the environment is whole.
    let stamp = folder.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(interpreter);
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    process::output(&mut venv).context("no Python environment (apt-get install python3-venv)")?;
    let mut pip = Command::new(&interpreter);
    pip.args(["-m", "pip", "install", "--quiet"]);
    process::run(pip.args(REQUIREMENTS.lines()))?;
    fs::write(&stamp, REQUIREMENTS)?;
    Ok(interpreter)
}

//! Where things are: the checkout, the target folder, the cache.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the checkout that xtask was built from.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies at the root of the file system")
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let root = root()?;
    Ok(match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    })
}

/// `$HOME`.
pub(crate) fn home() -> Result<PathBuf> {
    env::home_dir().context("no home folder: set HOME")
}

/// Where cargo keeps the registry and what it installs.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Ok(home()?.join(".cargo")),
    }
}

/// What is dear to make and outlives a checkout: `$ZVOLTRACE_CACHE`, else `~/.cache/zvoltrace`.
pub(crate) fn cache_dir() -> Result<PathBuf> {
    match env::var_os("ZVOLTRACE_CACHE") {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Ok(home()?.join(".cache/zvoltrace")),
    }
}

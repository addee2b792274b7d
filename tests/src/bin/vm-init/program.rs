//! Running the system's programs.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Where programs lie; PID 1 starts without a `PATH`.
pub(crate) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A command with the surroundings of a root shell.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(find(name));
    command
        .env("PATH", PATH)
        .env("HOME", "/root")
        .env("LC_ALL", "C");
    command
}

/// Runs to the end with the console's output.
pub(crate) fn run(name: &str, args: &[&str]) -> Result<()> {
    let status = command(name)
        .args(args)
        .status()
        .with_context(|| format!("cannot run {name}"))?;
    if !status.success() {
        bail!("{name} {} failed: {status}", args.join(" "));
    }
    Ok(())
}

/// Runs to the end; what it printed.
pub(crate) fn output(name: &str, args: &[&str]) -> Result<String> {
    let output = command(name)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        bail!(
            "{name} {} failed: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the image has the program.
pub(crate) fn exists(name: &str) -> bool {
    find(name).starts_with('/')
}

/// Its path; the bare name when it is not there, so that the error names it.
fn find(name: &str) -> String {
    PATH.split(':')
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| !name.starts_with('/') && std::path::Path::new(path).exists())
        .unwrap_or_else(|| name.to_owned())
}

//! Programs of the host that building and booting need, and how they are installed when the
//! machine is a Debian one and we are root. Leaves the host's apt sources alone.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

use super::cache;
use super::mirror::{Mirror, PrivateApt};

/// A program and the Debian package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    program: &'static str,
    package: &'static str,
}

/// To build an image.
pub(crate) const BUILD: [Need; 4] = [
    Need {
        program: "debootstrap",
        package: "debootstrap",
    },
    Need {
        program: "mkfs.ext4",
        package: "e2fsprogs",
    },
    Need {
        program: "xz",
        package: "xz-utils",
    },
    Need {
        program: "unshare",
        package: "util-linux",
    },
];

/// To boot one.
pub(crate) const BOOT: [Need; 2] = [
    Need {
        program: "qemu-system-x86_64",
        package: "qemu-system-x86",
    },
    Need {
        program: "setpriv",
        package: "util-linux",
    },
];

/// Installs the packages whose programs are missing, or names them.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let missing: Vec<_> = missing(needs).map(|need| need.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !rustix::process::geteuid().is_root() || !on_path("apt-get") {
        bail!("missing on this machine: {names}; install them and run this again");
    }
    eprintln!("installing {names}");
    install(&missing).with_context(|| format!("cannot install {names} by myself"))?;
    match self::missing(needs).next() {
        Some(need) => bail!(
            "{} is installed, but {} is not on PATH",
            need.package,
            need.program
        ),
        None => Ok(()),
    }
}

fn missing(needs: &[Need]) -> impl Iterator<Item = &Need> {
    needs.iter().filter(|need| !on_path(need.program))
}

fn install(packages: &[&str]) -> Result<()> {
    let mirror = Mirror::of_this_machine()?;
    let codename = codename()?;
    let backports = format!("{codename}-backports");
    let plain = format!("{codename} main");
    let newer = format!("{backports} main");
    let apt = PrivateApt::new(
        &cache::folder()?.join("host.apt"),
        &mirror,
        &[&plain, &newer],
    )?;
    apt.update()?;
    let install = |release: &str| {
        let mut command = apt.command("apt-get");
        command.args([
            "install",
            "-y",
            "--no-install-recommends",
            "--no-remove",
            "-t",
            release,
        ]);
        process::output(command.args(packages)).map(drop)
    };
    // With qemu-utils from backports installed, the release's own QEMU would remove it:
    // then, and only then, QEMU has to come from backports too.
    install(&codename).or_else(|_| install(&backports))
}

fn codename() -> Result<String> {
    let text = std::fs::read_to_string("/etc/os-release")?;
    text.lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .map(|name| name.trim_matches('"').to_owned())
        .context("/etc/os-release names no release")
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders
        .into_iter()
        .any(|folder| folder.join(program).is_file())
}

/// Fails unless this process may make mounts.
pub(crate) fn require_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let user = Command::new("id")
        .arg("-un")
        .output()
        .map(|out| out.stdout)
        .unwrap_or_default();
    bail!(
        "building a machine needs root (debootstrap, mounts), and this is {}; run it with sudo",
        String::from_utf8_lossy(&user).trim()
    )
}

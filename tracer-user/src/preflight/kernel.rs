//! The kernel: its version, what locks it down, and the settings that bear on BPF.

use std::fs;

use super::Check;
use crate::device::{
    Roots,
    roots::{read_number, read_text, read_word},
};

/// First kernel that is supported.
const FLOOR: (u32, u32) = (5, 10);
/// Longest list of mounts that is read.
const MOUNTS_BYTES: u64 = 1 << 20;

/// Release of the running kernel.
#[derive(Clone, Debug)]
pub(super) struct Release {
    text: String,
    /// Major and minor version; `None` when the text has none.
    version: Option<(u32, u32)>,
}

impl Release {
    pub(super) fn read(roots: &Roots) -> Self {
        let text = read_word(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default();
        let mut parts = text.split(|character: char| !character.is_ascii_digit());
        let major = parts.next().and_then(|part| part.parse().ok());
        let minor = parts.next().and_then(|part| part.parse().ok());
        Self {
            version: major.zip(minor),
            text,
        }
    }

    /// Whether it is surely older than a version.
    pub(super) fn is_before(&self, version: (u32, u32)) -> bool {
        self.version.is_some_and(|own| own < version)
    }
}

pub(super) fn version(release: &Release) -> Check {
    let id = "kernel";
    let (major, minor) = FLOOR;
    match release.version {
        None => Check::warning(
            id,
            format!("its version cannot be told from '{}'", release.text),
            format!("make sure that it is {major}.{minor} or later"),
        ),
        Some(_) if release.is_before(FLOOR) => Check::missing(
            id,
            format!("{} is too old", release.text),
            format!("boot {major}.{minor} or later"),
        ),
        Some(_) => Check::ok(id, &release.text),
    }
}

/// The mode stands in brackets: `none [integrity] confidentiality`
/// (`security/lockdown/lockdown.c`).
pub(super) fn lockdown(roots: &Roots) -> Check {
    let id = "lockdown";
    let modes = read_word(&roots.sys.join("kernel/security/lockdown")).unwrap_or_default();
    let mode = modes
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(mode, _)| mode);
    match mode {
        Some("confidentiality") => Check::missing(
            id,
            "confidentiality: programs may not read the kernel's memory, with whatever right",
            "boot with lockdown=integrity or lockdown=none; it cannot be lowered while running",
        ),
        Some("integrity") => Check::ok(id, "integrity (Secure Boot): tracing is allowed"),
        Some(mode) => Check::ok(id, mode),
        None => Check::ok(
            id,
            "none (the kernel has none, or securityfs is not mounted)",
        ),
    }
}

/// Not needed, but the first thing that is suspected when tracing fails.
pub(super) fn tracefs(roots: &Roots) -> Check {
    let tracing = ["kernel/tracing", "kernel/debug/tracing"];
    let is_empty = tracing.iter().all(|path| {
        fs::read_dir(roots.sys.join(path)).map_or(true, |mut entries| entries.next().is_none())
    });
    let found = match (is_mounted(roots, "tracefs"), is_empty) {
        (true, true) => {
            "mounted but empty; not needed: tracepoints are reached through BTF \
             (perf, bpftrace and blktrace do need it)"
        }
        (true, false) => "mounted; not needed",
        (false, _) => "not mounted; not needed: tracepoints are reached through BTF",
    };
    Check::ok("tracefs", found)
}

/// Not needed either.
pub(super) fn debugfs(roots: &Roots) -> Check {
    let command_line = read_word(&roots.proc.join("cmdline")).unwrap_or_default();
    let is_off = command_line
        .split_ascii_whitespace()
        .any(|word| word == "debugfs=off");
    let found = if is_off {
        "switched off at boot (debugfs=off); not needed (blktrace does need it)"
    } else if is_mounted(roots, "debugfs") {
        "mounted; not needed"
    } else {
        "not mounted; not needed"
    };
    Check::ok("debugfs", found)
}

fn is_mounted(roots: &Roots, kind: &str) -> bool {
    read_text(&roots.proc.join("self/mounts"), MOUNTS_BYTES)
        .unwrap_or_default()
        .lines()
        .any(|line| line.split(' ').nth(2) == Some(kind))
}

pub(super) fn sysctls(roots: &Roots) -> Vec<Check> {
    let sysctl = roots.proc.join("sys");
    let value = |name: &str| read_number::<i64>(&sysctl.join(name));
    let mut checks = Vec::new();
    if let Some(value) = value("kernel/unprivileged_bpf_disabled") {
        checks.push(Check::ok(
            "kernel.unprivileged_bpf_disabled",
            format!("{value}; any value will do, with the capabilities above"),
        ));
    }
    if let Some(value) = value("kernel/perf_event_paranoid") {
        checks.push(Check::ok(
            "kernel.perf_event_paranoid",
            format!("{value}; any value will do: no perf events are used"),
        ));
    }
    match value("kernel/bpf_stats_enabled") {
        Some(0) => checks.push(Check::ok(
            "kernel.bpf_stats_enabled",
            "0: what the hooks cost is not measured (1 measures it and costs a little)",
        )),
        Some(value) => checks.push(Check::ok(
            "kernel.bpf_stats_enabled",
            format!("{value}: what the hooks cost is measured"),
        )),
        None => {}
    }
    if value("net/core/bpf_jit_enable") == Some(0) {
        checks.push(Check::warning(
            "net.core.bpf_jit_enable",
            "0: the hooks are interpreted, which costs several times as much",
            "sysctl net.core.bpf_jit_enable=1",
        ));
    }
    checks
}

//! Whether this machine can run a live test, and what it says when it cannot.

use std::path::Path;

/// What a live test needs beside root and BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Loop devices: a blk-mq disk.
    Loop,
    /// zram devices that can be added: a bio-mode disk.
    Zram,
    /// tmux: a terminal with a shell.
    Tmux,
}

/// Set in CI: a live test that cannot run is a failure there.
pub const REQUIRE_LIVE: &str = "ZVOLTRACE_REQUIRE_LIVE";

/// True when a live test can run here. If not, says why; with [`REQUIRE_LIVE`] set to `1` that is
/// a panic.
///
/// # Panics
/// With [`REQUIRE_LIVE`] set and something missing.
#[must_use]
pub fn live(needs: &[Need]) -> bool {
    let Some(reason) = missing(needs) else {
        return true;
    };
    assert!(
        std::env::var_os(REQUIRE_LIVE).is_none_or(|value| value != "1"),
        "{REQUIRE_LIVE}=1, but this test cannot run: {reason}"
    );
    eprintln!("not run: {reason}");
    false
}

/// The first thing that is missing.
fn missing(needs: &[Need]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("needs root, to load eBPF programs and to make block devices".into());
    }
    let required = [("/sys/kernel/btf/vmlinux", "a kernel with BTF")];
    if needs.contains(&Need::Tmux) && !is_installed("tmux") {
        return Some("needs tmux (a package of that name)".into());
    }
    let of_needs = needs.iter().filter_map(|need| match need {
        Need::Loop => Some(("/dev/loop-control", "loop devices (modprobe loop)")),
        Need::Zram => Some((
            "/sys/class/zram-control/hot_add",
            "zram devices (modprobe zram)",
        )),
        Need::Tmux => None,
    });
    required
        .into_iter()
        .chain(of_needs)
        .find(|(path, _)| !Path::new(path).exists())
        .map(|(path, what)| format!("needs {what}: there is no {path}"))
}

/// Whether a program is in the path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

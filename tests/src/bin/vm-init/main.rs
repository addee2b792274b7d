//! PID 1 of the test machines: makes an initial RAM disk into a running system with ZFS, runs
//! the acceptance suite against the static binary in `/t`, prints one line a test and a verdict,
//! hands out results, and powers off.
//!
//! It must never return: the kernel panics when PID 1 ends. `cargo xtask vm` builds and boots it;
//! elsewhere it refuses to start.

mod blktrace;
mod boot;
mod cases;
mod harness;
mod kstat;
mod program;
mod results;
mod zfs;

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use rustix::system::{RebootCommand, reboot};

/// What to do: `test` and filters, or `shell`, one word a line.
const ORDERS: &str = "/t/orders";

fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("vm-init is PID 1 of the test machines; run cargo xtask vm test");
        return ExitCode::FAILURE;
    }
    if let Err(error) = run() {
        println!("zvoltrace-vm: {error:#}");
    }
    // Both can only fail for want of rights, which PID 1 has.
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::FAILURE
}

fn run() -> Result<()> {
    boot::system()?;
    let orders = fs::read_to_string(ORDERS).context("no orders")?;
    let mut orders = orders.lines().filter(|line| !line.is_empty());
    match orders.next() {
        Some("test") => {
            boot::zfs()?;
            let filters: Vec<_> = orders.collect();
            harness::run(&cases::all(), &filters);
            results::hand_out()
        }
        Some("shell") => {
            boot::zfs()?;
            program::run("setsid", &["--ctty", "--wait", "bash", "-i"])
                .or_else(|_| shell_without_terminal())
        }
        other => bail!("unknown orders {other:?}"),
    }
}

fn shell_without_terminal() -> Result<()> {
    Command::new("sh").status().context("no shell")?;
    Ok(())
}

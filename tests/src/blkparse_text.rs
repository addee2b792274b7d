//! A small trace as blkparse prints it, for tests of the command line.

use std::fs;

use tempfile::TempDir;

/// Writes that the trace holds, each of 8 KiB, 1 ms long, by `kvm`, to disk 230:0.
pub const WRITES: u64 = 400;

/// Writes `trace.txt` into a folder and gives its path.
///
/// # Panics
/// When it cannot be written.
#[must_use]
pub fn trace(folder: &TempDir) -> String {
    let line = |n: u64, action: &str, micros: u64, tail: &str| {
        format!(
            "230,0    1 {n:8} {:5}.{:09}  4321  {action}  WS {} + 16 [{tail}]\n",
            micros / 1_000_000,
            micros % 1_000_000 * 1000,
            (n * 7919 % 4096) * 16
        )
    };
    let text: String = (0..WRITES)
        .map(|n| line(n, "Q", n * 2000, "kvm") + &line(n, "C", n * 2000 + 1000, "0"))
        .collect();
    let path = folder.path().join("trace.txt");
    match fs::write(&path, text) {
        Ok(()) => path.display().to_string(),
        Err(error) => panic!("cannot write {}: {error}", path.display()),
    }
}

//! `cargo xtask dist`: the binary that users get, one static x86-64 file that needs neither the
//! host's glibc nor its loader.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the binary and prints where it is and how large.
pub(crate) fn run() -> Result<()> {
    let path = build()?;
    let bytes = std::fs::metadata(&path)?.len();
    println!("{} ({} KiB, static x86-64)", path.display(), bytes >> 10);
    Ok(())
}

/// Builds `zvoltrace` for users.
pub(crate) fn build() -> Result<PathBuf> {
    build_static("tracer-user", "zvoltrace", "release")
}

/// Builds a binary of the workspace as a static file, in a target folder of its own so that
/// neither these builds nor the ordinary ones throw the other's objects away.
pub(crate) fn build_static(package: &str, binary: &str, profile: &str) -> Result<PathBuf> {
    let folder = workspace::target_dir()?.join("dist");
    process::run(
        process::cargo()
            .args([
                "build",
                "--profile",
                profile,
                "--target",
                TARGET,
                "--package",
                package,
            ])
            .args(["--bin", binary])
            .env("CARGO_TARGET_DIR", &folder)
            // The target is named so that the flag leaves build scripts and proc macros alone.
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            // Symbols stay, for backtraces with names; line tables are five times the code.
            .env(
                format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase()),
                "debuginfo",
            ),
    )?;
    let built = if profile == "dev" { "debug" } else { profile };
    let path = folder.join(TARGET).join(built).join(binary);
    require_static(&path)?;
    Ok(path)
}

/// Fails unless the file is an x86-64 executable that asks for no interpreter and no library.
pub(crate) fn require_static(path: &Path) -> Result<()> {
    let file = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    match elf_interpreter(&file) {
        Some(false) => Ok(()),
        Some(true) => bail!(
            "{} is not static: it asks for an interpreter",
            path.display()
        ),
        None => bail!("{} is no x86-64 executable", path.display()),
    }
}

/// Whether an x86-64 ELF file has a program header of type `PT_INTERP`; `None` when it is no
/// such file.
fn elf_interpreter(file: &[u8]) -> Option<bool> {
    const X86_64: u16 = 62;
    const PT_INTERP: u32 = 3;
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
    let class_and_order = file.strip_prefix(b"\x7fELF")?.get(..2)?;
    if class_and_order != [2, 1] || half(18)? != X86_64 {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(file.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
    let mut found = false;
    for index in 0..count {
        found |= word(table.checked_add(index * size)?)? == PT_INTERP;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::elf_interpreter;

    #[test]
    fn this_very_test_asks_for_an_interpreter_unless_it_is_static() {
        let file = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
        assert_eq!(
            elf_interpreter(&file),
            Some(!cfg!(target_feature = "crt-static"))
        );
    }

    #[test]
    fn other_files_are_no_executables() {
        for file in [
            &b""[..],
            b"#!/bin/sh\n",
            b"\x7fELF\x02\x01",
            b"\x7fELF\x01\x01\x01",
        ] {
            assert_eq!(elf_interpreter(file), None);
        }
    }
}

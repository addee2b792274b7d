//! `cargo xtask build-ebpf`: builds the eBPF object that the binary embeds.
//!
//! The object is kept in the repository, so that `cargo build` needs neither the BPF target nor
//! its linker. Beside it stands a digest of what it was built from. The same inputs built by the
//! same toolchain give the same bytes, wherever the checkout lies; this module owns that promise
//! and nothing else may write the two files.

mod digest;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use object::build::elf::{Builder, SectionData};
use object::elf::SHT_STRTAB;

use crate::{process, tool, workspace};
use digest::{Digest, Inputs};
use toolchain::Toolchain;

/// The object, from the root of the checkout.
pub(crate) const OBJECT: &str = "tracer-user/bpf/zvoltrace.bpf.o";
/// Its digest.
const DIGEST: &str = "tracer-user/bpf/zvoltrace.bpf.toml";
/// Target triple.
pub(crate) const TARGET: &str = "bpfel-unknown-none";
/// Profile in the root manifest.
const PROFILE: &str = "ebpf";
/// Package, and the binary of it.
const PACKAGE: &str = "tracer-ebpf";
const BINARY: &str = "zvoltrace-ebpf";

/// Options of the verb.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only compare the digest with the sources; needs no BPF toolchain.
    #[arg(long, conflicts_with = "verify")]
    check: bool,
    /// Rebuild; fail when the recorded toolchain gives other bytes than those in the repository.
    /// With another toolchain the fresh object replaces the kept one.
    #[arg(long)]
    verify: bool,
    /// Which toolchain; by default the recorded kind if it is complete, else whichever is.
    #[arg(long, value_enum)]
    toolchain: Option<toolchain::Kind>,
    /// Install what is missing from Debian's packages and crates.io (as root; the default when
    /// the variable CI is set).
    #[arg(long)]
    install: bool,
}

/// Runs the verb.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    if options.check {
        return check(root);
    }
    let install = tool::may_install(options.install);
    let recorded = Digest::read(&root.join(DIGEST))?;
    let preferred = recorded.as_ref().map(|digest| digest.toolchain.kind);
    let toolchain = Toolchain::find(options.toolchain, preferred, install)?;
    let object = build(root, &toolchain)?;
    let fresh = Digest::new(Inputs::read(root)?, toolchain.versions()?, &object);

    if options.verify {
        let recorded = recorded.with_context(|| format!("{DIGEST} is missing"))?;
        let kept = fs::read(root.join(OBJECT)).with_context(|| format!("cannot read {OBJECT}"))?;
        recorded.check(&fresh.inputs, &kept)?;
        if recorded.toolchain == fresh.toolchain {
            if kept != object {
                let aside = built_path()?.with_extension("fresh.o");
                fs::write(&aside, &object)?;
                bail!(
                    "{OBJECT} is not what its sources give with the recorded toolchain: \
                     compare it with {}, then run `cargo xtask build-ebpf` and commit",
                    aside.display()
                );
            }
            println!("{OBJECT}: rebuilt, the same {} bytes", object.len());
            return Ok(());
        }
        println!("{OBJECT}: built by another toolchain than the recorded one, bytes not compared");
    }
    write(root, OBJECT, &object)?;
    write(root, DIGEST, fresh.to_toml()?.as_bytes())?;
    println!("{OBJECT}: {} bytes", object.len());
    Ok(())
}

/// Fails when the kept object is not that of the present sources.
pub(crate) fn check(root: &Path) -> Result<()> {
    let recorded =
        Digest::read(&root.join(DIGEST))?.with_context(|| format!("{DIGEST} is missing"))?;
    let kept = fs::read(root.join(OBJECT)).with_context(|| format!("cannot read {OBJECT}"))?;
    recorded.check(&Inputs::read(root)?, &kept)?;
    println!("{OBJECT}: up to date");
    Ok(())
}

/// Lints the kernel half for its own target.
pub(crate) fn clippy(install: bool) -> Result<()> {
    let root = workspace::root()?;
    let toolchain = Toolchain::find(None, None, install)?;
    let mut cargo = toolchain.cargo(root, "clippy")?;
    cargo.args(["--", "--deny", "warnings"]);
    process::run(&mut cargo)
}

/// Builds and returns the object without its debug sections.
fn build(root: &Path, toolchain: &Toolchain) -> Result<Vec<u8>> {
    process::run(&mut toolchain.cargo(root, "build")?)?;
    let path = built_path()?;
    let built = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    strip(&built).with_context(|| format!("cannot strip {}", path.display()))
}

/// Where cargo puts the object.
fn built_path() -> Result<PathBuf> {
    Ok(build_dir()?.join(TARGET).join(PROFILE).join(BINARY))
}

/// A target folder of its own: another cargo than the running one may be at work in it.
fn build_dir() -> Result<PathBuf> {
    Ok(workspace::target_dir()?.join("ebpf"))
}

/// Drops DWARF: no loader reads it (BTF has sections of its own), and it is most of the bytes.
fn strip(object: &[u8]) -> Result<Vec<u8>> {
    let mut builder = Builder::read(object)?;
    for section in &mut builder.sections {
        let name = section.name.as_slice();
        section.delete = name.starts_with(b".debug_") || name.starts_with(b".rel.debug_");
    }
    // LLVM keeps section names in .strtab; the writer wants a table of their own.
    let names = builder.sections.add();
    names.name = b".shstrtab"[..].into();
    names.sh_type = SHT_STRTAB;
    names.data = SectionData::SectionString;
    let mut stripped = Vec::new();
    builder.write(&mut stripped)?;
    Ok(stripped)
}

/// Writes a file of the repository whole or not at all.
fn write(root: &Path, name: &str, contents: &[u8]) -> Result<()> {
    let path = root.join(name);
    let context = || format!("cannot write {name}");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(context)?;
    }
    let beside = path.with_extension("new");
    fs::write(&beside, contents).with_context(context)?;
    fs::rename(&beside, &path).with_context(context)
}

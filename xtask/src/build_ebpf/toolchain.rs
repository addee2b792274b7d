//! The two toolchains that can build for the BPF target, and how to get them.
//!
//! `rustc` has no prebuilt `core` for BPF in rustup, so either Debian's packages bring one, or
//! nightly builds it from rust-src. Both need bpf-linker.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{PACKAGE, PROFILE, TARGET};
use crate::{process, tool, workspace};

/// What both toolchains pass to rustc. `v3` has been in the kernel since 5.1; the one instruction
/// of it that came later (compare-and-exchange, 5.12) stands only in programs that older kernels
/// do not load.
pub(super) const FLAGS: &[&str] = &[
    "-Clinker=bpf-linker",
    "-Clink-arg=--btf",
    "-Cdebuginfo=2",
    "-Ctarget-cpu=v3",
];

/// LLVM major version of Debian's rustc-web; bpf-linker must be built against the same.
const LLVM_PREFIX: &str = "/usr/lib/llvm-22";
const LLVM_FEATURE: &str = "llvm-22";
/// Debian's packages (bookworm and later).
const PACKAGES: &[&str] = &[
    "rustc-web",
    "cargo-web",
    "rust-web-clippy",
    "libstd-rust-web-dev-bpf",
    "llvm-22-dev",
];
/// The bpf-linker that is built where none is found.
const LINKER_VERSION: &str = "0.13.0";

/// Kinds of toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Debian's rustc-web, with core prebuilt for BPF.
    Debian,
    /// rustup's nightly with rust-src, which builds core.
    Nightly,
}

/// What the digest records of a toolchain: equal versions promise equal bytes.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Versions {
    /// Kind.
    pub(super) kind: Kind,
    /// First line of `rustc --version`.
    rustc: String,
    /// LLVM that rustc uses.
    rustc_llvm: String,
    /// bpf-linker's version.
    bpf_linker: String,
    /// LLVM that bpf-linker uses, where it is a package of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    linker_llvm: Option<String>,
}

/// A complete toolchain.
#[derive(Debug)]
pub(super) struct Toolchain {
    kind: Kind,
}

impl Toolchain {
    /// The forced kind; else the preferred one if complete, else one that is.
    pub(super) fn find(
        forced: Option<Kind>,
        preferred: Option<Kind>,
        install: bool,
    ) -> Result<Self> {
        let kinds = match forced.or(preferred) {
            Some(kind) if forced.is_some() => vec![kind],
            Some(Kind::Nightly) => vec![Kind::Nightly, Kind::Debian],
            _ => vec![Kind::Debian, Kind::Nightly],
        };
        let complete = |kind: &&Kind| kind.missing().is_empty();
        if let Some(&kind) = kinds.iter().find(complete) {
            return Ok(Self { kind });
        }
        if install && kinds.contains(&Kind::Debian) {
            install_debian()?;
            if complete(&&Kind::Debian) {
                return Ok(Self { kind: Kind::Debian });
            }
        }
        let mut message = String::from("no complete toolchain for the BPF target:");
        for kind in kinds {
            message.push_str(match kind {
                Kind::Debian => "\n  Debian's packages (or `cargo xtask build-ebpf --install`):",
                Kind::Nightly => "\n  rustup's nightly (`--toolchain nightly`):",
            });
            for Missing { what, remedy } in kind.missing() {
                let _ = write!(message, "\n    {what} is missing: {remedy}");
            }
        }
        bail!(message)
    }

    /// What the digest records.
    pub(super) fn versions(&self) -> Result<Versions> {
        let verbose = process::output(self.kind.rustc().arg("-vV"))?;
        let mut lines = verbose.lines();
        let rustc = lines
            .next()
            .context("rustc -vV printed nothing")?
            .to_owned();
        let rustc_llvm = lines
            .find_map(|line| line.strip_prefix("LLVM version: "))
            .context("rustc -vV names no LLVM version")?
            .to_owned();
        let linker_llvm = match self.kind {
            Kind::Debian => {
                let config = Path::new(LLVM_PREFIX).join("bin/llvm-config");
                let version = process::output(process::detached(config).arg("--version"))?;
                Some(version.trim().to_owned())
            }
            Kind::Nightly => None,
        };
        Ok(Versions {
            kind: self.kind,
            rustc,
            rustc_llvm,
            bpf_linker: linker_version()?.context("bpf-linker is gone")?,
            linker_llvm,
        })
    }

    /// `cargo VERB` for the kernel half, with everything that makes its bytes repeatable.
    pub(super) fn cargo(&self, root: &Path, verb: &str) -> Result<Command> {
        let mut flags: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        flags.extend(self.renamed_paths(root)?);
        let mut cargo = self.kind.cargo();
        cargo
            .current_dir(root)
            .arg(verb)
            .args(["--locked", "--package", PACKAGE])
            .args(["--target", TARGET, "--profile", PROFILE])
            .arg("--target-dir")
            .arg(super::build_dir()?)
            // Programs are written with unstable features (atomics that BPF's std gates out).
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}".as_ref()))
            .env("PATH", search_path()?);
        if self.kind == Kind::Nightly {
            cargo.args(["-Z", "build-std=core"]);
        }
        Ok(cargo)
    }

    /// Flags that take this machine's folders out of the object.
    fn renamed_paths(&self, root: &Path) -> Result<Vec<OsString>> {
        let mut renames = vec![(root.to_owned(), "zvoltrace")];
        let registry = workspace::cargo_home()?.join("registry/src");
        // One folder an index; its name holds a hash of where the index is.
        for index in fs::read_dir(&registry).into_iter().flatten().flatten() {
            renames.push((index.path(), "registry"));
        }
        let sysroot = process::output(self.kind.rustc().args(["--print", "sysroot"]))?;
        let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
        renames.push((sources, "rust"));
        Ok(renames
            .into_iter()
            .map(|(from, to)| {
                let mut flag = OsString::from("--remap-path-prefix=");
                flag.push(from);
                flag.push("=/");
                flag.push(to);
                flag
            })
            .collect())
    }
}

/// Something missing and the command that gets it.
struct Missing {
    what: &'static str,
    remedy: String,
}

impl Kind {
    fn rustc(self) -> Command {
        self.program("rustc")
    }

    fn cargo(self) -> Command {
        self.program("cargo")
    }

    fn program(self, name: &str) -> Command {
        match self {
            Self::Debian => {
                let mut command = process::detached(Path::new("/usr/bin").join(name));
                // rustup's cargo would otherwise be found as the subcommands' parent.
                command.env("RUSTC", "/usr/bin/rustc");
                command
            }
            Self::Nightly => {
                let mut command = process::detached("rustup");
                command.args(["run", "nightly", name]);
                command
            }
        }
    }

    /// Everything that a build would miss.
    fn missing(self) -> Vec<Missing> {
        let mut missing = Vec::new();
        let sysroot = process::output(self.rustc().args(["--print", "sysroot"]))
            .map(|line| PathBuf::from(line.trim()));
        match self {
            Self::Debian => {
                let remedy = || format!("apt-get install {}", PACKAGES.join(" "));
                let has_core = sysroot.is_ok_and(|sysroot| {
                    sysroot
                        .join("lib/rustlib")
                        .join(TARGET)
                        .join("lib")
                        .is_dir()
                });
                if !has_core || !Path::new("/usr/bin/cargo").exists() {
                    missing.push(Missing {
                        what: "rustc with core for BPF",
                        remedy: remedy(),
                    });
                }
                if !Path::new(LLVM_PREFIX).join("bin/llvm-config").exists() {
                    missing.push(Missing {
                        what: "LLVM 22",
                        remedy: remedy(),
                    });
                }
            }
            Self::Nightly => match sysroot {
                Err(_) => missing.push(Missing {
                    what: "the nightly toolchain",
                    remedy: "rustup toolchain install nightly --component rust-src,clippy".into(),
                }),
                Ok(sysroot) => {
                    if !sysroot.join("lib/rustlib/src/rust/library/core").is_dir() {
                        missing.push(Missing {
                            what: "rust-src of nightly",
                            remedy: "rustup component add rust-src --toolchain nightly".into(),
                        });
                    }
                }
            },
        }
        if !matches!(linker_version(), Ok(Some(_))) {
            missing.push(Missing {
                what: "bpf-linker",
                remedy: match self {
                    Self::Debian => format!(
                        "LLVM_PREFIX={LLVM_PREFIX} cargo install bpf-linker --locked \
                         --version {LINKER_VERSION} --no-default-features --features {LLVM_FEATURE}"
                    ),
                    Self::Nightly => {
                        "cargo install bpf-linker --locked, or its release binary".into()
                    }
                },
            });
        }
        missing
    }
}

/// `bpf-linker --version`; `None` without one.
fn linker_version() -> Result<Option<String>> {
    let mut linker = process::detached("bpf-linker");
    linker.env("PATH", search_path()?).arg("--version");
    match linker.output() {
        Ok(output) if output.status.success() => Ok(Some(
            String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )),
        _ => Ok(None),
    }
}

/// PATH with cargo's own binaries at the end: bpf-linker is found there, Debian's tools before.
fn search_path() -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let own = workspace::cargo_home()?.join("bin");
    let folders = std::iter::once(PathBuf::from("/usr/bin"))
        .chain(env::split_paths(&path))
        .chain(std::iter::once(own));
    env::join_paths(folders).context("PATH cannot be extended")
}

/// Installs Debian's packages, and bpf-linker from crates.io.
fn install_debian() -> Result<()> {
    let debian = Kind::Debian.missing();
    if debian.iter().any(|missing| missing.what != "bpf-linker") {
        tool::apt_install(PACKAGES)?;
    }
    if linker_version()?.is_none() {
        let mut install = process::cargo();
        install
            .args([
                "install",
                "bpf-linker",
                "--locked",
                "--version",
                LINKER_VERSION,
            ])
            .args(["--no-default-features", "--features", LLVM_FEATURE])
            .env("LLVM_PREFIX", LLVM_PREFIX);
        process::run(&mut install)?;
    }
    Ok(())
}

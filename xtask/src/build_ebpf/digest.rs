//! What the eBPF object was built from, as a file beside it.
//!
//! Inputs are compared without any toolchain, so that a stale object is found everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use toml::{Table, Value};

use super::toolchain::{self, Versions};
use super::{DIGEST, OBJECT, PACKAGE, PROFILE};

/// Packages of this workspace that are compiled into the object.
const SOURCES: &[&str] = &["tracer-common", "tracer-ebpf"];

/// The digest file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Digest {
    /// What was built.
    pub(super) inputs: Inputs,
    /// What built it.
    pub(super) toolchain: Versions,
    /// SHA-256 of the object.
    object: String,
}

/// Digests of everything but the toolchain that decides the object's bytes.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Inputs {
    /// SHA-256 over the files of [`SOURCES`], names and contents.
    sources: String,
    /// SHA-256 over the lock-file entries that the kernel half depends on.
    dependencies: String,
    /// SHA-256 over what the root manifest says about the build: package data and profiles.
    manifest: String,
    /// Compiler and linker flags, without those that only rename paths.
    flags: Vec<String>,
}

impl Digest {
    /// Of an object that was just built.
    pub(super) fn new(inputs: Inputs, toolchain: Versions, object: &[u8]) -> Self {
        Self {
            inputs,
            toolchain,
            object: sha256([object]),
        }
    }

    /// Reads the file; `None` without one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {DIGEST}"))?;
        let digest = toml::from_str(&text).with_context(|| {
            format!("{DIGEST} is damaged: delete it and run `cargo xtask build-ebpf`")
        })?;
        Ok(Some(digest))
    }

    /// The file's text.
    pub(super) fn to_toml(&self) -> Result<String> {
        let body = toml::to_string_pretty(self)?;
        Ok(format!(
            "# What the object beside this file was built from. Written by `cargo xtask build-ebpf`.\n\n{body}"
        ))
    }

    /// Fails when `inputs` or the object's bytes are not those recorded, and says which.
    pub(super) fn check(&self, inputs: &Inputs, object: &[u8]) -> Result<()> {
        let changed: Vec<&str> = [
            ("the sources", self.inputs.sources != inputs.sources),
            (
                "the dependencies",
                self.inputs.dependencies != inputs.dependencies,
            ),
            ("the manifest", self.inputs.manifest != inputs.manifest),
            ("the flags", self.inputs.flags != inputs.flags),
            ("the object itself", self.object != sha256([object])),
        ]
        .into_iter()
        .filter_map(|(name, changed)| changed.then_some(name))
        .collect();
        if !changed.is_empty() {
            bail!(
                "{OBJECT} is stale, changed since it was built: {}. \
                 Run `cargo xtask build-ebpf` and commit the result",
                changed.join(", ")
            );
        }
        Ok(())
    }
}

impl Inputs {
    /// Reads them from a checkout.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let lock = toml_file(&root.join("Cargo.lock"))?;
        let manifest = toml_file(&root.join("Cargo.toml"))?;
        Ok(Self {
            sources: sources(root)?,
            dependencies: dependencies(&lock)?,
            manifest: settings(&manifest),
            flags: toolchain::FLAGS.iter().map(ToString::to_string).collect(),
        })
    }
}

fn toml_file(path: &Path) -> Result<Table> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

/// Digest over the sources: each file's name from the root, and its contents, in order of name.
fn sources(root: &Path) -> Result<String> {
    let mut files = BTreeSet::new();
    for package in SOURCES {
        files.insert(root.join(package).join("Cargo.toml"));
        collect(&root.join(package).join("src"), &mut files)?;
    }
    let mut parts = Vec::new();
    for file in &files {
        let contents = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
        parts.push(name.into_bytes());
        parts.push(contents);
    }
    Ok(sha256(parts))
}

/// All Rust files under a folder.
fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let context = || format!("cannot read the folder {}", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

/// Digest over the lock-file entries reachable from the kernel half.
fn dependencies(lock: &Table) -> Result<String> {
    let entries = lock
        .get("package")
        .and_then(Value::as_array)
        .context("Cargo.lock has no packages")?;
    let mut reached: BTreeMap<String, String> = BTreeMap::new();
    let mut open = vec![PACKAGE.to_owned()];
    while let Some(wanted) = open.pop() {
        // "name", or "name version" where the lock file holds several.
        let mut words = wanted.split(' ');
        let (name, version) = (words.next(), words.next());
        let entry = entries
            .iter()
            .find(|entry| {
                text(entry, "name") == name
                    && (version.is_none() || text(entry, "version") == version)
            })
            .with_context(|| format!("Cargo.lock lacks {wanted}"))?;
        if reached.insert(wanted, entry.to_string()).is_some() {
            continue;
        }
        let depends_on = entry.get("dependencies").and_then(Value::as_array);
        open.extend(
            depends_on
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
    }
    Ok(sha256(reached.into_values()))
}

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Digest over the parts of the root manifest that reach the compiler.
fn settings(manifest: &Table) -> String {
    let part = |path: &[&str]| {
        let mut value = manifest.get(path[0]);
        for key in &path[1..] {
            value = value.and_then(|value| value.get(key));
        }
        value.map(Value::to_string).unwrap_or_default()
    };
    sha256([
        part(&["workspace", "package"]),
        part(&["profile", "release"]),
        part(&["profile", PROFILE]),
    ])
}

/// SHA-256 over parts, each led by its length so that no two lists of parts look alike.
fn sha256<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    use sha2::Digest as _;
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

//! From a suite to a cached machine: kernel, driver archive, disk image. The image holds no
//! program of ours: those come with each run, so it is built once.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::{self, tied};

use super::cache::{self, Entry, Manifest, Slot};
use super::mirror::{Mirror, PrivateApt};
use super::suite::Suite;
use super::{archive, needs, suite};

const SCRIPT: &str = include_str!("build-root.sh");
/// Raised when the way an image is made changes outside the script.
const FORMAT: &str = "1";
/// Room in the image beyond its files, for what a run writes.
const SLACK_BYTES: u64 = 192 << 20;

/// Digest of everything of ours that decides what an image contains.
pub(crate) fn recipe(suite: Suite) -> String {
    cache::digest(format!("{FORMAT}\n{SCRIPT}\n{}", suite.all_packages().join(" ")).as_bytes())
}

/// Builds the machine of `suite`, unless the cached one has the versions the mirror offers now.
pub(crate) fn build(slot: &Slot) -> Result<Entry> {
    let suite = slot.suite();
    let mirror = Mirror::of_this_machine()?;
    let recipe = recipe(suite);
    let source = format!("{} main contrib", suite.name());
    let apt = PrivateApt::new(&slot.lasting("apt"), &mirror, &[&source])?;
    apt.update()?;
    let versions: BTreeMap<_, _> = apt.candidates(&suite.all_packages())?.into_iter().collect();
    if let Some(entry) = slot.find(&recipe)? {
        if entry.manifest.versions == versions {
            eprintln!("{}: cached, {}", suite.name(), summary(&versions));
            return Ok(entry);
        }
        eprintln!(
            "{}: the mirror has newer packages, building anew",
            suite.name()
        );
    }

    needs::require_root()?;
    needs::ensure(&needs::BUILD)?;
    eprintln!("{}: building, {}", suite.name(), summary(&versions));
    let begin = Instant::now();
    let work = slot.temporary();
    let root = work.join("root");
    let entry = work.join("entry");
    fs::create_dir_all(&root)?;
    fs::create_dir_all(&entry)?;
    build_root(suite, &mirror, &work, &root, &slot.lasting("log"))?;
    pack(&root, &entry)?;
    let manifest = Manifest {
        suite: suite.name().to_owned(),
        recipe,
        versions,
        files: [].into(),
    };
    let entry = slot.adopt(&entry, manifest)?;
    fs::remove_dir_all(&work)?;
    eprintln!("{}: built in {} s", suite.name(), begin.elapsed().as_secs());
    Ok(entry)
}

/// Runs the script in namespaces that end with it: no mount and no process outlives it.
fn build_root(machine: Suite, mirror: &Mirror, work: &Path, root: &Path, log: &Path) -> Result<()> {
    let script = work.join("build-root.sh");
    let acquire = work.join("acquire.conf");
    fs::write(&script, SCRIPT)?;
    fs::write(&acquire, &mirror.acquire)?;
    let out = File::create(log)?;
    let status = tied("unshare")
        .args([
            "--mount",
            "--propagation",
            "private",
            "--pid",
            "--fork",
            "--kill-child",
            "--",
        ])
        .args(["sh".as_ref(), script.as_os_str()])
        .env("SUITE", machine.name())
        .env("MIRROR", &mirror.url)
        .env("ROOT", root)
        .env("ACQUIRE", &acquire)
        .env("KERNEL_PACKAGES", suite::KERNEL.join(" "))
        .env("ZFS_PACKAGES", suite::ZFS.join(" "))
        .env("TOOL_PACKAGES", machine.tool_packages().join(" "))
        .env(
            "KEEP_HEADERS",
            if machine.keeps_headers() { "yes" } else { "no" },
        )
        .stdin(std::process::Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out)
        .status()
        .context("cannot start setpriv")?;
    if !status.success() {
        let text = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(30)..].join("\n");
        anyhow::bail!(
            "{} cannot be built; the end of {}:\n{tail}",
            machine.name(),
            log.display()
        );
    }
    Ok(())
}

/// Makes the entry's files from a finished root.
fn pack(root: &Path, entry: &Path) -> Result<()> {
    let kernel = fs::read_dir(root.join("lib/modules"))?
        .next()
        .context("the root has no kernel modules")??
        .file_name()
        .into_string()
        .ok()
        .context("the kernel's release is no text")?;
    fs::copy(
        root.join(format!("boot/vmlinuz-{kernel}")),
        entry.join(cache::KERNEL),
    )
    .context("the root has no kernel")?;
    archive::write_modules(root, &kernel, &entry.join(cache::MODULES))?;
    let used = process::output(Command::new("du").args(["-s", "--block-size=1"]).arg(root))?;
    let used: u64 = used
        .split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .context("du printed no number")?;
    let disk = entry.join(cache::DISK);
    // File system metadata takes a few percent on top of the files.
    File::create(&disk)?.set_len((used + used / 10 + SLACK_BYTES).next_multiple_of(1 << 20))?;
    process::output(
        Command::new("mkfs.ext4")
            .args([
                "-q",
                "-F",
                "-O",
                "^has_journal",
                "-m",
                "0",
                "-i",
                "8192",
                "-d",
            ])
            .args([root, &disk]),
    )?;
    Ok(())
}

/// Kernel and ZFS of a machine, in words.
pub(crate) fn summary(versions: &BTreeMap<String, String>) -> String {
    let of = |package: &str| versions.get(package).map_or("?", String::as_str);
    format!(
        "kernel {}, ZFS {}",
        of("linux-image-cloud-amd64"),
        of("zfs-dkms")
    )
}

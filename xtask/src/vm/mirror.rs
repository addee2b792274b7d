//! Where packages come from: the mirror of the machine's own apt configuration, with apt state
//! of our own. Never writes to the host's apt sources or lists.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Overrides the mirror's address.
const MIRROR_VARIABLE: &str = "ZVOLTRACE_MIRROR";

/// A Debian mirror.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    /// Its base address.
    pub(crate) url: String,
    /// apt's `Acquire` options of this machine (proxies, certificates), as a configuration file.
    pub(crate) acquire: String,
}

impl Mirror {
    /// The mirror named by `ZVOLTRACE_MIRROR`, else the one apt uses here.
    pub(crate) fn of_this_machine() -> Result<Self> {
        let url = match std::env::var(MIRROR_VARIABLE) {
            Ok(url) if !url.is_empty() => url,
            _ => Self::from_apt()?,
        };
        let acquire = process::output(Command::new("apt-config").arg("dump"))?
            .lines()
            // Extra indexes (of desktop software centres) are of no use there.
            .filter(|line| {
                line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets")
            })
            .fold(String::new(), |text, line| text + line + "\n");
        Ok(Self { url, acquire })
    }

    fn from_apt() -> Result<String> {
        let targets = process::output(Command::new("apt-get").args([
            "indextargets",
            "--format",
            "$(SITE) $(ORIGIN) $(LABEL)",
            "Created-By: Packages",
        ]))?;
        debian_site(&targets).map(str::to_owned).with_context(|| {
            format!(
                "apt knows no Debian mirror here: set {MIRROR_VARIABLE} to the address of one, \
                 or run apt-get update"
            )
        })
    }
}

/// The first site whose release calls itself plain Debian (not its security archive).
fn debian_site(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let site = words.next()?;
        (words.eq(["Debian", "Debian"])).then_some(site)
    })
}

/// apt with sources and state of its own, able to ask for any suite from any host suite.
#[derive(Debug)]
pub(crate) struct PrivateApt {
    options: Vec<String>,
}

impl PrivateApt {
    /// Sets up state under `folder` for `sources`, lines of suite and components.
    pub(crate) fn new(folder: &Path, mirror: &Mirror, sources: &[&str]) -> Result<Self> {
        let lists = folder.join("lists");
        std::fs::create_dir_all(lists.join("partial"))?;
        let list = folder.join("sources.list");
        let mut text = String::new();
        for source in sources {
            writeln!(
                text,
                "deb [signed-by={}] {} {source}",
                keyring()?.display(),
                mirror.url
            )?;
        }
        std::fs::write(&list, text)?;
        let options = [
            format!("Dir::Etc::SourceList={}", list.display()),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            "Dir::Etc::Preferences=/dev/null".to_owned(),
            "Dir::Etc::PreferencesParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", lists.display()),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "APT::Update::Post-Invoke-Success=".to_owned(),
        ];
        Ok(Self {
            options: options.into_iter().collect(),
        })
    }

    /// A command of apt, `apt-get` or `apt-cache`, that uses only this state.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("LC_ALL", "C.UTF-8");
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        command
    }

    /// Fetches the package lists.
    pub(crate) fn update(&self) -> Result<()> {
        process::output(self.command("apt-get").args(["update", "-qq"])).map(drop)
    }

    /// The version that would be installed of each package, in the order asked.
    pub(crate) fn candidates(&self, packages: &[&str]) -> Result<Vec<(String, String)>> {
        let policy = process::output(self.command("apt-cache").arg("policy").args(packages))?;
        packages
            .iter()
            .map(|package| match candidate(&policy, package) {
                Some(version) => Ok(((*package).to_owned(), version.to_owned())),
                None => bail!("the mirror has no package {package} in this suite"),
            })
            .collect()
    }
}

fn candidate<'a>(policy: &'a str, package: &str) -> Option<&'a str> {
    let heading = format!("{package}:");
    policy
        .lines()
        .skip_while(|line| *line != heading)
        .find_map(|line| line.trim().strip_prefix("Candidate: "))
        .filter(|version| *version != "(none)")
}

/// Debian's archive keys, as the keyring package installs them.
fn keyring() -> Result<PathBuf> {
    [
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "/usr/share/keyrings/debian-archive-keyring.pgp",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|path| path.exists())
    .context("Debian's archive keys are missing: install debian-archive-keyring")
}

#[cfg(test)]
mod tests {
    use super::{candidate, debian_site};

    #[test]
    fn the_plain_archive_is_chosen_and_not_the_security_one() {
        let targets = "http://one/debian-security Debian Debian-Security\n\
                       http://two/debian Debian Debian\n\
                       http://three/node . nodistro\n";
        assert_eq!(debian_site(targets), Some("http://two/debian"));
        assert_eq!(debian_site("http://one/ubuntu Ubuntu Ubuntu\n"), None);
    }

    #[test]
    fn a_candidate_belongs_to_the_package_above_it() {
        let policy = "a:\n  Installed: (none)\n  Candidate: (none)\n\
                      b:\n  Installed: (none)\n  Candidate: 2.3.9-0+deb13u1\n";
        assert_eq!(candidate(policy, "b"), Some("2.3.9-0+deb13u1"));
        assert_eq!(candidate(policy, "a"), None);
        assert_eq!(candidate(policy, "c"), None);
    }
}

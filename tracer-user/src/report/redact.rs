//! `--redact`: names that tell whose machine it is become tokens.
//!
//! Host, pool and dataset names and VMIDs are replaced, in their own fields and wherever they
//! stand in arguments and sentences; arguments that are paths or dataset patterns are replaced
//! whole. Kernel names of disks, command names of submitters, versions and numbers stay.
//!
//! A token is SipHash-2-4 of the name, keyed by the machine's id (`/etc/machine-id`, 128 random
//! bits that are not to be shown): the same name gives the same token in every report made on
//! this machine, and nobody without the id can try out names. A VMID becomes a number above
//! 1,000,000,000, which no VMID is.

use std::{
    collections::BTreeMap,
    fs,
    hash::{BuildHasher, Hasher, RandomState},
};

use aho_corasick::AhoCorasick;
use siphasher::sip::SipHasher24;

use super::model::{DeviceReport, Report};
use crate::analysis::Explanation;

/// Files that may hold the machine's id, `machine-id(5)`.
const MACHINE_ID_FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
/// Above every VMID of Proxmox, which end at 999,999,999.
const VM_TOKENS_FROM: u64 = 1_000_000_000;

/// Replaces names by tokens under one key.
pub struct Redactor {
    key: [u8; 16],
}

impl Redactor {
    /// Under the machine's key; without a machine id under a key of this run, so that tokens
    /// are the same only within one report.
    #[must_use]
    pub fn of_machine() -> Self {
        MACHINE_ID_FILES
            .iter()
            .find_map(|path| Self::with_machine_id(&fs::read_to_string(path).ok()?))
            .unwrap_or_else(|| {
                let half = || RandomState::new().build_hasher().finish().to_le_bytes();
                let mut key = [0; 16];
                key[..8].copy_from_slice(&half());
                key[8..].copy_from_slice(&half());
                Self { key }
            })
    }

    /// Under the key that a machine id (32 hexadecimal digits) is; `None` when it is none.
    #[must_use]
    pub fn with_machine_id(id: &str) -> Option<Self> {
        let id = id.trim();
        if id.len() != 32 {
            return None;
        }
        let key = u128::from_str_radix(id, 16).ok().filter(|id| *id != 0)?;
        Some(Self {
            key: key.to_be_bytes(),
        })
    }

    /// The report with tokens for names.
    #[must_use]
    pub fn redact(&self, report: &Report) -> Report {
        let mut report = report.clone();
        let names = self.names(&report);
        report.host.hostname = self.host(&report.host.hostname);
        for arg in &mut report.capture.args {
            *arg = self.argument(arg, &names);
        }
        for text in &mut report.capture.incomplete_reasons {
            *text = names.replace(text);
        }
        for pool in &mut report.pools {
            pool.name = self.pool(&pool.name);
        }
        for device in &mut report.devices {
            self.device(device, &names);
        }
        report
    }

    /// The explanations of a report's verdicts with tokens for the same names.
    #[must_use]
    pub fn redact_explanations(&self, of: &Report, list: &[Explanation]) -> Vec<Explanation> {
        let names = self.names(of);
        let mut list = list.to_vec();
        for explanation in &mut list {
            explanation.dataset = explanation
                .dataset
                .as_deref()
                .map(|name| self.dataset(name));
            for line in explanation
                .rules
                .iter_mut()
                .flat_map(|rule| &mut rule.numbers)
            {
                *line = names.replace(line);
            }
        }
        list
    }

    fn device(&self, device: &mut DeviceReport, names: &Names) {
        device.dataset = device.dataset.as_deref().map(|name| self.dataset(name));
        device.vm = device
            .vm
            .map(|vm| VM_TOKENS_FROM + self.hash("vm", &vm.to_string()) % (9 * VM_TOKENS_FROM));
        let verdict = &mut device.verdict;
        let texts = [&mut verdict.summary]
            .into_iter()
            .chain(&mut verdict.evidence)
            .chain(&mut verdict.advice)
            .chain(device.findings.iter_mut().flat_map(|finding| {
                std::iter::once(&mut finding.summary).chain(&mut finding.evidence)
            }));
        for text in texts {
            *text = names.replace(text);
        }
    }

    /// All names of a report with their tokens, for texts that mention them.
    fn names(&self, report: &Report) -> Names {
        let mut names = BTreeMap::new();
        let host = &report.host.hostname;
        names.insert(host.clone(), self.host(host));
        if let Some((short, _)) = host.split_once('.') {
            names.insert(short.to_owned(), self.host(host));
        }
        for pool in &report.pools {
            names.insert(pool.name.clone(), self.pool(&pool.name));
        }
        for dataset in report
            .devices
            .iter()
            .filter_map(|device| device.dataset.as_ref())
        {
            let (pool, rest) = dataset.split_once('/').unwrap_or((dataset, ""));
            names.insert(pool.to_owned(), self.pool(pool));
            let last = rest.rsplit('/').next().unwrap_or_default();
            names.insert(last.to_owned(), self.token("ds", dataset));
            names.insert(dataset.clone(), self.dataset(dataset));
        }
        names.remove("");
        Names::new(names)
    }

    fn argument(&self, arg: &str, names: &Names) -> String {
        let (flag, value) = match arg.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => (format!("{flag}="), value),
            _ => (String::new(), arg),
        };
        // A node right below /dev bears a kernel name.
        let is_node = value
            .strip_prefix("/dev/")
            .is_some_and(|name| !name.contains('/'));
        if value.contains('/') && !is_node {
            format!("{flag}{}", self.token("path", value))
        } else {
            format!("{flag}{}", names.replace(value))
        }
    }

    fn host(&self, name: &str) -> String {
        self.token("host", name)
    }

    fn pool(&self, name: &str) -> String {
        self.token("pool", name)
    }

    /// The token of a dataset: its pool's, and one for the whole name.
    #[must_use]
    pub fn dataset(&self, name: &str) -> String {
        let pool = name.split('/').next().unwrap_or_default();
        format!("{}/{}", self.pool(pool), self.token("ds", name))
    }

    fn token(&self, kind: &str, name: &str) -> String {
        // What is not known has nothing to hide, and is to be seen as not known.
        if name.is_empty() {
            return String::new();
        }
        // 40 bits: among 30,000 names two share a token with a chance of 1 in 2,400.
        format!("{kind}-{:010x}", self.hash(kind, name) >> 24)
    }

    fn hash(&self, kind: &str, name: &str) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(kind.as_bytes());
        hasher.write(&[0]);
        hasher.write(name.as_bytes());
        hasher.finish()
    }
}

/// Names and their tokens, found in texts in one pass.
struct Names {
    names: Vec<String>,
    tokens: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Names {
    fn new(map: BTreeMap<String, String>) -> Self {
        let (names, tokens): (Vec<_>, Vec<_>) = map.into_iter().unzip();
        // Building fails only beyond 2^31 states, hundreds of MiB of names.
        let finder = AhoCorasick::new(&names).ok();
        Self {
            names,
            tokens,
            finder,
        }
    }

    /// The text with tokens for all names that stand as words; of two at one place the longer.
    fn replace(&self, text: &str) -> String {
        let Some(finder) = &self.finder else {
            return "(not shown: too many names to redact)".into();
        };
        let mut found: Vec<_> = finder
            .find_overlapping_iter(text)
            .filter(|m| is_word(text, m.start(), m.end()))
            .collect();
        found.sort_by_key(|m| (m.start(), std::cmp::Reverse(self.names[m.pattern()].len())));
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for one in found {
            if one.start() >= done {
                out.push_str(&text[done..one.start()]);
                out.push_str(&self.tokens[one.pattern()]);
                done = one.end();
            }
        }
        out.push_str(&text[done..]);
        out
    }
}

fn is_word(text: &str, start: usize, end: usize) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    !text[..start].ends_with(inside) && !text[end..].starts_with(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn redactor() -> Redactor {
        Redactor::with_machine_id("0123456789abcdef0123456789abcdef\n").unwrap()
    }

    fn secret() -> Report {
        let mut report = samples::thirty_devices();
        report.host.hostname = "node7.example.org".into();
        report.capture.args = [
            "capture",
            "-d",
            "tank/vm-1*",
            "--output=/root/acme/r.txt",
            "/dev/zd16",
            "--quiet",
        ]
        .map(String::from)
        .to_vec();
        report.capture.incomplete_reasons =
            vec!["pool tank on node7 is suspended, tanks are not".into()];
        report.devices[0].verdict.advice =
            vec!["zfs create -V 32G tank/vm-100-disk-0-new; tank/vm-100-disk-0 stays".into()];
        report
    }

    #[test]
    fn no_name_is_left_anywhere() {
        let json = crate::report::json::render(&redactor().redact(&secret())).unwrap();
        for name in [
            "node7",
            "example",
            "\"tank",
            "tank/",
            "vm-1",
            "acme",
            "\"vm\": 1,",
        ] {
            assert!(!json.contains(name), "{name}");
        }
        for kept in [
            "kvm",
            "zd16",
            "/dev/zd16",
            "--quiet",
            "6.8.12-9-pve",
            "tanks are not",
        ] {
            assert!(json.contains(kept), "{kept}");
        }
    }

    #[test]
    fn a_name_has_one_token_within_and_across_reports() {
        let one = redactor().redact(&secret());
        let two = redactor().redact(&samples::busy());
        assert_eq!(one.devices[0].dataset, two.devices[0].dataset);
        assert_eq!(one.devices[0].vm, two.devices[0].vm);
        assert_ne!(one.devices[0].dataset, one.devices[1].dataset);
        let dataset = one.devices[0].dataset.as_ref().unwrap();
        assert!(
            dataset.starts_with(&format!("{}/ds-", one.pools[0].name)),
            "{dataset}"
        );
        let advice = &one.devices[0].verdict.advice[0];
        assert!(advice.contains(&format!("; {dataset} stays")), "{advice}");
        assert!(
            one.devices
                .iter()
                .filter_map(|d| d.vm)
                .all(|vm| vm >= VM_TOKENS_FROM)
        );
    }

    #[test]
    fn another_machine_has_other_tokens() {
        let other = Redactor::with_machine_id("1123456789abcdef0123456789abcdef").unwrap();
        let report = samples::busy();
        assert_ne!(
            redactor().redact(&report).host.hostname,
            other.redact(&report).host.hostname
        );
        assert!(Redactor::with_machine_id("uninitialized").is_none());
        assert!(Redactor::with_machine_id(&"0".repeat(32)).is_none());
    }

    #[test]
    fn a_host_that_is_not_known_stays_so() {
        let mut report = samples::busy();
        report.host.hostname.clear();
        assert_eq!(redactor().redact(&report).host.hostname, "");
    }

    #[test]
    fn the_numbers_stay() {
        let mut redacted = redactor().redact(&secret());
        let original = secret();
        assert_eq!(redacted.totals, original.totals);
        let (new, old) = (redacted.devices.remove(0), &original.devices[0]);
        assert_eq!(
            (new.ops, new.candidates),
            (old.ops.clone(), old.candidates.clone())
        );
    }
}

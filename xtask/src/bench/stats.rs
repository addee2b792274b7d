//! What the kernel says of BPF programs while `kernel.bpf_stats_enabled` is 1.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

const SYSCTL: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// Statistics are kept as long as it lives.
pub(crate) struct Kept {
    before: String,
}

impl Kept {
    pub(crate) fn start() -> Result<Self> {
        let before = fs::read_to_string(SYSCTL).with_context(|| format!("cannot read {SYSCTL}"))?;
        fs::write(SYSCTL, "1").with_context(|| format!("cannot write {SYSCTL}"))?;
        Ok(Self { before })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Nothing to be done about it here.
        let _ = fs::write(SYSCTL, &self.before);
    }
}

/// A loaded program.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Program {
    id: u64,
    #[serde(default)]
    run_time_ns: u64,
    #[serde(default)]
    run_cnt: u64,
}

/// Every loaded program by its number.
pub(crate) fn programs() -> Result<BTreeMap<u64, Program>> {
    let json = process::output(Command::new("bpftool").args(["prog", "show", "--json"]))?;
    let all: Vec<Program> =
        serde_json::from_str(&json).context("bpftool printed something else")?;
    Ok(all
        .into_iter()
        .map(|program| (program.id, program))
        .collect())
}

/// Time that programs which `known` lacks ran between two looks, ns, and how often.
pub(crate) fn run_between(
    known: &BTreeMap<u64, Program>,
    before: &BTreeMap<u64, Program>,
    after: &BTreeMap<u64, Program>,
) -> (u64, u64) {
    after
        .iter()
        .filter(|(id, _)| !known.contains_key(id))
        .filter_map(|(id, now)| Some((now, before.get(id)?)))
        .fold((0, 0), |(ns, runs), (now, then)| {
            (
                ns + now.run_time_ns.saturating_sub(then.run_time_ns),
                runs + now.run_cnt.saturating_sub(then.run_cnt),
            )
        })
}

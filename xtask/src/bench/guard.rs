//! The guard of the cost that is no timing: instructions of each BPF program in the object, and
//! instructions that the analysis takes for an event, counted by callgrind. Both must stay within
//! a tenth of the kept baseline, which changes on purpose only (`--bless`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use serde::{Deserialize, Serialize};

use super::simulate;
use crate::tool::{self, Source, Tool};
use crate::{build_ebpf, process, workspace};

/// The baseline, from the root of the checkout.
const BASELINE: &str = "xtask/src/bench/baseline.toml";
/// How far a count may be from it, in percent of it.
const TOLERANCE_PERCENT: u64 = 10;
/// Bytes of a BPF instruction.
const INSTRUCTION_BYTES: u64 = 8;
/// Events of the two runs whose difference counts: what is not done for each falls out.
const EVENTS: [u64; 2] = [5_000, 25_000];

const VALGRIND: Tool = Tool {
    program: "valgrind",
    probe: &["--version"],
    purpose: "to count instructions",
    source: Source::Debian("valgrind"),
};

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Baseline {
    /// Instructions that the analysis takes for an event (callgrind). Of the development build,
    /// which CI has anyway: more than a user pays, and as good to compare.
    user_instructions_an_event: u64,
    /// Instructions of each BPF program.
    bpf_instructions: BTreeMap<String, u64>,
}

/// Compares everything with the baseline, or makes it the baseline.
pub(crate) fn run(bless: bool, install: bool) -> Result<()> {
    tool::require(&[VALGRIND], install)?;
    let root = workspace::root()?;
    let present = Baseline {
        user_instructions_an_event: user_instructions()?,
        bpf_instructions: bpf_instructions(&root.join(build_ebpf::OBJECT))?,
    };
    let path = root.join(BASELINE);
    if bless {
        let text = format!(
            "# Written by `cargo xtask bench --guard --bless`; see guard.rs.\n{}",
            toml::to_string(&present)?
        );
        fs::write(&path, text).with_context(|| format!("cannot write {BASELINE}"))?;
        println!("{BASELINE}: written");
        return Ok(());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {BASELINE}"))?;
    let kept: Baseline = toml::from_str(&text).with_context(|| format!("{BASELINE} is no TOML"))?;
    let strays = strays(&kept, &present);
    if strays.is_empty() {
        println!(
            "cost in instructions: within {TOLERANCE_PERCENT} % of the baseline \
             ({} an event in the analysis)",
            present.user_instructions_an_event
        );
        return Ok(());
    }
    bail!(
        "the cost in instructions is not that of {BASELINE}:\n{}\n\
         if that is meant, run `cargo xtask bench --guard --bless` and say why in the commit",
        strays.join("\n")
    )
}

/// What is out of bounds, a line each.
fn strays(kept: &Baseline, present: &Baseline) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: &str, kept: u64, present: u64| {
        if kept.abs_diff(present) * 100 > kept * TOLERANCE_PERCENT {
            lines.push(format!("  {what}: {present}, was {kept}"));
        }
    };
    compare(
        "user instructions an event",
        kept.user_instructions_an_event,
        present.user_instructions_an_event,
    );
    let names = kept.bpf_instructions.keys();
    let names: std::collections::BTreeSet<_> =
        names.chain(present.bpf_instructions.keys()).collect();
    for name in names {
        let of = |all: &BTreeMap<String, u64>| all.get(name).copied().unwrap_or(0);
        compare(
            name,
            of(&kept.bpf_instructions),
            of(&present.bpf_instructions),
        );
    }
    lines
}

/// Instructions of each program in the object.
fn bpf_instructions(path: &Path) -> Result<BTreeMap<String, u64>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let elf = object::File::parse(&*bytes)?;
    let mut counts = BTreeMap::new();
    for symbol in elf.symbols() {
        // Beside the programs there are the compiler's own functions, such as memcpy.
        let section = symbol
            .section_index()
            .map(|index| elf.section_by_index(index));
        let is_program = match section {
            Some(section) => section?.name()?.starts_with("tp_btf"),
            None => false,
        };
        if symbol.kind() == SymbolKind::Text && is_program {
            counts.insert(symbol.name()?.to_owned(), symbol.size() / INSTRUCTION_BYTES);
        }
    }
    ensure!(!counts.is_empty(), "{} has no program", path.display());
    Ok(counts)
}

/// Instructions that the analysis takes for an event.
fn user_instructions() -> Result<u64> {
    let feeder = simulate::feeder("dev")?;
    let folder = tempfile::tempdir()?;
    let mut totals = [0; 2];
    for (total, events) in totals.iter_mut().zip(EVENTS) {
        let out = folder.path().join(format!("{events}.callgrind"));
        process::output(
            Command::new("valgrind")
                .args(["--tool=callgrind", "--quiet"])
                .arg(format!("--callgrind-out-file={}", out.display()))
                .arg(&feeder)
                .args(["16", &events.to_string(), "1"]),
        )?;
        let text = fs::read_to_string(&out)?;
        *total = text
            .lines()
            .find_map(|line| line.strip_prefix("totals: "))
            .and_then(|count| count.trim().parse().ok())
            .context("callgrind wrote no totals")?;
    }
    Ok((totals[1] - totals[0]) / (EVENTS[1] - EVENTS[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(user: u64, program: u64) -> Baseline {
        Baseline {
            user_instructions_an_event: user,
            bpf_instructions: BTreeMap::from([("bio_queue".to_owned(), program)]),
        }
    }

    #[test]
    fn a_tenth_more_or_less_is_let_through_and_more_is_not() {
        let kept = counts(1000, 200);
        assert!(strays(&kept, &counts(1100, 180)).is_empty());
        assert_eq!(strays(&kept, &counts(1101, 200)).len(), 1);
        assert_eq!(strays(&kept, &counts(890, 221)).len(), 2);
    }

    #[test]
    fn a_program_that_comes_or_goes_is_named() {
        let mut more = counts(1000, 200);
        more.bpf_instructions.insert("new".to_owned(), 10);
        let kept = counts(1000, 200);
        assert!(strays(&kept, &more)[0].contains("new: 10, was 0"));
        assert!(strays(&more, &kept)[0].contains("new: 0, was 10"));
    }

    #[test]
    fn the_kept_object_has_each_hook_a_copy_of_it_and_one_for_old_kernels() {
        let root = workspace::root().unwrap();
        let counts = bpf_instructions(&root.join(build_ebpf::OBJECT)).unwrap();
        let ending = |with: &str| counts.keys().filter(|name| name.ends_with(with)).count();
        let found = (counts.len(), ending("_2"), ending("_hash"));
        assert_eq!(found, (18, 6, 6), "{counts:?}");
    }
}

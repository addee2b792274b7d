//! `cargo xtask vm`: machines with real ZFS from Debian's packages, and the acceptance suite
//! inside them. The host's apt configuration and its `/lib` stay untouched.

mod archive;
mod btf;
mod cache;
mod console;
mod fixtures;
mod image;
mod machine;
mod mirror;
mod needs;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use crate::{dist, process, workspace};
use cache::{Entry, Slot};
use console::End;
use machine::{Finished, Machine, Payload, Size};
use suite::Suite;

/// Arguments of the verb.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: VmVerb,
}

#[derive(Debug, Subcommand)]
enum VmVerb {
    /// Build machines, or see that the cached ones are what the mirror offers now.
    Build(Suites),
    /// Boot machines (built when missing) and run the acceptance suite inside.
    Test(TestArgs),
    /// Boot machines and take small real captures from them into `tests/fixtures`.
    Fixtures(TestArgs),
    /// Boot one machine with a shell on this terminal; Ctrl-A X ends it.
    Shell {
        /// The machine.
        suite: Suite,
        /// A static binary to take along as /t/zvoltrace instead of building one.
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
}

/// Which machines.
#[derive(Debug, Args)]
struct Suites {
    /// Machines, by Debian suite.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    suites: Vec<Suite>,
    /// All of them.
    #[arg(long)]
    all: bool,
}

impl Suites {
    fn list(&self) -> &[Suite] {
        if self.all { &Suite::ALL } else { &self.suites }
    }
}

#[derive(Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    suites: Suites,
    /// Only tests whose name contains this text; repeatable.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// No tests whose name contains this text; repeatable.
    #[arg(long, value_name = "TEXT")]
    skip: Vec<String>,
    /// Leave out machines that are not in the cache instead of building them.
    #[arg(long)]
    cached: bool,
    /// A static binary to test instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Give up on a machine after this many minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 25)]
    limit: u64,
}

/// Runs the verb.
pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.verb {
        VmVerb::Build(suites) => suites
            .list()
            .iter()
            .try_for_each(|suite| image::build(&Slot::take(*suite)?).map(drop)),
        VmVerb::Test(args) => test(args, &args.filter),
        VmVerb::Fixtures(args) => {
            test(args, &[fixtures::TEST.to_owned()])?;
            args.suites
                .list()
                .iter()
                .try_for_each(|suite| fixtures::adopt(*suite, &kept(*suite)?.join("results")))
        }
        VmVerb::Shell { suite, binary } => shell(*suite, binary.as_deref()),
    }
}

fn test(args: &TestArgs, filters: &[String]) -> Result<()> {
    needs::ensure(&needs::BOOT)?;
    let programs = Programs::build(args.binary.as_deref())?;
    let skipped = args.skip.iter().map(|text| format!("!{text}"));
    let orders: Vec<_> = filters.iter().cloned().chain(skipped).collect();
    let payload = programs.payload(&format!("test\n{}", orders.join("\n")))?;
    let mut summary = Vec::new();
    for &suite in args.suites.list() {
        let slot = Slot::take(suite)?;
        let entry = match slot.find(&image::recipe(suite))? {
            Some(entry) => entry,
            None if args.cached => {
                summary.push((suite, "not cached, left out".to_owned(), true));
                continue;
            }
            None => image::build(&slot)?,
        };
        println!(
            "== {}: {}",
            suite.name(),
            image::summary(&entry.manifest.versions)
        );
        let finished = boot(&slot, &entry, &payload, args.limit)?;
        let (text, good) = judge(&finished);
        if !good {
            println!("-- the console's end:");
            finished.console.tail().for_each(|line| println!("{line}"));
        }
        summary.push((suite, text, good));
    }
    println!();
    for (suite, text, _) in &summary {
        println!("{:9} {text}", suite.name());
    }
    if summary.iter().any(|(_, _, good)| !good) {
        bail!("the suite does not hold on every machine");
    }
    Ok(())
}

/// Where a suite's console and results stay.
fn kept(suite: Suite) -> Result<PathBuf> {
    Ok(workspace::target_dir()?.join("vm").join(suite.name()))
}

fn boot(slot: &Slot, entry: &Entry, payload: &Payload<'_>, minutes: u64) -> Result<Finished> {
    let folder = slot.temporary().join("run");
    let machine = Machine::prepare(entry, payload, SIZE, &folder)?;
    let kept = kept(slot.suite())?;
    fs::create_dir_all(&kept)?;
    let limit = Duration::from_secs(minutes * 60);
    let (finished, results) = machine.watch(limit, &kept.join("console.log"))?;
    unpack(&results, &kept.join("results"))?;
    fs::remove_dir_all(&folder)?;
    println!("console and results: {}", kept.display());
    Ok(finished)
}

/// Takes what the run handed out; a machine that died early handed out nothing.
fn unpack(results: &Path, into: &Path) -> Result<()> {
    if into.exists() {
        fs::remove_dir_all(into)?;
    }
    fs::create_dir_all(into)?;
    let mut start = [0_u8; 1];
    std::io::Read::read_exact(&mut fs::File::open(results)?, &mut start)?;
    if start != [0] {
        process::output(
            Command::new("tar")
                .arg("-xf")
                .arg(results)
                .arg("-C")
                .arg(into),
        )?;
    }
    Ok(())
}

fn judge(finished: &Finished) -> (String, bool) {
    let counts = finished.console.counts();
    let tests = format!(
        "{} passed, {} failed, {} skipped",
        counts.passed, counts.failed, counts.skipped
    );
    let seconds = finished.took.as_secs();
    let failed = finished.console.failed().join(", ");
    match &finished.end {
        End::Verdict(said) if *said != counts => (
            format!("its verdict ({said:?}) is not what its lines say ({counts:?})"),
            false,
        ),
        End::Verdict(said) if said.failed > 0 => {
            (format!("{tests} in {seconds} s: {failed}"), false)
        }
        End::Verdict(said) if said.passed == 0 => (format!("{tests}: nothing was tested"), false),
        End::Verdict(_) => (format!("ok, {tests} in {seconds} s"), true),
        End::Panic => (format!("kernel panic after {seconds} s; {tests}"), false),
        End::Lockup => (format!("a CPU locked up after {seconds} s; {tests}"), false),
        End::PowerOff => (
            format!("went away without a verdict after {seconds} s; {tests}"),
            false,
        ),
        End::Silent => (
            format!("printed nothing for minutes; ended after {seconds} s; {tests}"),
            false,
        ),
        End::TimeOut => (format!("not done after {seconds} s; {tests}"), false),
    }
}

fn shell(suite: Suite, binary: Option<&Path>) -> Result<()> {
    needs::ensure(&needs::BOOT)?;
    let programs = Programs::build(binary)?;
    let slot = Slot::take(suite)?;
    let entry = match slot.find(&image::recipe(suite))? {
        Some(entry) => entry,
        None => image::build(&slot)?,
    };
    let payload = programs.payload("shell\n")?;
    Machine::prepare(&entry, &payload, SIZE, &slot.temporary().join("run"))?.interact()
}

const SIZE: Size = Size {
    memory_mib: 3072,
    cpus: 2,
};

/// The static programs that go into a machine.
struct Programs {
    init: PathBuf,
    zvoltrace: PathBuf,
}

impl Programs {
    fn build(binary: Option<&Path>) -> Result<Self> {
        let zvoltrace = match binary {
            Some(path) => {
                dist::require_static(path)?;
                path.to_owned()
            }
            None => dist::build()?,
        };
        Ok(Self {
            init: dist::build_static("zvoltrace-tests", "vm-init", "dev")?,
            zvoltrace,
        })
    }

    fn payload(&self, orders: &str) -> Result<Payload<'_>> {
        let zvoltrace = fs::read(&self.zvoltrace)
            .with_context(|| format!("cannot read {}", self.zvoltrace.display()))?;
        Ok(Payload {
            init: &self.init,
            files: vec![
                ("zvoltrace", zvoltrace),
                ("orders", orders.as_bytes().to_vec()),
            ],
        })
    }
}

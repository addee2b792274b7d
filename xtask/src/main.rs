//! `cargo xtask VERB`: the project's development verbs, one file a verb.
//!
//! Everything a developer or CI does beyond plain `cargo build` stands here, so that both do the
//! same. A verb that lacks a tool names it and the command that gets it.

mod bench;
mod build_ebpf;
mod check;
mod demo;
mod dist;
mod fuzz;
mod process;
mod python;
mod test;
mod tool;
mod vm;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Development verbs of zvoltrace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Verb {
    /// Measure what the tracer costs, beside other tracers, and guard it.
    Bench(bench::Options),
    /// Rebuild the eBPF object that the binary embeds, or check it.
    BuildEbpf(build_ebpf::Options),
    /// Check formatting, lints, documentation, dependencies and the eBPF object; changes nothing.
    Check(check::Options),
    /// Trace a workload like a virtual machine's on a device made for it, and show the report.
    Demo(demo::Options),
    /// Run every test.
    Test(test::Options),
    /// Build the binary that users get: one static file.
    Dist,
    /// Run the decoders on damaged input, five minutes each.
    Fuzz(fuzz::Options),
    /// Machines with real ZFS, and the acceptance suite inside them.
    Vm(vm::Options),
}

fn main() -> ExitCode {
    let done = match Verb::parse() {
        Verb::Bench(options) => bench::run(&options),
        Verb::BuildEbpf(options) => build_ebpf::run(&options),
        Verb::Check(options) => check::run(&options),
        Verb::Demo(options) => return demo::run(&options),
        Verb::Test(options) => test::run(&options),
        Verb::Dist => dist::run(),
        Verb::Fuzz(options) => fuzz::run(&options),
        Verb::Vm(options) => vm::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

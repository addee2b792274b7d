use clap::Parser;

use super::*;
use crate::cli::args::CaptureArgs;

#[derive(Parser)]
struct Capture {
    #[command(flatten)]
    args: CaptureArgs,
}

fn resolve(line: &str, env: &Environment) -> Result<CapturePlan, Refusal> {
    let words = std::iter::once("capture").chain(line.split_whitespace());
    CapturePlan::resolve(Capture::try_parse_from(words).unwrap().args, env)
}

#[test]
fn without_arguments_all_zvols_are_traced_for_a_minute() {
    let plan = resolve("", &Environment::default()).unwrap();
    assert_eq!(plan.trace.patterns, ["zd*"]);
    assert_eq!(plan.trace.ring_bytes, 16 << 20);
    assert_eq!(plan.duration_ns, 60_000_000_000);
    assert!(!plan.wait);
    let text = Output {
        format: Format::Text,
        target: Target::Stdout,
    };
    assert_eq!(plan.presentation.outputs, [text]);
    assert_eq!(plan.progress, ProgressKind::Lines);
}

#[test]
fn no_report_needs_a_recording_and_a_recording_a_place_of_its_own() {
    let env = Environment::default();
    let plan = resolve("--format none --record a --max-size 1M --max-files 3", &env).unwrap();
    assert_eq!(plan.presentation.outputs, []);
    assert_eq!(
        plan.record,
        Some(RecordPlan {
            path: "a".into(),
            max_bytes: Some(1 << 20),
            max_files: Some(3),
        })
    );
    for line in [
        "--format none",
        "--format none --record a -o b",
        "--record a -o a",
        "--record -",
    ] {
        assert!(resolve(line, &env).is_err(), "{line}");
    }
    assert!(resolve("--record - --format none", &env).is_ok());
}

#[test]
fn positional_patterns_and_flags_are_one_list() {
    let plan = resolve("-d loop0 zd16 --device tank/*", &Environment::default()).unwrap();
    assert_eq!(plan.trace.patterns, ["zd16", "loop0", "tank/*"]);
}

#[test]
fn two_forms_cannot_share_a_place() {
    let env = Environment::default();
    let error = resolve("-o a --also json:a", &env).unwrap_err();
    assert!(error.to_string().contains("a file of its own"), "{error}");
    assert!(resolve("-o - --also json:-", &env).is_err());
    let plan = resolve("--also json:a --also markdown:b", &env).unwrap();
    assert_eq!(plan.presentation.outputs.len(), 3);
}

#[test]
fn colour_is_for_terminals_that_have_it_unless_asked_for() {
    let on_terminal = |mut env: Environment, line: &str| {
        env.stdout_is_terminal = true;
        resolve(line, &env).unwrap().presentation.style.color
    };
    let xterm = || Environment::default();
    let dumb = Environment {
        dumb_terminal: true,
        ..xterm()
    };
    let no_color = Environment {
        no_color: true,
        ..xterm()
    };
    assert!(on_terminal(xterm(), ""));
    assert!(!on_terminal(xterm(), "--color never"));
    assert!(!on_terminal(dumb, ""));
    assert!(!on_terminal(no_color.clone(), ""));
    assert!(on_terminal(no_color, "--color always"));
    assert!(!resolve("", &xterm()).unwrap().presentation.style.color);
}

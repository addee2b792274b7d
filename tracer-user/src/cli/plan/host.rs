//! Plans of the verbs about this host.

use super::Target;
use crate::{
    cli::{
        Refusal,
        args::{CheckArgs, ListArgs},
        value::PlainFormat,
    },
    device::{Roots, Selector, SelectorError},
};

/// Plan of `list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPlan {
    /// Patterns as given; none for all zvols.
    pub patterns: Vec<String>,
    /// Form.
    pub format: PlainFormat,
    /// Place.
    pub target: Target,
    /// Names become tokens.
    pub redact: bool,
}

impl ListPlan {
    /// Resolves the arguments of `list`.
    #[must_use]
    pub fn resolve(args: ListArgs) -> Self {
        let mut patterns = args.patterns;
        patterns.extend(args.devices);
        Self {
            patterns,
            format: args.plain.format,
            target: Target::of(args.plain.output),
            redact: args.redact,
        }
    }
}

/// Plan of `check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPlan {
    /// Size of the ring that a capture is to have.
    pub ring_bytes: u32,
    /// Form.
    pub format: PlainFormat,
    /// Place.
    pub target: Target,
}

impl CheckPlan {
    /// Resolves the arguments of `check`.
    #[must_use]
    pub fn resolve(args: CheckArgs) -> Self {
        Self {
            ring_bytes: args.ring_size,
            format: args.plain.format,
            target: Target::of(args.plain.output),
        }
    }
}

/// Compiles patterns. What no disk could ever match is wrong usage; a path that is not there
/// now is a missing prerequisite.
pub fn selector(patterns: &[String], roots: &Roots) -> Result<Selector, Refusal> {
    Selector::new(roots, patterns).map_err(|error| match error {
        SelectorError::NoSuchPath { .. } | SelectorError::NotABlockDevice { .. } => {
            Refusal::Prerequisite(error.to_string())
        }
        _ => Refusal::Usage(error.to_string()),
    })
}

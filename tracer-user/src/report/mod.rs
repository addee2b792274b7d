//! The report model of the contract and its renderings.

pub(crate) mod content;
pub mod json;
pub mod markdown;
pub mod model;
pub mod prose;
pub mod redact;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod shape;
pub mod style;
pub mod text;
pub mod units;
mod words;

/// Whole-disk sizes can pass 2^53, where JSON readers lose digits: they travel as text.
pub(crate) mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

//! Opens what a verb is to read, whatever kind of file it is.

use std::path::PathBuf;

use crate::source::{
    Source,
    blktrace::{BlktraceSource, Options},
};

/// Opens the files behind `inputs` as one source.
pub(super) fn open(
    inputs: &[PathBuf],
    block_size_bytes: Option<u64>,
    args: &[String],
) -> anyhow::Result<Box<dyn Source>> {
    let options = Options {
        block_size_bytes,
        args: args.to_vec(),
    };
    Ok(Box::new(BlktraceSource::open(inputs, options)?))
}

//! What the hooks log of their rare paths: off unless asked for, and never a line an I/O.

use std::io::{self, Write};

use aya::Ebpf;
use aya_log::EbpfLogger;

/// The kernel's messages, printed when [`EbpfLogger::flush`] finds some.
pub(super) type KernelLog = EbpfLogger<Stderr>;

/// Prints messages on standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stderr;

/// Reads the object's log ring; `None` when it has none.
pub(super) fn open(ebpf: &mut Ebpf) -> Option<KernelLog> {
    EbpfLogger::init_with_logger(ebpf, Stderr).ok()
}

impl log::Log for Stderr {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        // Nobody may be reading standard error.
        let _ = writeln!(io::stderr(), "zvoltrace: kernel: {}", record.args());
    }

    fn flush(&self) {}
}

//! The programs of one object: loaded when first needed, detached together.

use std::{
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use aya::{
    Btf, Ebpf,
    programs::{BtfTracePoint, ProgramError},
};
use tracer_common::names::program;

use super::{
    TracerError,
    error::last_lines,
    load::Platform,
    stats::{self, ProgramStats},
};
use crate::input::Mode;

/// Tracepoint and the program for it, by platform.
type Hook = (&'static str, [&'static str; 2]);

/// Completions come first: an I/O that starts between two attachments must not stay in the
/// table for good.
const BIO_HOOKS: [Hook; 2] = [
    ("block_bio_complete", program::BIO_COMPLETE),
    ("block_bio_queue", program::BIO_QUEUE),
];
const REQUEST_HOOKS: [Hook; 5] = [
    ("block_rq_complete", program::RQ_COMPLETE),
    ("block_rq_requeue", program::RQ_REQUEUE),
    ("block_rq_issue", program::RQ_ISSUE),
    ("block_rq_insert", program::RQ_INSERT),
    ("block_bio_queue", program::BIO_QUEUE),
];

/// Lines of a verifier log that a message shows.
const LOG_LINES: usize = 12;

pub(super) struct Programs {
    ebpf: Ebpf,
    btf_path: PathBuf,
    /// Parsed when a program is loaded; some 30 MiB, so it is not kept for long.
    kernel_btf: Option<Arc<Btf>>,
    platform: Platform,
    attached: Vec<Attached>,
}

struct Attached {
    name: &'static str,
    fd: Option<OwnedFd>,
    /// As they were when the program was detached.
    last: ProgramStats,
}

impl Programs {
    pub(super) fn new(
        ebpf: Ebpf,
        btf_path: PathBuf,
        kernel_btf: Arc<Btf>,
        platform: Platform,
    ) -> Self {
        Self {
            ebpf,
            btf_path,
            kernel_btf: Some(kernel_btf),
            platform,
            attached: Vec::new(),
        }
    }

    /// Loads one program without attaching it, to see whether this kernel takes its kind.
    pub(super) fn try_load(&mut self) -> Result<(), TracerError> {
        let (tracepoint, names) = BIO_HOOKS[1];
        self.load(tracepoint, names[self.platform as usize])
    }

    /// Attaches what a mode needs and is not attached yet.
    pub(super) fn attach(&mut self, mode: Mode) -> Result<(), TracerError> {
        let hooks: &[Hook] = match mode {
            Mode::Bio => &BIO_HOOKS,
            Mode::BlkMq => &REQUEST_HOOKS,
        };
        for (tracepoint, names) in hooks {
            let name = names[self.platform as usize];
            if self.attached.iter().any(|a| a.name == name) {
                continue;
            }
            if !self.is_loaded(name) {
                self.load(tracepoint, name)?;
            }
            let program = self.program(name)?;
            program
                .attach()
                .map_err(|error| refusal(name, "attach", &error))?;
            let fd = program
                .fd()
                .ok()
                .and_then(|fd| fd.as_fd().try_clone_to_owned().ok());
            self.attached.push(Attached {
                name,
                fd,
                last: ProgramStats::default(),
            });
        }
        Ok(())
    }

    /// Loads, without attaching, what a disk of either mode may still need, and frees the BTF:
    /// a disk that comes later is then attached at once. A program that this kernel refuses is
    /// no loss yet; attaching it says why.
    pub(super) fn settle(&mut self) {
        for (tracepoint, names) in BIO_HOOKS.iter().chain(&REQUEST_HOOKS) {
            let name = names[self.platform as usize];
            if !self.is_loaded(name) {
                let _ = self.load(tracepoint, name);
            }
        }
        self.kernel_btf = None;
    }

    /// Detaches and unloads all of them.
    pub(super) fn detach(&mut self) {
        for n in 0..self.attached.len() {
            let name = self.attached[n].name;
            if let Ok(program) = self.program(name) {
                // Only fails for a program that is not loaded.
                let _ = program.unload();
            }
            let attached = &mut self.attached[n];
            attached.last = attached.stats();
            attached.fd = None;
        }
    }

    pub(super) fn recursion_misses(&self) -> u64 {
        let misses = self.attached.iter().map(|a| a.stats().recursion_misses);
        misses.sum()
    }

    pub(super) fn run_time_ns(&self) -> Option<u64> {
        let total: u64 = self.attached.iter().map(|a| a.stats().run_time_ns).sum();
        (total > 0).then_some(total)
    }

    fn load(&mut self, tracepoint: &str, name: &'static str) -> Result<(), TracerError> {
        // Kept while several programs are loaded in a row, else parsed for this one alone.
        let keep = self.kernel_btf.is_some();
        let kernel_btf = match self.kernel_btf.take() {
            Some(btf) => btf,
            None => Arc::new(parse_btf(&self.btf_path)?),
        };
        let loaded = self.program(name)?.load(tracepoint, &kernel_btf);
        if keep {
            self.kernel_btf = Some(kernel_btf);
        }
        match loaded {
            Ok(()) | Err(ProgramError::AlreadyLoaded) => Ok(()),
            Err(error) => Err(refusal(name, "load", &error)),
        }
    }

    fn is_loaded(&mut self, name: &'static str) -> bool {
        self.program(name).is_ok_and(|program| program.fd().is_ok())
    }

    fn program(&mut self, name: &'static str) -> Result<&mut BtfTracePoint, TracerError> {
        let missing = || TracerError::Object {
            what: format!("program {name}"),
        };
        let program = self.ebpf.program_mut(name).ok_or_else(missing)?;
        program.try_into().map_err(|_| missing())
    }
}

/// Parses the kernel's BTF for aya.
pub(super) fn parse_btf(path: &Path) -> Result<Btf, TracerError> {
    Btf::parse_file(path, aya::Endianness::default()).map_err(|error| TracerError::Kernel {
        what: format!("read {}", path.display()),
        cause: chain(&error),
    })
}

impl Attached {
    fn stats(&self) -> ProgramStats {
        match &self.fd {
            Some(fd) => stats::of(raw(fd)),
            None => self.last,
        }
    }
}

fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}

/// Turns aya's error into ours: rights, a verifier's refusal, or whatever else.
fn refusal(program: &str, verb: &str, error: &ProgramError) -> TracerError {
    let what = format!("{verb} program {program}");
    if let ProgramError::LoadError {
        io_error,
        verifier_log,
    } = error
    {
        let log = last_lines(&verifier_log.to_string(), LOG_LINES);
        if io_error.kind() == std::io::ErrorKind::PermissionDenied && log.is_empty() {
            return TracerError::NotPermitted { what };
        }
        return TracerError::Refused {
            program: program.to_owned(),
            cause: io_error.to_string(),
            log,
        };
    }
    TracerError::Kernel {
        what,
        cause: chain(error),
    }
}

/// An error with its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

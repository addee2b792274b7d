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
use tracer_common::names::{HOOKS, Hook};

use super::{
    TracerError, copies,
    error::last_lines,
    load::Platform,
    mapped::MappedArray,
    stats::{self, ProgramStats},
};
use crate::input::Mode;

/// Completions come first: an I/O that starts between two attachments must not stay in the
/// table for good.
const BIO_HOOKS: [Hook; 2] = [Hook::BioComplete, Hook::BioQueue];
const REQUEST_HOOKS: [Hook; 5] = [
    Hook::RqComplete,
    Hook::RqRequeue,
    Hook::RqIssue,
    Hook::RqInsert,
    Hook::BioQueue,
];

/// Lines of a verifier log that a message shows.
const LOG_LINES: usize = 12;

pub(super) struct Programs {
    ebpf: Ebpf,
    btf_path: PathBuf,
    /// Parsed when a program is loaded; some 30 MiB, so it is not kept for long.
    kernel_btf: Option<Arc<Btf>>,
    platform: Platform,
    /// Calls of each hook that a copy did the work of, by CPU.
    rescued: MappedArray<[u64; HOOKS]>,
    attached: Vec<Attached>,
}

struct Attached {
    hook: Hook,
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
        rescued: MappedArray<[u64; HOOKS]>,
    ) -> Self {
        Self {
            ebpf,
            btf_path,
            kernel_btf: Some(kernel_btf),
            platform,
            rescued,
            attached: Vec::new(),
        }
    }

    /// Loads one program without attaching it, to see whether this kernel takes its kind.
    pub(super) fn try_load(&mut self) -> Result<(), TracerError> {
        let hook = Hook::BioQueue;
        match self.platform.programs(hook).first() {
            Some(name) => self.load(hook, name),
            None => Ok(()),
        }
    }

    /// Attaches what a mode needs and is not attached yet.
    pub(super) fn attach(&mut self, mode: Mode) -> Result<(), TracerError> {
        let hooks: &[Hook] = match mode {
            Mode::Bio => &BIO_HOOKS,
            Mode::BlkMq => &REQUEST_HOOKS,
        };
        for hook in hooks {
            for name in self.platform.programs(*hook) {
                self.attach_one(*hook, name)?;
            }
        }
        Ok(())
    }

    fn attach_one(&mut self, hook: Hook, name: &'static str) -> Result<(), TracerError> {
        if self.attached.iter().any(|a| a.name == name) {
            return Ok(());
        }
        if !self.is_loaded(name) {
            self.load(hook, name)?;
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
            hook,
            name,
            fd,
            last: ProgramStats::default(),
        });
        Ok(())
    }

    /// Loads, without attaching, what a disk of either mode may still need, and frees the BTF:
    /// a disk that comes later is then attached at once. A program that this kernel refuses is
    /// no loss yet; attaching it says why.
    pub(super) fn settle(&mut self) {
        for hook in BIO_HOOKS.iter().chain(&REQUEST_HOOKS) {
            for name in self.platform.programs(*hook) {
                if !self.is_loaded(name) {
                    let _ = self.load(*hook, name);
                }
            }
        }
        self.kernel_btf = None;
    }

    /// Detaches and unloads all of them, the last copies first: one that is called when the first
    /// is gone would take it for skipped.
    pub(super) fn detach(&mut self) {
        for n in (0..self.attached.len()).rev() {
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

    /// Calls of hooks that no copy was called for, at most.
    pub(super) fn recursion_misses(&self) -> u64 {
        let missed = Hook::ALL.into_iter().map(|hook| {
            let programs = self.attached.iter().filter(|a| a.hook == hook);
            // Before the rescues are read: what is counted between the two is then rescued.
            let misses: Vec<u64> = programs.map(|a| a.stats().recursion_misses).collect();
            copies::missed(&misses, self.rescued(hook))
        });
        missed.sum()
    }

    /// What copies did instead of the first, which had to be there to be skipped.
    fn rescued(&self, hook: Hook) -> u64 {
        if !matches!(self.platform, Platform::Current(copies) if copies.have_first()) {
            return 0;
        }
        let cpus = 0..self.rescued.len();
        cpus.map(|cpu| self.rescued.read(cpu)[hook as usize]).sum()
    }

    pub(super) fn run_time_ns(&self) -> Option<u64> {
        let total: u64 = self.attached.iter().map(|a| a.stats().run_time_ns).sum();
        (total > 0).then_some(total)
    }

    fn load(&mut self, hook: Hook, name: &'static str) -> Result<(), TracerError> {
        // Kept while several programs are loaded in a row, else parsed for this one alone.
        let keep = self.kernel_btf.is_some();
        let kernel_btf = match self.kernel_btf.take() {
            Some(btf) => btf,
            None => Arc::new(parse_btf(&self.btf_path)?),
        };
        let loaded = self.program(name)?.load(hook.tracepoint(), &kernel_btf);
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

impl Platform {
    /// The programs of a hook, in the order in which they are attached.
    fn programs(self, hook: Hook) -> Vec<&'static str> {
        match self {
            Self::Current(copies) => copies.of(hook.programs()).collect(),
            Self::Legacy => vec![hook.legacy_program()],
        }
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

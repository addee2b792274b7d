//! What the hooks need to know of this kernel, from its BTF: member offsets and the signatures
//! of the tracepoints.
//!
//! Owns the list of types and tracepoints that tracing stands on. Nothing is decided by kernel
//! version, since distributions backport (the arguments of `block_rq_issue` changed inside
//! 5.10's stable series).

use std::{fs::File, os::fd::AsRawFd, path::Path};

use btf_rs::{Backend, Btf, BtfType, Type};
use rustix::fs::{MemfdFlags, memfd_create};
use tracer_common::names::{self, offset};

/// Where the kernel publishes its BTF, below the sysfs root.
pub const VMLINUX: &str = "kernel/btf/vmlinux";

/// A kernel that cannot be traced, and why.
#[derive(Debug, thiserror::Error)]
pub enum BtfError {
    /// No BTF file.
    #[error(
        "{path} does not exist: this kernel has no BTF; it needs one built with \
         CONFIG_DEBUG_INFO_BTF=y (Debian 11, Ubuntu 20.10, Proxmox VE 7 and later have it)"
    )]
    Missing {
        /// Where it was looked for.
        path: String,
    },
    /// The file cannot be read or parsed.
    #[error(
        "cannot read the kernel's BTF in {path}: {cause}; report this with the output of \
         `uname -r` and a copy of that file"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// A type, member or tracepoint is missing.
    #[error(
        "this kernel's BTF has no {what}, which tracing needs; report this with the output of \
         `uname -r`"
    )]
    Lacking {
        /// `bio.bi_opf`, `tracepoint block_bio_queue`...
        what: String,
    },
}

/// Offsets and shapes, named by the global of the BPF object that takes each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Offsets in bytes.
    pub offsets: Vec<(&'static str, u32)>,
    /// Shapes of signatures and structures, 0 or 1.
    pub shapes: Vec<(&'static str, u8)>,
    /// Whether a task can be preempted inside a hook: the kernel then skips that hook for other
    /// tasks.
    pub preempts_hooks: bool,
}

impl Layout {
    /// Whether this is a kernel from 5.12 on, by the block layer of that version: bios lead to
    /// a `block_device`.
    #[must_use]
    pub fn is_5_12_or_later(&self) -> bool {
        self.shapes.contains(&(names::BIO_TARGET_IS_BDEV, 1))
    }
}

/// Tracepoints of bio-mode disks.
pub const BIO_TRACEPOINTS: [&str; 2] = ["block_bio_queue", "block_bio_complete"];
/// Tracepoints that blk-mq disks need beside `block_bio_queue`.
pub const REQUEST_TRACEPOINTS: [&str; 4] = [
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
];

/// Opens a BTF file for a few look-ups: types are decoded when they are asked for, since all of
/// them decoded take 37 MiB and most of the time to start.
pub fn open(path: &Path) -> Result<Btf, BtfError> {
    if !path.exists() {
        return Err(BtfError::Missing {
            path: path.display().to_string(),
        });
    }
    let unreadable = |cause: String| BtfError::Unreadable {
        path: path.display().to_string(),
        cause,
    };
    // A copy in memory that can be mapped: sysfs lets map its own file only from 6.16 on
    // (kernel/bpf/sysfs_btf.c).
    let copy = in_memory(path).map_err(|error| unreadable(error.to_string()))?;
    let copy_path = format!("/proc/self/fd/{}", copy.as_raw_fd());
    Btf::from_file_with_backend(copy_path, Backend::Mmap)
        .map_err(|error| unreadable(error.to_string()))
}

fn in_memory(path: &Path) -> std::io::Result<File> {
    let mut copy = File::from(memfd_create("btf", MemfdFlags::CLOEXEC)?);
    std::io::copy(&mut File::open(path)?, &mut copy)?;
    Ok(copy)
}

/// Finds everything the hooks need.
pub fn layout(btf: &Btf) -> Result<Layout, BtfError> {
    let structures = Structures::find(btf)?;
    let at = |structure: &str, path: &str| structures.member_offset(structure, path);
    let bdev = at("bio", "bi_bdev");
    let bio_target_is_bdev = bdev.is_ok();
    // Without either, the error names the newer one.
    let bio_target = bdev.or_else(|error| at("bio", "bi_disk").map_err(|_| error))?;
    let rq_disk = at("request", "rq_disk");
    let rq_owner_is_queue = rq_disk.is_err();
    let mut offsets = vec![
        (offset::BIO_TARGET, bio_target),
        (offset::BIO_OPF, at("bio", "bi_opf")?),
        (offset::BIO_SECTOR, at("bio", "bi_iter.bi_sector")?),
        (offset::BIO_SIZE, at("bio", "bi_iter.bi_size")?),
        (offset::BIO_STATUS, at("bio", "bi_status")?),
        (offset::DISK_MAJOR, at("gendisk", "major")?),
        (offset::DISK_FIRST_MINOR, at("gendisk", "first_minor")?),
        (offset::RQ_OWNER, rq_disk.or_else(|_| at("request", "q"))?),
        (offset::RQ_CMD_FLAGS, at("request", "cmd_flags")?),
        (offset::RQ_DATA_LEN, at("request", "__data_len")?),
        (offset::RQ_SECTOR, at("request", "__sector")?),
        (offset::RQ_BIO, at("request", "bio")?),
        (offset::RQ_START_TIME, at("request", "start_time_ns")?),
        (offset::TASK_PID, at("task_struct", "pid")?),
        (offset::TASK_TGID, at("task_struct", "tgid")?),
        (offset::TASK_COMM, at("task_struct", "comm")?),
    ];
    if bio_target_is_bdev {
        offsets.push((offset::BDEV_DISK, at("block_device", "bd_disk")?));
    }
    if rq_owner_is_queue {
        offsets.push((offset::QUEUE_DISK, at("request_queue", "disk")?));
    }
    Ok(Layout {
        offsets,
        shapes: vec![
            (names::BIO_TARGET_IS_BDEV, bio_target_is_bdev.into()),
            (names::RQ_OWNER_IS_QUEUE, rq_owner_is_queue.into()),
            (
                names::BIO_QUEUE_HAS_Q,
                takes(btf, "block_bio_queue", 1, 2)?.into(),
            ),
            (names::RQ_HAS_Q, requests_take_queue(btf)?.into()),
        ],
        preempts_hooks: preempts_hooks(btf),
    })
}

/// Whether tracepoints call their programs preemptibly: under `guard(srcu_fast_notrace)` of
/// `tracepoint_srcu` instead of with preemption disabled (include/linux/tracepoint.h, 7.0).
///
/// The guard's type is in BTF where some code uses it. The domain alone tells nothing, since
/// tracepoints had one for other reasons up to 6.12.
fn preempts_hooks(btf: &Btf) -> bool {
    let has = |name| btf.resolve_types_by_name(name).is_ok_and(|t| !t.is_empty());
    has("class_srcu_fast_notrace_t") && has("tracepoint_srcu_srcu_data")
}

/// Every tracepoint that tracing may attach to.
pub fn tracepoints() -> impl Iterator<Item = &'static str> {
    BIO_TRACEPOINTS.into_iter().chain(REQUEST_TRACEPOINTS)
}

/// Whether a tracepoint is in BTF.
#[must_use]
pub fn has_tracepoint(btf: &Btf, name: &str) -> bool {
    parameters(btf, name).is_ok()
}

/// Whether the queue comes before the request; the three tracepoints share one class.
fn requests_take_queue(btf: &Btf) -> Result<bool, BtfError> {
    let with_queue = takes(btf, "block_rq_issue", 1, 2)?;
    for name in ["block_rq_insert", "block_rq_requeue"] {
        if takes(btf, name, 1, 2)? != with_queue {
            return Err(BtfError::Lacking {
                what: format!("tracepoint {name} with the arguments of block_rq_issue"),
            });
        }
    }
    takes(btf, "block_bio_complete", 2, 2)?;
    takes(btf, "block_rq_complete", 3, 3)?;
    Ok(with_queue)
}

/// Whether a tracepoint takes `long` arguments (true) or `short` (false).
fn takes(btf: &Btf, name: &str, short: usize, long: usize) -> Result<bool, BtfError> {
    match parameters(btf, name)? {
        n if n == long => Ok(true),
        n if n == short => Ok(false),
        n => Err(BtfError::Lacking {
            what: format!("tracepoint {name} with {short} to {long} arguments (it has {n})"),
        }),
    }
}

/// Number of a tracepoint's arguments: those of the function that the typedef
/// `btf_trace_<name>` points to, less its private first one (`include/trace/bpf_probe.h`).
fn parameters(btf: &Btf, name: &str) -> Result<usize, BtfError> {
    let lacking = || BtfError::Lacking {
        what: format!("tracepoint {name}"),
    };
    let types = btf
        .resolve_types_by_name(&format!("btf_trace_{name}"))
        .map_err(|_| lacking())?;
    for found in types {
        let Type::Typedef(typedef) = found else {
            continue;
        };
        for linked in btf.chained_type_iter(&typedef) {
            if let Type::FuncProto(function) = linked {
                return function.parameters.len().checked_sub(1).ok_or_else(lacking);
            }
        }
    }
    Err(lacking())
}

/// The structures that the hooks read, each looked up once: a look-up goes through all types.
struct Structures<'a> {
    btf: &'a Btf,
    found: Vec<(&'static str, Type)>,
}

impl<'a> Structures<'a> {
    const NAMES: [&'static str; 6] = [
        "bio",
        "block_device",
        "gendisk",
        "request",
        "request_queue",
        "task_struct",
    ];

    fn find(btf: &'a Btf) -> Result<Self, BtfError> {
        let mut found = Vec::new();
        for name in Self::NAMES {
            let types = btf.resolve_types_by_name(name).unwrap_or_default();
            let structure = types.into_iter().find(|t| matches!(t, Type::Struct(_)));
            found.push((name, structure.ok_or_else(|| lacking(name))?));
        }
        Ok(Self { btf, found })
    }

    /// Offset in bytes of a member, by a path of names separated by dots.
    fn member_offset(&self, structure: &str, path: &str) -> Result<u32, BtfError> {
        let lacking = || lacking(&format!("{structure}.{path}"));
        let (_, mut scope) = self
            .found
            .iter()
            .find(|(name, _)| *name == structure)
            .cloned()
            .ok_or_else(lacking)?;
        let mut bits = 0;
        for name in path.split('.') {
            let (offset, inner) =
                find_member(self.btf, &scope, name, MAX_NESTING).ok_or_else(lacking)?;
            bits += offset;
            scope = inner;
        }
        if bits % 8 == 0 {
            Ok(bits / 8)
        } else {
            Err(lacking())
        }
    }
}

fn lacking(what: &str) -> BtfError {
    BtfError::Lacking {
        what: what.to_owned(),
    }
}

/// Anonymous structures and unions are searched this deep.
const MAX_NESTING: u32 = 8;

/// Offset in bits of a member, and its type with typedefs and qualifiers taken off. Looks into
/// anonymous structures and unions.
fn find_member(btf: &Btf, scope: &Type, name: &str, depth: u32) -> Option<(u32, Type)> {
    let (Type::Struct(structure) | Type::Union(structure)) = scope else {
        return None;
    };
    for member in &structure.members {
        let member_name = btf.resolve_name(member).unwrap_or_default();
        if member_name != name && !member_name.is_empty() {
            continue;
        }
        let Some(inner) = member_type(btf, member) else {
            continue;
        };
        if member_name == name {
            return Some((member.bit_offset(), inner));
        }
        if depth > 0
            && let Some((offset, found)) = find_member(btf, &inner, name, depth - 1)
        {
            return Some((member.bit_offset() + offset, found));
        }
    }
    None
}

fn member_type(btf: &Btf, member: &dyn BtfType) -> Option<Type> {
    let mut found = btf.resolve_chained_type(member).ok()?;
    while matches!(
        found,
        Type::Typedef(_) | Type::Const(_) | Type::Volatile(_) | Type::TypeTag(_)
    ) {
        found = btf.resolve_chained_type(found.as_btf_type()?).ok()?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The running kernel's own BTF, when it has one.
    #[test]
    fn this_kernels_layout_is_found_and_plausible() {
        let path = Path::new("/sys").join(VMLINUX);
        let Ok(btf) = open(&path) else {
            eprintln!("skipped: {} is missing", path.display());
            return;
        };
        let layout = layout(&btf).unwrap();
        let offset = |name| layout.offsets.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(offset(offset::DISK_MAJOR), 0);
        assert_eq!(offset(offset::DISK_FIRST_MINOR), 4);
        assert!(offset(offset::BIO_SIZE) == offset(offset::BIO_SECTOR) + 8);
        assert!(layout.offsets.iter().all(|(_, bytes)| *bytes < 4096));
        for name in BIO_TRACEPOINTS.iter().chain(&REQUEST_TRACEPOINTS) {
            assert!(has_tracepoint(&btf, name), "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let path = Path::new("/sys").join(VMLINUX);
        let Ok(btf) = open(&path) else {
            return;
        };
        assert!(!has_tracepoint(&btf, "block_no_such_thing"));
        let structures = Structures::find(&btf).unwrap();
        let error = structures
            .member_offset("bio", "bi_iter.no_such_member")
            .unwrap_err();
        assert!(error.to_string().contains("bio.bi_iter.no_such_member"));
        let error = open(Path::new("/nonexistent/vmlinux")).err().unwrap();
        assert!(error.to_string().contains("CONFIG_DEBUG_INFO_BTF"));
    }
}

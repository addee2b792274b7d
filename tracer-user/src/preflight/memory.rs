//! Memory that the kernel half needs.

use std::mem::size_of;

use caps::Capability;
use tracer_common::{
    DiskCounters, FILTER_BUCKETS, FILTER_WAYS, FilterSlot, INFLIGHT_SLOTS, Inflight, MAX_DISKS,
};

use super::{Check, kernel::Release, rights::Rights};
use crate::{
    device::{
        Roots,
        roots::{read_text, read_word},
    },
    report::units,
};

/// Up to it the kernel charges maps against `RLIMIT_MEMLOCK`, later against the cgroup
/// (kernel/bpf/syscall.c, 5.11).
const CGROUP_CHARGED: (u32, u32) = (5, 11);
/// Longest of the files read here.
const FILE_BYTES: u64 = 64 << 10;

/// Memory of the maps for a ring of `ring_bytes` on a machine with so many CPUs: the ring, the
/// filter, the table of I/Os in flight with its keys, and the counters of each CPU.
#[must_use]
pub const fn kernel_memory_bytes(ring_bytes: u64, cpus: u64) -> u64 {
    let filter = (FILTER_BUCKETS * FILTER_WAYS) as u64 * size_of::<FilterSlot>() as u64;
    let inflight = INFLIGHT_SLOTS as u64 * (size_of::<Inflight>() + size_of::<u64>()) as u64;
    let counters = MAX_DISKS as u64 * size_of::<DiskCounters>() as u64;
    ring_bytes + filter + inflight + counters.saturating_mul(cpus)
}

/// CPUs that can ever be: the last number of a list such as `0-3` or `0,2-7`.
fn possible_cpus(roots: &Roots) -> u64 {
    read_word(&roots.sys.join("devices/system/cpu/possible"))
        .and_then(|list| list.rsplit(['-', ',']).next()?.parse::<u64>().ok())
        .map_or(1, |last| last.saturating_add(1))
}

fn needed_bytes(roots: &Roots, ring_bytes: u64) -> u64 {
    kernel_memory_bytes(ring_bytes, possible_cpus(roots))
}

/// The limit on locked memory, which bears on kernels before 5.11 only.
pub(super) fn locked(roots: &Roots, release: &Release, ring_bytes: u64) -> Check {
    let id = "locked memory";
    if !release.is_before(CGROUP_CHARGED) {
        return Check::ok(id, "not limited on this kernel");
    }
    if Rights::read(roots).has(Capability::CAP_SYS_RESOURCE.bitmask()) {
        return Check::ok(id, "the limit is raised at start (CAP_SYS_RESOURCE)");
    }
    let limits = read_text(&roots.proc.join("self/limits"), FILE_BYTES).unwrap_or_default();
    let hard = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))
        .and_then(|rest| rest.split_ascii_whitespace().nth(1));
    let needed = needed_bytes(roots, ring_bytes);
    match hard.map(|limit| (limit, limit.parse::<u64>())) {
        Some(("unlimited", _)) => Check::ok(id, "unlimited"),
        Some((_, Ok(limit))) if limit >= needed => Check::ok(id, units::volume(limit)),
        Some((_, Ok(limit))) => Check::missing(
            id,
            format!(
                "limited to {}, and {} are needed",
                units::volume(limit),
                units::volume(needed)
            ),
            "run it as root, or after 'ulimit -l unlimited', or with a smaller --ring-size",
        ),
        _ => Check::warning(
            id,
            "its limit cannot be read",
            "run it as root if loading fails",
        ),
    }
}

/// Free memory, against what the maps take.
pub(super) fn free(roots: &Roots, ring_bytes: u64) -> Check {
    let id = "memory";
    let needed = needed_bytes(roots, ring_bytes);
    let available = read_text(&roots.proc.join("meminfo"), FILE_BYTES)
        .unwrap_or_default()
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok())
        .map(|kib| kib.saturating_mul(1024));
    let need = format!("{} are needed in the kernel", units::volume(needed));
    let remedy = "free some, or take a smaller --ring-size";
    match available {
        None => Check::ok(id, need),
        Some(available) => {
            let found = format!("{} available, {need}", units::volume(available));
            if available < needed {
                Check::missing(id, found, remedy)
            } else if available / 4 < needed {
                Check::warning(id, found, remedy)
            } else {
                Check::ok(id, found)
            }
        }
    }
}

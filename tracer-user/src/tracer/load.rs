//! Makes the maps and picks the programs that this kernel takes.

use std::sync::Arc;

use aya::{
    Btf, Ebpf, EbpfLoader,
    maps::{HashMap as BpfHashMap, Map, RingBuf},
};
use tracer_common::{
    DiskCounters, FILTER_BUCKETS, FILTER_WAYS, FilterSlot, INFLIGHT_BUCKETS, INFLIGHT_SLOTS,
    RingHead, names,
};

use super::{
    Config, Copies, InflightTable, Ring, TracerError,
    log::{self, KernelLog},
    mapped::{MapValue, MappedArray},
    programs::{Programs, chain, parse_btf},
    rings::{self, Rings},
};
use crate::btf::{self, Layout};

/// The object, built by `cargo xtask build-ebpf`.
static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/zvoltrace.bpf.o"));

/// Which programs of each hook are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    /// Kernels from 5.12 on: tables and rings of our own, which need atomic operations.
    Current(Copies),
    /// Older kernels: a BPF hash map and a BPF ring buffer.
    Legacy,
}

const _: () = assert!(
    cfg!(target_arch = "x86_64"),
    "the hooks publish records and free slots by plain stores, which only x86 keeps in order"
);

pub(super) struct Loaded {
    pub(super) programs: Programs,
    pub(super) ring: Ring,
    pub(super) filter: MappedArray<[FilterSlot; FILTER_WAYS as usize]>,
    pub(super) table: InflightTable,
    pub(super) counters: MappedArray<DiskCounters>,
    pub(super) log: Option<KernelLog>,
}

/// A BPF ring buffer that is not used: a page (`ringbuf_map_alloc` in kernel/bpf/ringbuf.c).
const LEAST_RING_BYTES: u32 = 4096;

/// Levels of aya-log's messages that the programs emit.
const LOG_NOTHING: u8 = 0;
const LOG_ALL: u8 = u8::MAX;

/// Loads the object: the programs with atomic operations where the kernel takes them, else the
/// others. Which it takes is found by trying, since distributions backport.
pub(super) fn load(config: &Config) -> Result<Loaded, TracerError> {
    let path = config.sys.join(btf::VMLINUX);
    let layout = btf::layout(&btf::open(&path)?)?;
    let kernel_btf = Arc::new(parse_btf(&path)?);
    raise_memlock_limit();
    let needed = if layout.preempts_hooks {
        Copies::ALL
    } else {
        Copies::FIRST
    };
    let current = Platform::Current(config.copies.unwrap_or(needed));
    match load_with(config, &layout, &kernel_btf, current) {
        // What refuses the others as well is what stands in the way: a kernel before 5.12
        // always refuses the first, and its reason would hide the one that matters.
        Err(TracerError::Refused { .. }) => {
            load_with(config, &layout, &kernel_btf, Platform::Legacy)
        }
        other => other,
    }
}

fn load_with(
    config: &Config,
    layout: &Layout,
    kernel_btf: &Arc<Btf>,
    platform: Platform,
) -> Result<Loaded, TracerError> {
    let path = config.sys.join(btf::VMLINUX);
    let disks = config.disks.get();
    let counters_len = disks.saturating_mul(cpus(config, "possible"));
    // A CPU that is plugged in later has no ring; what completes there is counted as lost.
    let ring_cpus = cpus(config, "online");
    let ring_shift = rings::shift(config.ring_bytes, ring_cpus);
    let records_len = ring_cpus << ring_shift;
    let log_level = if config.kernel_log {
        &LOG_ALL
    } else {
        &LOG_NOTHING
    };
    let last_copy = match platform {
        Platform::Current(copies) => copies.last(),
        Platform::Legacy => 0,
    };
    let mut loader = EbpfLoader::new();
    loader.btf(Some(kernel_btf));
    for (name, value) in &layout.offsets {
        loader.override_global(name, value, true);
    }
    for (name, value) in &layout.shapes {
        loader.override_global(name, value, true);
    }
    loader
        .override_global(names::DISK_SLOTS, &disks, true)
        .override_global(names::LAST_COPY, &last_copy, true)
        .override_global(names::LOG_LEVEL, log_level, true)
        .override_global(names::RING_SHIFT, &ring_shift, true)
        .map_max_entries(names::MAP_COUNTERS, counters_len);
    let rescued_len = if last_copy == 0 { 1 } else { ring_cpus };
    loader.map_max_entries(names::MAP_RESCUED, rescued_len);
    if last_copy == 0 {
        loader.map_max_entries(names::MAP_CALLS, 1);
    }
    match platform {
        Platform::Current(_) => loader
            .map_max_entries(names::MAP_RECORDS, records_len)
            .map_max_entries(names::MAP_RING_HEADS, ring_cpus)
            .map_max_entries(names::MAP_INFLIGHT_HASH, 1)
            .map_max_entries(names::MAP_SHARED_RING, LEAST_RING_BYTES),
        Platform::Legacy => loader
            .map_max_entries(names::MAP_SHARED_RING, config.ring_bytes)
            .map_max_entries(names::MAP_INFLIGHT, 1)
            .map_max_entries(names::MAP_INFLIGHT_KEYS, 1),
    };
    let mut ebpf = loader.load(OBJECT).map_err(|error| not_loaded(&error))?;
    let filter = mapped(&ebpf, names::MAP_FILTER, FILTER_BUCKETS)?;
    let counters = mapped(&ebpf, names::MAP_COUNTERS, counters_len)?;
    let (table, ring) = match platform {
        Platform::Current(_) => (
            InflightTable::Slots {
                keys: mapped(&ebpf, names::MAP_INFLIGHT_KEYS, INFLIGHT_BUCKETS)?,
                entries: mapped(&ebpf, names::MAP_INFLIGHT, INFLIGHT_SLOTS)?,
            },
            Ring::PerCpu(Rings::new(
                mapped::<RingHead>(&ebpf, names::MAP_RING_HEADS, ring_cpus)?,
                mapped(&ebpf, names::MAP_RECORDS, records_len)?,
                ring_shift,
            )),
        ),
        Platform::Legacy => (
            InflightTable::Hash(
                BpfHashMap::try_from(take(&mut ebpf, names::MAP_INFLIGHT_HASH)?)
                    .map_err(|error| map_error(names::MAP_INFLIGHT_HASH, &error))?,
            ),
            Ring::Shared(
                RingBuf::try_from(take(&mut ebpf, names::MAP_SHARED_RING)?)
                    .map_err(|error| map_error(names::MAP_SHARED_RING, &error))?,
            ),
        ),
    };
    let log = config.kernel_log.then(|| log::open(&mut ebpf)).flatten();
    let rescued = mapped(&ebpf, names::MAP_RESCUED, rescued_len)?;
    let mut programs = Programs::new(ebpf, path, Arc::clone(kernel_btf), platform, rescued);
    programs.try_load()?;
    Ok(Loaded {
        programs,
        ring,
        filter,
        table,
        counters,
        log,
    })
}

fn take(ebpf: &mut Ebpf, name: &str) -> Result<Map, TracerError> {
    ebpf.take_map(name).ok_or_else(|| TracerError::Object {
        what: format!("map {name}"),
    })
}

/// Maps an array. It stays in `ebpf`, whose programs are loaded later and refer to it.
fn mapped<T: MapValue>(ebpf: &Ebpf, name: &str, len: u32) -> Result<MappedArray<T>, TracerError> {
    let Some(Map::Array(data)) = ebpf.map(name) else {
        return Err(TracerError::Object {
            what: format!("array {name}"),
        });
    };
    MappedArray::new(data.fd(), len).map_err(|error| map_error(name, &error))
}

fn map_error(name: &str, error: &dyn std::error::Error) -> TracerError {
    TracerError::Kernel {
        what: format!("use BPF map {name}"),
        cause: chain(error),
    }
}

/// An object that does not load: rights most often, memory else.
fn not_loaded(error: &aya::EbpfError) -> TracerError {
    let cause = chain(error);
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::PermissionDenied
        {
            return TracerError::NotPermitted {
                what: "create BPF maps".to_owned(),
            };
        }
        source = inner.source();
    }
    TracerError::Kernel {
        what: "create the BPF maps (is memory short? try a smaller --ring-size)".to_owned(),
        cause,
    }
}

/// One more than the highest CPU number of a list of sysfs: the hooks index by CPU number.
fn cpus(config: &Config, list: &str) -> u32 {
    std::fs::read_to_string(config.sys.join("devices/system/cpu").join(list))
        .ok()
        .and_then(|text| highest(&text))
        .map_or(MOST_CPUS, |highest| highest.saturating_add(1))
        .min(MOST_CPUS)
}

/// `CONFIG_NR_CPUS` of the distributions' kernels.
const MOST_CPUS: u32 = 8192;

/// Highest number of a list such as `0-3,8-11`.
fn highest(list: &str) -> Option<u32> {
    list.trim()
        .split(['-', ','])
        .filter_map(|number| number.parse().ok())
        .max()
}

/// Kernels before 5.11 charge maps to the limit of locked memory. Best effort: where it is
/// refused and needed, creating the maps says so.
fn raise_memlock_limit() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let _ = setrlimit(Resource::Memlock, unlimited);
}

#[cfg(test)]
mod tests {
    use tracer_common::names::Hook;

    use super::*;

    #[test]
    fn the_highest_possible_cpu_is_found_in_any_list() {
        assert_eq!(highest("0-3\n"), Some(3));
        assert_eq!(highest("0\n"), Some(0));
        assert_eq!(highest("0-3,8-11"), Some(11));
        assert_eq!(highest(""), None);
    }

    #[test]
    fn the_object_has_every_map_and_program_by_its_name() {
        let text = String::from_utf8_lossy(OBJECT);
        let programs = Hook::ALL
            .into_iter()
            .flat_map(|hook| hook.programs().into_iter().chain([hook.legacy_program()]));
        let maps = [
            names::MAP_FILTER,
            names::MAP_INFLIGHT_KEYS,
            names::MAP_INFLIGHT,
            names::MAP_INFLIGHT_HASH,
            names::MAP_COUNTERS,
            names::MAP_RECORDS,
            names::MAP_RING_HEADS,
            names::MAP_SHARED_RING,
            names::MAP_CALLS,
            names::MAP_RESCUED,
        ];
        for name in programs.chain(maps) {
            assert!(text.contains(&format!("\0{name}\0")), "{name}");
        }
    }
}

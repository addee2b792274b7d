//! Every branch of the checks against fake hosts.

use super::*;
use crate::{btf, device::fake::FakeHost};

const RING: u64 = 16 << 20;
/// `CAP_BPF` (39) and `CAP_PERFMON` (38).
const BPF_AND_PERFMON: u64 = 1 << 39 | 1 << 38;

/// A kernel's BTF with these tracepoints and what the hooks read, put together by hand.
struct FakeBtf {
    types: Vec<u32>,
    count: u32,
    strings: Vec<u8>,
}

impl FakeBtf {
    const INT: u32 = 1 << 24;
    const PTR: u32 = 2 << 24;
    const STRUCT: u32 = 4 << 24;
    const TYPEDEF: u32 = 8 << 24;
    const FUNC_PROTO: u32 = 13 << 24;

    fn name(&mut self, name: &str) -> u32 {
        let offset = u32::try_from(self.strings.len()).unwrap();
        self.strings.extend(name.bytes());
        self.strings.push(0);
        offset
    }

    /// Adds a type: its name, its kind and length, its size or type, and what follows.
    fn add(&mut self, name: &str, info: u32, size_or_type: u32, rest: &[u32]) -> u32 {
        let name = if name.is_empty() { 0 } else { self.name(name) };
        self.types.extend([name, info, size_or_type]);
        self.types.extend(rest);
        self.count += 1;
        self.count
    }

    /// A structure whose members follow each other, 8 bytes each.
    fn structure(&mut self, name: &str, members: &[(&str, u32)]) -> u32 {
        let length = u32::try_from(members.len()).unwrap();
        let mut rest = Vec::new();
        for (place, (member, kind)) in (0..).zip(members) {
            rest.extend([self.name(member), *kind, place * 64]);
        }
        self.add(name, Self::STRUCT | length, length * 8, &rest)
    }

    fn with(tracepoints: &[&str]) -> Vec<u8> {
        let mut btf = Self {
            types: Vec::new(),
            count: 0,
            strings: vec![0],
        };
        let word = btf.add("long", Self::INT, 8, &[64]);
        let iter = btf.structure("bvec_iter", &[("bi_sector", word), ("bi_size", word)]);
        let members = |names: &[&'static str]| {
            let members = names.iter().map(|name| (*name, word));
            members.collect::<Vec<(&'static str, u32)>>()
        };
        let mut bio = members(&["bi_bdev", "bi_opf", "bi_status"]);
        bio.push(("bi_iter", iter));
        btf.structure("bio", &bio);
        btf.structure("gendisk", &members(&["major", "first_minor"]));
        btf.structure("block_device", &members(&["bd_disk"]));
        btf.structure("request_queue", &members(&["disk"]));
        let request = [
            "q",
            "cmd_flags",
            "__data_len",
            "__sector",
            "bio",
            "start_time_ns",
        ];
        btf.structure("request", &members(&request));
        btf.structure("task_struct", &members(&["pid", "tgid", "comm"]));
        for name in tracepoints {
            let parameters = match *name {
                "block_rq_complete" => 4,
                "block_bio_complete" => 3,
                _ => 2,
            };
            let rest: Vec<u32> = (0..parameters).flat_map(|_| [0, word]).collect();
            let function = btf.add("", Self::FUNC_PROTO | parameters, 0, &rest);
            let pointer = btf.add("", Self::PTR, function, &[]);
            btf.add(&format!("btf_trace_{name}"), Self::TYPEDEF, pointer, &[]);
        }
        let length = |bytes: usize| u32::try_from(bytes).unwrap();
        let types_length = length(btf.types.len() * 4);
        let mut blob = vec![0x9f, 0xeb, 1, 0];
        let header = [24, 0, types_length, types_length, length(btf.strings.len())];
        for word in header.into_iter().chain(btf.types) {
            blob.extend(word.to_le_bytes());
        }
        blob.extend(btf.strings);
        blob
    }
}

fn tracepoints() -> Vec<&'static str> {
    btf::tracepoints().collect()
}

/// A host on which nothing is amiss.
fn good() -> FakeHost {
    let host = FakeHost::new();
    host.write("proc/sys/kernel/osrelease", "6.12.43-1-pve\n");
    host.write("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
    host.write("proc/sys/kernel/perf_event_paranoid", "4\n");
    host.write("proc/sys/kernel/bpf_stats_enabled", "0\n");
    host.write("proc/sys/net/core/bpf_jit_enable", "1\n");
    host.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=ZFS=rpool quiet\n");
    host.write(
        "proc/self/mounts",
        "tracefs /sys/kernel/tracing tracefs rw 0 0\ndebugfs /sys/kernel/debug debugfs rw 0 0\n",
    );
    host.write("proc/self/uid_map", "         0          0 4294967295\n");
    host.write(
        "proc/meminfo",
        "MemTotal: 1 kB\nMemAvailable:    1048576 kB\n",
    );
    rights(&host, u64::MAX, 0);
    host.write("sys/devices/system/cpu/possible", "0-3\n");
    host.write(
        "sys/kernel/security/lockdown",
        "[none] integrity confidentiality\n",
    );
    host.write(
        "sys/kernel/tracing/available_events",
        "block:block_bio_queue\n",
    );
    host.write("sys/module/zfs/version", "2.3.9-1\n");
    host.write_bytes("sys/kernel/btf/vmlinux", &FakeBtf::with(&tracepoints()));
    host.zvol("zd0", 0);
    host.link("tank/vm-1", "zd0");
    host
}

fn rights(host: &FakeHost, effective: u64, uid: u32) {
    host.write(
        "proc/self/status",
        &format!("Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{effective:016x}\n"),
    );
}

fn check(host: &FakeHost, id: &str) -> Check {
    let checks = run(&host.roots(), RING);
    let mut found = checks.into_iter().filter(|check| check.id == id);
    let check = found.next().unwrap_or_else(|| panic!("no check {id}"));
    assert!(found.next().is_none(), "{id} stands twice");
    assert_eq!(check.remedy.is_some(), check.status != Status::Ok);
    check
}

fn status(host: &FakeHost, id: &str) -> Status {
    check(host, id).status
}

#[test]
fn a_host_on_which_nothing_is_amiss_is_ready() {
    let checks = run(&good().roots(), RING);
    assert!(is_ready(&checks));
    assert_eq!(refusal(&checks), None);
    insta::assert_snapshot!(text(&checks));
}

#[test]
fn a_host_on_which_everything_is_amiss_says_for_each_thing_what_to_do() {
    let host = good();
    host.write("proc/sys/kernel/osrelease", "5.4.0-200-generic\n");
    host.write("proc/sys/net/core/bpf_jit_enable", "0\n");
    host.write("proc/cmdline", "quiet debugfs=off\n");
    host.write("proc/meminfo", "MemAvailable: 1024 kB\n");
    host.write(
        "proc/self/limits",
        "Max locked memory  65536  65536  bytes\n",
    );
    host.write(
        "sys/kernel/security/lockdown",
        "none integrity [confidentiality]\n",
    );
    host.write("sys/module/zfs/version", "2.3.0-1\n");
    host.write_bytes(
        "sys/kernel/btf/vmlinux",
        &FakeBtf::with(&tracepoints()[1..]),
    );
    host.zvol("zd16", 16);
    host.blk_mq("zd16");
    host.remove("dev/zvol");
    host.remove("sys/kernel/tracing/available_events");
    rights(&host, 0, 1000);
    let checks = run(&host.roots(), RING);
    assert!(!is_ready(&checks));
    let text = text(&checks);
    for line in text.lines() {
        assert!(line.len() <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(refusal(&checks).unwrap());
    let json: serde_json::Value = serde_json::from_str(&json(&checks).unwrap()).unwrap();
    assert_eq!(json["schema"], "zvoltrace.check/1");
    assert_eq!(json["ready"], false);
    assert_eq!(json["checks"][0]["id"], "kernel");
    assert_eq!(json["checks"][0]["status"], "missing");
}

#[test]
fn lockdown_empty_tracefs_debugfs_off_and_a_missing_capability_are_told_apart() {
    let lockdown = good();
    lockdown.write(
        "sys/kernel/security/lockdown",
        "none integrity [confidentiality]\n",
    );
    let tracefs = good();
    tracefs.remove("sys/kernel/tracing/available_events");
    let debugfs = good();
    debugfs.write("proc/cmdline", "debugfs=off\n");
    let capability = good();
    rights(&capability, 1 << 39, 0);
    let blamed = |host: &FakeHost| {
        let checks = run(&host.roots(), RING);
        let missing = checks.iter().filter(|check| check.status != Status::Ok);
        missing.map(|check| check.id).collect::<Vec<_>>()
    };
    assert_eq!(blamed(&lockdown), ["lockdown"]);
    assert!(blamed(&tracefs).is_empty(), "it is not needed");
    assert!(blamed(&debugfs).is_empty(), "it is not needed");
    assert_eq!(blamed(&capability), ["capabilities"]);
    let found = [
        check(&lockdown, "lockdown").found,
        check(&tracefs, "tracefs").found,
        check(&debugfs, "debugfs").found,
        check(&capability, "capabilities").found,
    ];
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn lockdown_none_and_integrity_are_never_blamed() {
    let host = good();
    for modes in [
        "[none] integrity confidentiality\n",
        "none [integrity] confidentiality\n",
        "nonsense\n",
    ] {
        host.write("sys/kernel/security/lockdown", modes);
        assert_eq!(status(&host, "lockdown"), Status::Ok, "{modes}");
    }
    host.remove("sys/kernel/security/lockdown");
    assert_eq!(status(&host, "lockdown"), Status::Ok);
}

#[test]
fn either_set_of_capabilities_is_enough_on_the_kernels_that_know_it() {
    let host = good();
    for (kernel, effective, expected) in [
        ("6.12.0", BPF_AND_PERFMON, Status::Ok),
        ("6.12.0", 1 << 21, Status::Ok),
        ("6.12.0", 1 << 38, Status::Missing),
        ("6.12.0", 0, Status::Missing),
        ("5.7.0", BPF_AND_PERFMON, Status::Missing),
        ("5.7.0", 1 << 21, Status::Ok),
    ] {
        host.write("proc/sys/kernel/osrelease", kernel);
        rights(&host, effective, 1000);
        assert_eq!(
            status(&host, "capabilities"),
            expected,
            "{kernel} {effective:x}"
        );
    }
    host.write("proc/self/uid_map", "0 100000 65536\n");
    rights(&host, u64::MAX, 0);
    let check = check(&host, "capabilities");
    assert_eq!(check.status, Status::Missing);
    assert!(check.found.contains("user namespace"), "{}", check.found);
}

#[test]
fn the_floor_is_5_10_and_an_odd_release_is_not_refused() {
    let host = good();
    for (release, expected) in [
        ("5.9.16", Status::Missing),
        ("4.19.0-27-amd64", Status::Missing),
        ("5.10.0-33-amd64", Status::Ok),
        ("6.1", Status::Ok),
        ("10.2.1", Status::Ok),
        ("linux", Status::Warning),
    ] {
        host.write("proc/sys/kernel/osrelease", release);
        assert_eq!(status(&host, "kernel"), expected, "{release}");
    }
}

#[test]
fn btf_that_is_absent_damaged_or_lacks_a_tracepoint_is_named() {
    let host = good();
    host.write_bytes(
        "sys/kernel/btf/vmlinux",
        &FakeBtf::with(&["block_bio_queue", "block_rq_issue"]),
    );
    assert_eq!(status(&host, "block_bio_queue"), Status::Ok);
    assert_eq!(status(&host, "block_bio_complete"), Status::Missing);
    host.write_bytes("sys/kernel/btf/vmlinux", b"no BTF at all");
    let damaged = check(&host, "BTF");
    assert_eq!(damaged.status, Status::Missing);
    assert!(
        damaged.found.contains("cannot be read"),
        "{}",
        damaged.found
    );
    host.remove("sys/kernel/btf/vmlinux");
    let absent = check(&host, "BTF");
    assert_eq!(absent.status, Status::Missing);
    assert!(absent.found.contains("not there"), "{}", absent.found);
}

#[test]
fn damaged_btf_of_any_kind_is_an_error_and_no_panic() {
    let whole = FakeBtf::with(&tracepoints());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vmlinux");
    let layout = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        btf::open(&path).and_then(|found| btf::layout(&found))
    };
    assert!(layout(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(layout(&whole[..length]).is_err(), "{length} bytes");
    }
    let mut unknown_kind = whole;
    unknown_kind[24 + 7] = 31;
    assert!(layout(&unknown_kind).is_err());
}

#[test]
fn locked_memory_matters_before_5_11_and_without_the_right_to_raise_it() {
    let host = good();
    rights(&host, BPF_AND_PERFMON, 1000);
    let limit = |text: &str| {
        host.write(
            "proc/self/limits",
            &format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  65536  {text}  bytes\n"
            ),
        );
    };
    limit("65536");
    assert_eq!(status(&host, "locked memory"), Status::Ok, "6.12");
    host.write("proc/sys/kernel/osrelease", "5.10.0-33-amd64");
    assert_eq!(status(&host, "locked memory"), Status::Missing);
    limit("unlimited");
    assert_eq!(status(&host, "locked memory"), Status::Ok);
    limit(&(1_u64 << 30).to_string());
    assert_eq!(status(&host, "locked memory"), Status::Ok);
    host.remove("proc/self/limits");
    assert_eq!(status(&host, "locked memory"), Status::Warning);
    rights(&host, u64::MAX, 0);
    assert_eq!(status(&host, "locked memory"), Status::Ok);
}

#[test]
fn memory_is_measured_against_ring_tables_and_cpus() {
    assert_eq!(
        kernel_memory_bytes(RING, 4),
        (16 << 20) + (1 << 20) + (4 << 20) + (512 << 10) + (4 << 20)
    );
    let host = good();
    for (available_kib, expected) in [
        (20 << 10, Status::Missing),
        (64 << 10, Status::Warning),
        (256 << 10, Status::Ok),
    ] {
        host.write(
            "proc/meminfo",
            &format!("MemAvailable: {available_kib} kB\n"),
        );
        assert_eq!(status(&host, "memory"), expected, "{available_kib}");
    }
}

#[test]
fn zvols_are_counted_by_mode_and_their_absence_is_a_warning_only() {
    let host = good();
    assert_eq!(check(&host, "zvols").found, "1, bio mode");
    host.zvol("zd16", 16);
    host.blk_mq("zd16");
    host.disk("zdata", 8, 0);
    assert_eq!(
        check(&host, "zvols").found,
        "1 in bio mode, 1 in blk-mq mode"
    );
    host.remove("sys/block/zd0");
    assert_eq!(check(&host, "zvols").found, "1, blk-mq mode");
    host.remove("dev/zvol");
    assert_eq!(status(&host, "zvols"), Status::Warning);
    host.remove("sys/block/zd16");
    assert_eq!(status(&host, "zvols"), Status::Warning);
    host.remove("sys/module/zfs");
    assert_eq!(status(&host, "ZFS"), Status::Warning);
    assert!(is_ready(&run(&host.roots(), RING)));
}

#[test]
fn the_defect_named_is_that_of_the_mode_in_use() {
    let host = good();
    host.write("proc/sys/kernel/osrelease", "6.12.43+deb13-amd64\n");
    host.write("sys/module/zfs/version", "2.3.1-1\n");
    let bio = check(&host, "ZFS defect");
    assert_eq!(bio.status, Status::Warning);
    assert!(bio.found.contains("ignores the flushes"), "{}", bio.found);
    host.blk_mq("zd0");
    let blk_mq = check(&host, "ZFS defect");
    assert!(blk_mq.found.contains("read path"), "{}", blk_mq.found);
}

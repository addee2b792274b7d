//! Facts about one device, and the order in which devices are shown.

use super::{
    super::{
        model::{Code, DeviceReport, Finding, TxgSource},
        units::{
            count, duration, factor, per_second, percent, percent_of, size, three_digits, volume,
        },
    },
    Fact, printable,
};
use crate::input::Mode;

/// Sizes of discards that are named.
const DISCARD_SIZES_SHOWN: usize = 3;
/// Idle devices that are named; of more only the number is said.
const IDLE_NAMED: usize = 60;

/// Whether nothing at all happened on a device.
fn is_idle(device: &DeviceReport) -> bool {
    device.verdict.code == Code::Idle && device.outstanding.count == 0
}

/// The time a device was traced, ns, in a capture of `end_ns`.
pub(in super::super) fn lifetime_ns(device: &DeviceReport, end_ns: u64) -> u64 {
    let end = device.vanished_ns.unwrap_or(end_ns);
    end.saturating_sub(device.appeared_ns.unwrap_or(0))
}

/// The devices with I/O, the severest verdict first, then the busiest; and the idle ones.
pub(in super::super) fn busy_and_idle(
    devices: &[DeviceReport],
) -> (Vec<&DeviceReport>, Vec<&DeviceReport>) {
    let io = |device: &DeviceReport| {
        let ops = &device.ops;
        [&ops.read, &ops.write, &ops.discard, &ops.other]
            .iter()
            .fold(device.flush.count, |sum, op| sum.saturating_add(op.count))
    };
    let mut order: Vec<&DeviceReport> = devices.iter().collect();
    order.sort_by_key(|d| std::cmp::Reverse((d.verdict.severity, d.outstanding.count > 0, io(d))));
    order.into_iter().partition(|device| !is_idle(device))
}

/// Kernel name, dataset and VMID: `zd16 tank/vm-100-disk-0 (VM 100)`.
pub(in super::super) fn title(device: &DeviceReport) -> String {
    let mut title = printable(&device.device);
    if let Some(dataset) = &device.dataset {
        title.push(' ');
        title.push_str(&printable(dataset));
    }
    match device.vm {
        Some(vm) => format!("{title} (VM {vm})"),
        None => title,
    }
}

/// Idle devices in one line.
pub(in super::super) fn idle_line(idle: &[&DeviceReport]) -> String {
    let titles: Vec<String> = idle
        .iter()
        .take(IDLE_NAMED)
        .map(|device| title(device))
        .collect();
    let rest = match idle.len() - titles.len() {
        0 => String::new(),
        n => format!(", and {} more", count(n as u64)),
    };
    format!(
        "{} devices without I/O: {}{rest}",
        count(idle.len() as u64),
        titles.join(", ")
    )
}

/// What the disk is: block size, mode, size, numbers.
fn disk(device: &DeviceReport) -> String {
    let block = device.volblocksize_bytes.map_or_else(
        || "block size not known".into(),
        |bytes| {
            let what = if device.dataset.is_some() {
                "volblocksize"
            } else {
                "block size"
            };
            format!("{what} {}", size(bytes))
        },
    );
    let mode = match device.mode {
        Mode::Bio => "bio",
        Mode::BlkMq => "blk-mq",
    };
    let size = match device.size_bytes {
        0 => "size not known".into(),
        bytes => volume(bytes),
    };
    format!(
        "{block}, mode {mode}, {size}, {}:{}",
        device.major, device.minor
    )
}

/// Findings beside the verdict.
pub(crate) fn other_findings(device: &DeviceReport) -> impl Iterator<Item = &Finding> {
    device
        .findings
        .iter()
        .filter(|finding| finding.code != device.verdict.code)
}

/// What the disk is, and what became of it.
pub(in super::super) fn state_facts(device: &DeviceReport, unicode: bool) -> Vec<Fact> {
    let time = |ns| duration(ns, unicode);
    let mut facts = vec![Fact::new("disk", disk(device))];
    if let Some(ns) = device.appeared_ns {
        facts.push(Fact::new(
            "appeared",
            format!("{} after the start", time(ns)),
        ));
    }
    if let Some(ns) = device.vanished_ns {
        facts.push(Fact::loud(
            "vanished",
            format!("{} after the start", time(ns)),
        ));
    }
    if device.lost > 0 {
        let text = format!(
            "{} I/Os are missing in sizes and latencies",
            count(device.lost)
        );
        facts.push(Fact::loud("lost", text));
    }
    let outstanding = &device.outstanding;
    if outstanding.count > 0 {
        let text = format!(
            "{} I/Os not completed at the end, the oldest for {}",
            count(outstanding.count),
            time(outstanding.oldest_ns)
        );
        facts.push(Fact::loud("outstanding", text));
    }
    facts
}

/// What the guest does beside sizes and latencies; what does not apply is left out.
pub(crate) fn workload_facts(device: &DeviceReport, end_ns: u64) -> Vec<Fact> {
    [
        durability(device, end_ns),
        discard_sizes(device),
        bios(device),
        in_flight(device),
        access(device),
        alignment(device),
        amplification(device),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn durability(device: &DeviceReport, end_ns: u64) -> Option<Fact> {
    let sync = &device.sync;
    let writes = device.ops.write.count;
    if writes == 0 {
        return None;
    }
    let durable = match sync.durable_writes {
        0 => "no write: neither FUA nor preflush with data".into(),
        n => format!(
            "{} writes ({}, {}/s): {} FUA, {} preflush with data",
            count(n),
            percent_of(n, writes),
            per_second(n, lifetime_ns(device, end_ns)),
            count(sync.fua),
            count(sync.preflush_with_data),
        ),
    };
    let hints = match sync.hinted {
        0 => String::new(),
        n => format!("; SYNC hint, which ZFS ignores, on {}", count(n)),
    };
    Some(Fact::new("durable", durable + &hints))
}

fn discard_sizes(device: &DeviceReport) -> Option<Fact> {
    let sizes = &device.ops.discard.sizes;
    if sizes.is_empty() {
        return None;
    }
    let shown: Vec<String> = sizes
        .iter()
        .take(DISCARD_SIZES_SHOWN)
        .map(|s| format!("{} x {}", count(s.count), size(s.bytes)))
        .collect();
    let more = if sizes.len() > shown.len() || device.ops.discard.sizes_rest.count > 0 {
        ", and others"
    } else {
        ""
    };
    Some(Fact::new("discards", shown.join(", ") + more))
}

/// On blk-mq one bio may be cut into several requests: said where it happened.
fn bios(device: &DeviceReport) -> Option<Fact> {
    let ops = &device.ops;
    let requests = [&ops.read, &ops.write, &ops.discard, &ops.other]
        .iter()
        .fold(device.flush.count, |sum, op| sum.saturating_add(op.count));
    let cut = device.mode == Mode::BlkMq && device.submitted > 0 && device.submitted != requests;
    cut.then(|| {
        let text = format!(
            "{} submitted, {} requests made of them",
            count(device.submitted),
            count(requests)
        );
        Fact::new("bios", text)
    })
}

fn in_flight(device: &DeviceReport) -> Option<Fact> {
    let c = device.concurrency.as_ref()?;
    let text = format!(
        "mean {}, p50 {}, p99 {}, max {} (over time)",
        three_digits(c.mean),
        count(c.p50),
        count(c.p99),
        count(c.max)
    );
    Some(Fact::new("in flight", text))
}

fn access(device: &DeviceReport) -> Option<Fact> {
    let access = device.access.as_ref()?;
    let mut parts = Vec::new();
    if let Some(share) = access.write_sequential_share {
        parts.push(format!("{} of writes sequential", percent(share)));
    }
    if let Some(share) = access.read_sequential_share {
        parts.push(format!("{} of reads sequential", percent(share)));
    }
    parts.push(format!("{} touched", volume(access.working_set_bytes)));
    if let Some(share) = access.rewritten_share {
        parts.push(format!(
            "{} of the bytes written were written before",
            percent(share)
        ));
    }
    Some(Fact::new("access", parts.join(", ")))
}

fn alignment(device: &DeviceReport) -> Option<Fact> {
    let alignment = device.alignment.as_ref()?;
    let aligned = percent(alignment.aligned_share?);
    let remainder = alignment
        .constant_remainder_bytes
        .map_or_else(String::new, |bytes| {
            format!("; nearly all start {} past a block", size(bytes))
        });
    let text = format!(
        "{aligned} of writes start on a block, {} cover a block only in part{remainder}",
        count(alignment.partial_block_writes)
    );
    Some(Fact::new("alignment", text))
}

fn amplification(device: &DeviceReport) -> Option<Fact> {
    let a = device.amplification.as_ref()?;
    let source = match a.txg_source {
        TxgSource::Kstat => "transaction groups from kstat",
        TxgSource::Assumed => "transaction groups assumed",
    };
    let data = factor(a.coalesced?);
    let metadata = a
        .metadata
        .map_or_else(String::new, |m| format!(" + {} metadata", factor(m)));
    let worst = a
        .worst_case
        .map_or_else(String::new, |w| format!(", worst case {}", factor(w)));
    Some(Fact::new(
        "amplified",
        format!("ZFS writes {data} the guest's bytes as data{metadata}{worst} ({source})"),
    ))
}

//! What the observing side publishes: everything a frame shows that the user did not choose.
//!
//! Plain data for one moment, immutable once published, without a clock: times are nanoseconds
//! since the start of the capture. It is made for what [`Wanted`] asks; what it really covers
//! stands in it ([`Snapshot::span`]), so that a frame never mixes the two up.

use std::sync::Arc;

use crate::{
    analysis::verdict::RuleTrace,
    event::DeviceId,
    input::Mode,
    report::model::{
        Code, DeviceReport, LatencyBucket, Outstanding, Rest, Severity, SizeCount, SourceKind,
        SyncReport, Verdict,
    },
};

/// How much time the rows cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The last second.
    Second,
    /// The last ten seconds.
    #[default]
    TenSeconds,
    /// The last minute.
    Minute,
    /// Everything since the start, or since the last reset.
    SinceStart,
}

/// What the screen asks of the observing side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Time that the rows cover.
    pub window: Window,
    /// Where the window ends, since the start; `None` follows time.
    pub until_ns: Option<u64>,
    /// The zvol that is looked at closely.
    pub detail: Option<DeviceId>,
    /// What is known since the start stays as it is.
    pub frozen: bool,
    /// Replay: time runs so many times as fast; 0 stands still. A live source ignores it.
    pub speed: u32,
}

/// Everything a frame shows.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The line on top.
    pub header: Header,
    /// Window of rows, totals and detail.
    pub window: Window,
    /// Time that the window really covers: a window begins at a whole second, and ends with the
    /// last whole one.
    pub span: Span,
    /// What the history holds; a view can be moved within.
    pub history: Span,
    /// Before this moment the history has seconds in tens only, to stay within its memory;
    /// `None` when it has every second.
    pub coarse_until_ns: Option<u64>,
    /// One a device, in order of arrival; vanished ones stay.
    pub rows: Vec<Row>,
    /// Sum of the rows, each I/O once though disks are stacked.
    pub totals: Load,
    /// I/Os in flight on all devices, and the oldest of them.
    pub outstanding: Outstanding,
    /// The zvol that is looked at closely.
    pub detail: Option<Detail>,
    /// The capture in the background that was started last.
    pub job: Option<Job>,
}

impl Snapshot {
    /// The close look at a device, when it is that one's.
    #[must_use]
    pub fn detail_of(&self, id: DeviceId) -> Option<&Detail> {
        self.detail.as_ref().filter(|detail| detail.id == id)
    }
}

/// A stretch of time, ns since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// From.
    pub from_ns: u64,
    /// To; not before `from_ns`.
    pub to_ns: u64,
}

/// The line on top.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// ZFS version; `None` without ZFS.
    pub zfs_version: Option<String>,
    /// Defects of this ZFS version that bear on zvols, in plain words.
    pub known_defects: Vec<String>,
    /// Where the inputs come from; `None` before the first.
    pub source: Option<SourceKind>,
    /// Time since the start.
    pub elapsed_ns: u64,
    /// I/Os that completed in the last whole second, all devices.
    pub events_per_s: u64,
    /// What was lost since the start. Loud when it is not zero.
    pub losses: Losses,
    /// Devices traced now.
    pub devices: usize,
    /// Pools, in order of name.
    pub pools: Vec<PoolView>,
    /// What is waited for while no disk matches: the patterns.
    pub waiting_for: Option<String>,
    /// How a recording runs; `None` when live.
    pub replay: Option<Replay>,
    /// Why the source ended before its time, in plain words.
    pub problem: Option<String>,
    /// What tracing costs; `None` when nothing is traced, or not known yet.
    pub cost: Option<Cost>,
}

/// What tracing costs the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Run time of the hooks an I/O, ns; `None` when `kernel.bpf_stats_enabled` is off.
    pub kernel_ns_per_io: Option<u64>,
    /// CPU time of this process in the last second, 1 being a whole core.
    pub cpu_share: f64,
    /// Most memory this process held, bytes.
    pub max_rss_bytes: u64,
}

/// Events that no histogram has, by where they were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Found no room in the ring.
    pub ring: u64,
    /// Hook invocations that the kernel skipped.
    pub recursion: u64,
    /// Could not be decoded.
    pub undecodable: u64,
    /// Found no room in the queue to the screen.
    pub queue: u64,
    /// Found no room in the in-flight table.
    pub not_tracked: u64,
}

impl Losses {
    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        let all = [
            self.ring,
            self.recursion,
            self.undecodable,
            self.queue,
            self.not_tracked,
        ];
        all.into_iter().fold(0, u64::saturating_add)
    }
}

/// A pool, now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolView {
    /// Name.
    pub name: String,
    /// Word of the `state` kstat (`ONLINE`, `SUSPENDED`...); `None` when it cannot be read.
    pub state: Option<String>,
    /// Time the latest transaction group took to sync.
    pub sync_ns: Option<u64>,
}

/// How a recording runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Times as fast as it was; 0 stands still.
    pub speed: u32,
    /// Reads on to a moment that was asked for.
    pub seeking: bool,
    /// Everything was read.
    pub ended: bool,
    /// It can begin anew (standard input cannot).
    pub can_rewind: bool,
}

/// Whether a device is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Since the start, or for a while.
    #[default]
    There,
    /// Came less than ten seconds ago.
    New,
    /// Gone; its row stays.
    Vanished,
}

/// A device in the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Identity.
    pub id: DeviceId,
    /// Kernel name.
    pub device: Arc<str>,
    /// Dataset; `None` for a disk that is no zvol.
    pub dataset: Option<Arc<str>>,
    /// Proxmox VMID from the dataset's name.
    pub vm: Option<u64>,
    /// Mode.
    pub mode: Mode,
    /// Block size judged against: volblocksize, or `--block-size`.
    pub block_bytes: Option<u64>,
    /// Size of the disk.
    pub size_bytes: u64,
    /// Whether it is there.
    pub presence: Presence,
    /// What it did in the window.
    pub load: Load,
    /// I/Os in flight at the window's end.
    pub outstanding: Outstanding,
    /// What to think of it, since the start; `None` until there was time to judge.
    pub badge: Option<Badge>,
    /// The whole verdict behind the badge.
    pub verdict: Option<Arc<Verdict>>,
}

/// An I/O that is in flight for so long is stuck: even a disk that retries answers sooner.
pub const STUCK_NS: u64 = 5_000_000_000;

/// A verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Badge {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
}

/// What a device did in a window. Counts lack what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Time the window covers: what rates are made of. 0 before the first second is over.
    pub duration_ns: u64,
    /// Reads.
    pub read: OpLoad,
    /// Writes with data.
    pub write: OpLoad,
    /// Discards.
    pub discard: OpLoad,
    /// Bare flushes.
    pub flush: OpLoad,
    /// The most frequent exact size of writes.
    pub dominant_write: Option<Dominant>,
    /// Completed with an error, all operations.
    pub errors: u64,
    /// Events of this device lost in the window: rates and latencies lack them.
    pub lost: u64,
}

/// One operation in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpLoad {
    /// I/Os completed.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Median latency; good to 4 % in a window (two digits are honest), better since the start.
    pub p50_ns: Option<u64>,
    /// 99th percentile, as good.
    pub p99_ns: Option<u64>,
    /// Longest, exact.
    pub max_ns: Option<u64>,
}

/// The most frequent exact size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    /// Size.
    pub bytes: u64,
    /// Its share of the I/Os, 0 to 1.
    pub share: f64,
}

/// The zvol that is looked at closely.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Which; its row is among the rows.
    pub id: DeviceId,
    /// Reads in the window.
    pub read: OpDetail,
    /// Writes with data in the window.
    pub write: OpDetail,
    /// Discards in the window.
    pub discard: OpDetail,
    /// Bare flushes in the window; no sizes.
    pub flush: OpDetail,
    /// Writes by flag, in the window.
    pub sync: SyncReport,
    /// One point a step of time, oldest first, the last 15 minutes of the history up to the
    /// window's end; steps without I/O are there, as zeros.
    pub timeline: Vec<Step>,
    /// Everything since the start: verdict, findings, candidates, submitters, access,
    /// amplification. `None` until there was time to judge.
    pub report: Option<Arc<DeviceReport>>,
    /// Every rule with its outcome.
    pub rules: Arc<[RuleTrace]>,
}

/// Distributions of one operation in a window.
#[derive(Clone, Debug, Default)]
pub struct OpDetail {
    /// Exact sizes, most frequent first.
    pub sizes: Vec<SizeCount>,
    /// I/Os whose size had no room of its own.
    pub sizes_rest: Rest,
    /// Latency by powers of two, empty ranges left out.
    pub latency: Vec<LatencyBucket>,
}

/// Latency ranges of the heat map: the first is up to 1.024 us (2^10 ns), each further one
/// twice as long (`2^(9+n)` to `2^(10+n)` ns), the last has all from 2^36 ns (68.7 s) on.
pub const HEAT_RANGES: usize = 28;

/// The range of the heat map that holds a latency.
#[must_use]
pub fn heat_range(ns: u64) -> usize {
    let bits = 64 - ns.leading_zeros() as usize;
    bits.saturating_sub(10).min(HEAT_RANGES - 1)
}

/// Shortest latency of a range of the heat map, ns.
#[must_use]
pub fn heat_from_ns(range: usize) -> u64 {
    match range.min(HEAT_RANGES - 1) {
        0 => 0,
        range => 1 << (range + 9),
    }
}

/// One operation in a step of the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepOp {
    /// I/Os completed.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// 99th percentile of the latency.
    pub p99_ns: Option<u64>,
    /// Longest, exact.
    pub max_ns: Option<u64>,
    /// I/Os by latency, see [`heat_from_ns`].
    pub heat: [u32; HEAT_RANGES],
}

/// A step of the timeline: a second, ten where the history is coarse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Where it begins, since the start.
    pub from_ns: u64,
    /// How long it is.
    pub duration_ns: u64,
    /// Reads.
    pub read: StepOp,
    /// Writes with data.
    pub write: StepOp,
    /// Bare flushes.
    pub flush: StepOp,
    /// I/Os in flight at its end.
    pub outstanding: u64,
}

/// A capture in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Counts the captures that were started.
    pub number: u64,
    /// File it is written to.
    pub path: String,
    /// How it stands.
    pub stage: JobStage,
}

/// How a capture in the background stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStage {
    /// Runs for so much longer.
    Running {
        /// Until its end.
        left_ns: u64,
    },
    /// The report is in its file.
    Written,
    /// Why there is no file.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_ranges_hold_what_they_say() {
        for range in 1..HEAT_RANGES {
            let from_ns = heat_from_ns(range);
            assert_eq!(heat_range(from_ns), range);
            assert_eq!(heat_range(from_ns - 1), range - 1);
        }
        assert_eq!(heat_from_ns(1), 1 << 10);
        assert_eq!(heat_range(0), 0);
        assert_eq!(heat_range(u64::MAX), HEAT_RANGES - 1);
    }
}

//! The report: one immutable model that every output is rendered from.
//!
//! The names and meanings are the contract of `zvoltrace.report/1`: keys may be added, never
//! renamed. Integers are bytes, nanoseconds or counts, and the key's suffix says which. An
//! `Option` is `null` when the value is not known here; a field marked
//! `skip_serializing_if` is absent when the thing does not apply.

use serde::{Deserialize, Serialize};

use crate::input::{Mode, Overhead};

/// Value of [`Report::schema`].
pub const SCHEMA: &str = "zvoltrace.report/1";

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the report.
    pub tool_version: String,
    /// Machine of the capture.
    pub host: HostReport,
    /// How the capture went.
    pub capture: Capture,
    /// ZFS pools.
    pub pools: Vec<Pool>,
    /// Devices, in order of arrival.
    pub devices: Vec<DeviceReport>,
    /// Sums over the devices, each I/O once though disks are stacked.
    pub totals: Ops,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// ZFS version; null without ZFS.
    pub zfs_version: Option<String>,
    /// Known defects of this ZFS version that bear on zvols, in plain words.
    pub known_defects: Vec<String>,
}

/// Where the events came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// The kernel, now.
    Live,
    /// A recording.
    Recording,
    /// blktrace or blkparse output.
    Blktrace,
}

/// How the capture went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Source.
    pub source: SourceKind,
    /// Arguments of the capturing command.
    pub args: Vec<String>,
    /// Start, RFC 3339.
    pub started: String,
    /// Duration asked for; null without limit.
    pub requested_ns: Option<u64>,
    /// Duration reached.
    pub duration_ns: u64,
    /// Whether the capture ran its whole time and lost nothing.
    pub complete: bool,
    /// Why not, in plain words.
    pub incomplete_reasons: Vec<String>,
    /// Clock of the capture.
    pub clock: String,
    /// Event accounting.
    pub events: EventCounts,
    /// What it cost; zeros when read from a file.
    pub overhead: Overhead,
}

/// Event accounting over all devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// I/Os completed, by the kernel's exact counters.
    pub completed: u64,
    /// Events that reached the analysis.
    pub delivered: u64,
    /// Events the histograms lack.
    pub lost: u64,
    /// Completions without a start (in flight when tracing began).
    pub without_start: u64,
    /// Starts without a completion: outstanding at the end, or overwritten.
    pub without_completion: u64,
    /// Completions stamped before their start; not in any histogram.
    pub time_inversions: u64,
    /// I/Os that found no room in the in-flight table.
    pub not_tracked: u64,
}

/// A ZFS pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Name.
    pub name: String,
    /// State as kstat gives it; `UNKNOWN` when it cannot be read.
    pub state: String,
    /// Transaction groups seen.
    pub txg: TxgReport,
    /// Layout, `raidz2:6`; null when not known.
    pub layout: Option<String>,
    /// Share of the pool in use; null when not known.
    pub fill_share: Option<f64>,
    /// What the pool is busy with (scrub, resilver); null when not known.
    pub activity: Option<String>,
}

/// Transaction groups of a pool during the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TxgReport {
    /// Groups that synced.
    pub count: u64,
    /// Time to sync; null values without any.
    pub sync_ns: TxgSync,
    /// Most dirty data of a group.
    pub dirty_bytes_max: Option<u64>,
}

/// Percentiles of the sync time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TxgSync {
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Kernel name.
    pub device: String,
    /// Major number.
    pub major: u32,
    /// First minor number.
    pub minor: u32,
    /// Dataset; null for a disk that is no zvol.
    pub dataset: Option<String>,
    /// Proxmox VMID from the dataset's name; null when it has none.
    pub vm: Option<u64>,
    /// Mode.
    pub mode: Mode,
    /// Block size judged against; null when not known.
    pub volblocksize_bytes: Option<u64>,
    /// Size of the disk, as text since it can pass 2^53.
    #[serde(with = "crate::report::decimal")]
    pub size_bytes: u64,
    /// When it appeared, since the start; null when it was there.
    pub appeared_ns: Option<u64>,
    /// When it vanished, since the start; null when it is still there.
    pub vanished_ns: Option<u64>,
    /// Events the histograms of this device lack.
    pub lost: u64,
    /// Bios submitted.
    pub submitted: u64,
    /// I/Os in flight at the end.
    pub outstanding: Outstanding,
    /// By operation.
    pub ops: Ops,
    /// Writes by flag.
    pub sync: SyncReport,
    /// Bare flushes.
    pub flush: FlushReport,
    /// I/Os in flight over time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub concurrency: Option<Concurrency>,
    /// Access pattern.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub access: Option<Access>,
    /// Alignment to the block size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alignment: Option<Alignment>,
    /// Write amplification at the present block size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub amplification: Option<Amplification>,
    /// The same for every candidate block size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidates: Option<Vec<Candidate>>,
    /// Who submitted, most I/Os first.
    pub submitters: Vec<Submitter>,
    /// What to think of it.
    pub verdict: Verdict,
    /// Everything that is true of it, the verdict first.
    pub findings: Vec<Finding>,
}

/// I/Os in flight at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outstanding {
    /// How many.
    pub count: u64,
    /// Age of the oldest; 0 without any.
    pub oldest_ns: u64,
}

/// Statistics by operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ops {
    /// Reads.
    pub read: OpStats,
    /// Writes with data.
    pub write: OpStats,
    /// Discards.
    pub discard: OpStats,
    /// Everything else but flushes.
    pub other: OpStats,
}

/// Statistics of one operation. Counts and bytes are exact, whatever was lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpStats {
    /// I/Os completed.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Completed with an error.
    pub errors: u64,
    /// Exact sizes, most frequent first.
    pub sizes: Vec<SizeCount>,
    /// I/Os of sizes beyond the bounded table.
    pub sizes_rest: Rest,
    /// Submission to completion (Q2C).
    pub latency_ns: Latency,
    /// Insert or allocation to issue (Q2D); blk-mq only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_ns: Option<Latency>,
    /// Issue to completion (D2C); blk-mq only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_ns: Option<Latency>,
    /// Latency histogram, logarithmic, empty ranges left out.
    pub latency_histogram: Vec<LatencyBucket>,
}

/// I/Os of one exact size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCount {
    /// Size.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}

/// I/Os of all other sizes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// How many.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// Summary of a distribution of times; all null without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Minimum, exact.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// Maximum, exact.
    pub max: Option<u64>,
    /// Mean.
    pub mean: Option<u64>,
}

/// One range of a latency histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// From, inclusive.
    pub from_ns: u64,
    /// To, exclusive.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// Writes by flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Writes with the `SYNC` hint (which ZFS ignores).
    pub hinted: u64,
    /// Writes with `FUA`.
    pub fua: u64,
    /// Writes with data and `PREFLUSH`.
    pub preflush_with_data: u64,
    /// Writes with either: the durable ones.
    pub durable_writes: u64,
}

/// Bare flushes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlushReport {
    /// How many, exact.
    pub count: u64,
    /// Submission to completion.
    pub latency_ns: Latency,
    /// The same by powers of two, empty ranges left out.
    #[serde(default)]
    pub latency_histogram: Vec<LatencyBucket>,
}

/// I/Os in flight, weighted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// Access pattern; null where there was too little to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Share of reads that continue a stream.
    pub read_sequential_share: Option<f64>,
    /// Share of writes that continue a stream.
    pub write_sequential_share: Option<f64>,
    /// Distinct bytes touched.
    pub working_set_bytes: u64,
    /// Two standard deviations of it as a share, where a sample stands for the whole; absent
    /// when it is exact.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub working_set_error_share: Option<f64>,
    /// Share of written bytes that had been written before in this capture.
    pub rewritten_share: Option<f64>,
}

/// Alignment of writes to the block size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// Share of writes that start on a block.
    pub aligned_share: Option<f64>,
    /// The remainder that nearly all offsets share, when it is not 0.
    pub constant_remainder_bytes: Option<u64>,
    /// Writes that cover a block only in part.
    pub partial_block_writes: u64,
}

/// Where transaction group bounds came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TxgSource {
    /// The pool's txgs kstat.
    Kstat,
    /// Windows of `zfs_txg_timeout`.
    Assumed,
}

/// Write amplification: each is bytes / bytes written by the guest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amplification {
    /// Blocks touched x block size; null without writes.
    pub worst_case: Option<f64>,
    /// Distinct blocks per transaction group x block size: what ZFS writes to data blocks.
    pub coalesced: Option<f64>,
    /// Indirect blocks, on top of `coalesced`.
    pub metadata: Option<f64>,
    /// Source of the transaction groups.
    pub txg_source: TxgSource,
}

/// A candidate block size for this very workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Block size.
    pub block_bytes: u64,
    /// As [`Amplification::worst_case`].
    pub worst_case: Option<f64>,
    /// As [`Amplification::coalesced`].
    pub coalesced: Option<f64>,
    /// As [`Amplification::metadata`].
    pub metadata: Option<f64>,
    /// Share of writes that cover a block only in part.
    pub partial_write_share: Option<f64>,
    /// Bytes allocated / bytes stored on the pool's layout; null when it is not known.
    pub space_raw: Option<f64>,
    /// The same as `used` shows it.
    pub space_used: Option<f64>,
}

/// A process that submitted I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitter {
    /// Command name, or `not attributable` for kernel workers.
    pub comm: String,
    /// Process; null where it cannot be known.
    pub pid: Option<u32>,
    /// I/Os.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Verdict and finding codes, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The block size fits the writes.
    Fits,
    /// Writes are smaller than the block: they amplify.
    WriteSmallerThanBlock,
    /// Writes are larger than the block: they split, and metadata grows.
    WriteLargerThanBlock,
    /// Writes do not start on a block.
    Misaligned,
    /// No size dominates.
    MixedSizes,
    /// The host's page cache cuts writes into pages.
    PageCacheSplit,
    /// Mostly reads.
    ReadMostly,
    /// Flushes make the tail.
    FlushBound,
    /// Under 300 writes: nothing is concluded.
    TooFewWrites,
    /// No I/O.
    Idle,
    /// No block size to judge against.
    BlockSizeUnknown,
    /// The kernel's statistics of this disk do not move though I/O happens.
    StatisticsNotMaintained,
    /// A known defect of this ZFS version bears on what was seen.
    KnownDefect,
}

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing to do.
    Ok,
    /// Worth knowing.
    Info,
    /// Costs something.
    Warning,
    /// Costs a lot, or loses data.
    Critical,
}

/// How sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Thin evidence.
    Low,
    /// Fair evidence.
    Medium,
    /// Strong evidence.
    High,
}

/// The verdict on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// Exact size of most writes; null without enough writes.
    pub dominant_write_bytes: Option<u64>,
    /// Its share of the writes, by count.
    pub dominant_share_count: Option<f64>,
    /// Its share of the bytes written.
    pub dominant_share_bytes: Option<f64>,
    /// Block size that would fit better; null to keep the present one.
    pub recommended_block_bytes: Option<u64>,
    /// One sentence.
    pub summary: String,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: Vec<String>,
}

/// One thing that is true of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// One sentence.
    pub summary: String,
    /// What it rests on.
    pub evidence: Vec<String>,
}

//! Names of maps, programs and globals in the BPF object. The kernel half cannot use them in
//! its attributes, so the user half's tests check them against the object.

/// Array of `[FilterSlot; FILTER_WAYS]` (see [`crate::FilterSlot`]): the traced disks.
pub const MAP_FILTER: &str = "FILTER";
/// Array of `[u64; INFLIGHT_WAYS]`: addresses of the I/Os in flight, a bucket a value.
pub const MAP_INFLIGHT_KEYS: &str = "INFLIGHT_KEYS";
/// Array of [`crate::Inflight`]: what is known of them, slot by slot.
pub const MAP_INFLIGHT: &str = "INFLIGHT";
/// Hash of address to [`crate::Inflight`] for kernels before 5.12.
pub const MAP_INFLIGHT_HASH: &str = "INFLIGHT_HASH";
/// Array of [`crate::DiskCounters`], `cpu * DISK_SLOTS + slot`.
pub const MAP_COUNTERS: &str = "COUNTERS";
/// Array of [`crate::IoRecord`]: the rings, `cpu << RING_SHIFT` being a CPU's first place.
pub const MAP_RECORDS: &str = "RECORDS";
/// Array of [`crate::RingHead`], one a CPU.
pub const MAP_RING_HEADS: &str = "RING_HEADS";
/// BPF ring buffer of [`crate::SharedRecord`] for kernels before 5.12.
pub const MAP_SHARED_RING: &str = "SHARED_RING";
/// Array of `[u64; 4]` by a task's number modulo [`crate::CALL_SLOTS`]: the address that it is in
/// a call of a hook with, by hook; used by copies of hooks only.
pub const MAP_CALLS: &str = "CALLS";
/// Array of `[u64; HOOKS]`, one a CPU: calls of each hook that a copy did the work of.
pub const MAP_RESCUED: &str = "RESCUED";

/// Global: offset of a structure member in bytes (one for each field the hooks read), found in
/// BTF by the user half.
pub mod offset {
    /// `bio.bi_bdev` (5.12 and later) or `bio.bi_disk` (before).
    pub const BIO_TARGET: &str = "OFF_BIO_TARGET";
    /// `bio.bi_opf`.
    pub const BIO_OPF: &str = "OFF_BIO_OPF";
    /// `bio.bi_iter.bi_sector`.
    pub const BIO_SECTOR: &str = "OFF_BIO_SECTOR";
    /// `bio.bi_iter.bi_size`.
    pub const BIO_SIZE: &str = "OFF_BIO_SIZE";
    /// `bio.bi_status`.
    pub const BIO_STATUS: &str = "OFF_BIO_STATUS";
    /// `block_device.bd_disk`.
    pub const BDEV_DISK: &str = "OFF_BDEV_DISK";
    /// `gendisk.major`.
    pub const DISK_MAJOR: &str = "OFF_DISK_MAJOR";
    /// `gendisk.first_minor`.
    pub const DISK_FIRST_MINOR: &str = "OFF_DISK_FIRST_MINOR";
    /// `request.rq_disk` (before 5.17) or `request.q` (later).
    pub const RQ_OWNER: &str = "OFF_RQ_OWNER";
    /// `request_queue.disk` (5.17 and later).
    pub const QUEUE_DISK: &str = "OFF_QUEUE_DISK";
    /// `request.cmd_flags`.
    pub const RQ_CMD_FLAGS: &str = "OFF_RQ_CMD_FLAGS";
    /// `request.__data_len`.
    pub const RQ_DATA_LEN: &str = "OFF_RQ_DATA_LEN";
    /// `request.__sector`.
    pub const RQ_SECTOR: &str = "OFF_RQ_SECTOR";
    /// `request.bio`.
    pub const RQ_BIO: &str = "OFF_RQ_BIO";
    /// `request.start_time_ns`.
    pub const RQ_START_TIME: &str = "OFF_RQ_START_TIME";
    /// `task_struct.pid`: the thread.
    pub const TASK_PID: &str = "OFF_TASK_PID";
    /// `task_struct.tgid`: the process.
    pub const TASK_TGID: &str = "OFF_TASK_TGID";
    /// `task_struct.comm`.
    pub const TASK_COMM: &str = "OFF_TASK_COMM";
}

/// Global: disks that [`MAP_COUNTERS`] has room for on each CPU.
pub const DISK_SLOTS: &str = "DISK_SLOTS";
/// Global: place in [`Hook::programs`] of the last copy of each hook that is attached, 0 for none.
pub const LAST_COPY: &str = "LAST_COPY";
/// Global: binary logarithm of the records that a CPU's ring holds.
pub const RING_SHIFT: &str = "RING_SHIFT";
/// Global of aya-log: most verbose level of message that is emitted, 0 for none.
pub const LOG_LEVEL: &str = "AYA_LOG_LEVEL";
/// Global: whether `block_bio_queue` passes the queue before the bio (before 5.12).
pub const BIO_QUEUE_HAS_Q: &str = "BIO_QUEUE_HAS_Q";
/// Global: whether `block_rq_insert` and its kin pass the queue before the request.
pub const RQ_HAS_Q: &str = "RQ_HAS_Q";
/// Global: whether a bio's target is a `block_device` (5.12 and later) or the `gendisk`.
pub const BIO_TARGET_IS_BDEV: &str = "BIO_TARGET_IS_BDEV";
/// Global: whether a request's owner is its queue (5.17 and later) or the `gendisk`.
pub const RQ_OWNER_IS_QUEUE: &str = "RQ_OWNER_IS_QUEUE";

/// Programs of a hook for kernels from 5.12 on: the first, and its copies for kernels that skip
/// programs.
pub const COPIES: usize = 2;

/// The tracepoints that are hooked; those whose hooks ask [`MAP_CALLS`] come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `block_bio_queue`.
    BioQueue,
    /// `block_rq_insert`.
    RqInsert,
    /// `block_rq_issue`.
    RqIssue,
    /// `block_rq_requeue`.
    RqRequeue,
    /// `block_bio_complete`.
    BioComplete,
    /// `block_rq_complete`.
    RqComplete,
}

/// Hooks there are.
pub const HOOKS: usize = 6;

impl Hook {
    /// Every hook, in order of number.
    pub const ALL: [Self; HOOKS] = [
        Self::BioQueue,
        Self::RqInsert,
        Self::RqIssue,
        Self::RqRequeue,
        Self::BioComplete,
        Self::RqComplete,
    ];

    /// Its tracepoint.
    #[must_use]
    pub const fn tracepoint(self) -> &'static str {
        match self {
            Self::BioQueue => "block_bio_queue",
            Self::RqInsert => "block_rq_insert",
            Self::RqIssue => "block_rq_issue",
            Self::RqRequeue => "block_rq_requeue",
            Self::BioComplete => "block_bio_complete",
            Self::RqComplete => "block_rq_complete",
        }
    }

    /// Its programs for kernels from 5.12 on, with the table of [`MAP_INFLIGHT`] and the rings of
    /// [`MAP_RECORDS`]: the first and its copies, in the order in which they are attached.
    #[must_use]
    pub const fn programs(self) -> [&'static str; COPIES] {
        match self {
            Self::BioQueue => ["bio_queue", "bio_queue_2"],
            Self::RqInsert => ["rq_insert", "rq_insert_2"],
            Self::RqIssue => ["rq_issue", "rq_issue_2"],
            Self::RqRequeue => ["rq_requeue", "rq_requeue_2"],
            Self::BioComplete => ["bio_complete", "bio_complete_2"],
            Self::RqComplete => ["rq_complete", "rq_complete_2"],
        }
    }

    /// Its program for kernels before 5.12, with [`MAP_INFLIGHT_HASH`] and [`MAP_SHARED_RING`].
    #[must_use]
    pub const fn legacy_program(self) -> &'static str {
        match self {
            Self::BioQueue => "bio_queue_hash",
            Self::RqInsert => "rq_insert_hash",
            Self::RqIssue => "rq_issue_hash",
            Self::RqRequeue => "rq_requeue_hash",
            Self::BioComplete => "bio_complete_hash",
            Self::RqComplete => "rq_complete_hash",
        }
    }
}

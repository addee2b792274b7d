//! Names of maps, programs and globals in the BPF object. The kernel half cannot use them in
//! its attributes, so the user half's tests check them against the object.

/// Array of [`crate::FilterSlot`]: the traced disks.
pub const MAP_FILTER: &str = "FILTER";
/// Array of `[u64; INFLIGHT_WAYS]`: addresses of the I/Os in flight, a bucket a value.
pub const MAP_INFLIGHT_KEYS: &str = "INFLIGHT_KEYS";
/// Array of [`crate::Inflight`]: what is known of them, slot by slot.
pub const MAP_INFLIGHT: &str = "INFLIGHT";
/// Hash of address to [`crate::Inflight`] for kernels before 5.12.
pub const MAP_INFLIGHT_HASH: &str = "INFLIGHT_HASH";
/// Array of [`crate::DiskCounters`], `cpu * max_disks + slot`.
pub const MAP_COUNTERS: &str = "COUNTERS";
/// Ring of [`crate::IoRecord`].
pub const MAP_RING: &str = "RING";

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
}

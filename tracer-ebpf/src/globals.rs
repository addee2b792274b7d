//! Constants that the user half finds in BTF and writes into `.rodata` before loading. The map
//! is frozen then, so the verifier treats each as a constant and drops the branches not taken.

use aya_ebpf::Global;

macro_rules! globals {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])* #[unsafe(no_mangle)] pub static $name: Global<$type> = Global::new(0);)*
    };
}

globals! {
    // Member offsets in bytes; `tracer_common::names::offset` says of which.
    OFF_BIO_TARGET: u32;
    OFF_BIO_OPF: u32;
    OFF_BIO_SECTOR: u32;
    OFF_BIO_SIZE: u32;
    OFF_BIO_STATUS: u32;
    OFF_BDEV_DISK: u32;
    OFF_DISK_MAJOR: u32;
    OFF_DISK_FIRST_MINOR: u32;
    OFF_RQ_OWNER: u32;
    OFF_QUEUE_DISK: u32;
    OFF_RQ_CMD_FLAGS: u32;
    OFF_RQ_DATA_LEN: u32;
    OFF_RQ_SECTOR: u32;
    OFF_RQ_BIO: u32;
    OFF_RQ_START_TIME: u32;
    OFF_TASK_PID: u32;
    OFF_TASK_TGID: u32;
    OFF_TASK_COMM: u32;
    // Shapes of signatures and structures, 0 or 1.
    BIO_QUEUE_HAS_Q: u8;
    RQ_HAS_Q: u8;
    BIO_TARGET_IS_BDEV: u8;
    RQ_OWNER_IS_QUEUE: u8;
    // Disks that COUNTERS has room for on each CPU.
    DISK_SLOTS: u32;
    // The last copy of each hook that is attached, from 0.
    LAST_COPY: u32;
    // Binary logarithm of the records in a CPU's ring.
    RING_SHIFT: u32;
}

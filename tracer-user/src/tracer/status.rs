//! Completion status -> errno.

use tracer_common::record::place::STATUS_IS_ERRNO;

/// `EIO`, for a status that has no errno here.
const EIO: u16 = 5;

/// `blk_status_t` to errno (`blk_errors` in block/blk-core.c). Statuses from 14 on moved
/// between kernels and are given as `EIO`, but for 16 and above in their 6.x meaning.
const ERRNO_OF_STATUS: [u16; 19] = [
    0,   // BLK_STS_OK
    95,  // NOTSUPP: EOPNOTSUPP
    110, // TIMEOUT: ETIMEDOUT
    28,  // NOSPC: ENOSPC
    67,  // TRANSPORT: ENOLINK
    121, // TARGET: EREMOTEIO
    52,  // NEXUS, RESV_CONFLICT: EBADE
    61,  // MEDIUM: ENODATA
    84,  // PROTECTION: EILSEQ
    12,  // RESOURCE: ENOMEM
    5,   // IOERR: EIO
    78,  // DM_REQUEUE: EREMCHG
    11,  // AGAIN: EAGAIN
    16,  // DEV_RESOURCE: EBUSY
    EIO, EIO, 19, // OFFLINE: ENODEV
    62, // DURATION_LIMIT: ETIME
    22, // INVAL: EINVAL
];

/// The positive errno of a record's status; 0 for success.
pub(super) fn errno(status: u32) -> u16 {
    if status & STATUS_IS_ERRNO != 0 {
        return u16::try_from(status & !STATUS_IS_ERRNO).unwrap_or(EIO);
    }
    ERRNO_OF_STATUS.get(status as usize).copied().unwrap_or(EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_give_a_positive_errno() {
        assert_eq!(errno(0), 0);
        assert_eq!(errno(10), 5);
        assert_eq!(errno(3), 28);
        assert_eq!(errno(STATUS_IS_ERRNO | 0x1c), 28);
        assert_eq!(errno(200), EIO);
    }
}

//! Names of errors, as `errno -l` lists them.

/// The name of a positive errno, `EIO`; the number when it has none here.
///
/// Holds what completions carry: the block layer's own errors (`blk_errors` in
/// `block/blk-core.c`) and those that drivers return beside them.
#[must_use]
pub fn name(errno: u16) -> String {
    let known = match errno {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        52 => "EBADE",
        61 => "ENODATA",
        62 => "ETIME",
        67 => "ENOLINK",
        71 => "EPROTO",
        75 => "EOVERFLOW",
        78 => "EREMCHG",
        84 => "EILSEQ",
        95 => "EOPNOTSUPP",
        110 => "ETIMEDOUT",
        114 => "EALREADY",
        116 => "ESTALE",
        117 => "EUCLEAN",
        121 => "EREMOTEIO",
        122 => "EDQUOT",
        125 => "ECANCELED",
        other => return other.to_string(),
    };
    known.to_owned()
}

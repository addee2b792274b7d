//! Job control: whether somebody could continue this process once it is stopped.

use std::fs;

use rustix::process::{Pid, getpgid, getpid, getsid};

/// Whether the process group has a parent in the same session: a shell that knows `fg`. Without
/// one (POSIX: an orphaned process group) stopping would be for good.
pub(super) fn can_be_continued() -> bool {
    let (Ok(group), Ok(session)) = (getpgid(None), getsid(None)) else {
        return false;
    };
    let mut process = getpid();
    // sudo and the like are in the same group: look at who started them.
    while let Some(parent) = parent_of(process) {
        if getsid(Some(parent)) != Ok(session) {
            return false;
        }
        if getpgid(Some(parent)) != Ok(group) {
            return true;
        }
        process = parent;
    }
    false
}

/// Parent by `/proc/<pid>/stat`: the second field behind the command's closing bracket.
fn parent_of(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    let behind = stat.rsplit_once(')')?.1;
    Pid::from_raw(behind.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_who_started_it() {
        assert_eq!(parent_of(getpid()), rustix::process::getppid());
    }
}

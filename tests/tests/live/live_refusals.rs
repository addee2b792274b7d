//! What cannot be traced or written: the message names the thing, the status is the contract's.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use zvoltrace_tests::binary;
use zvoltrace_tests::capture::{Capture, Ended, Signal};
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::rights::{Need, live};

const DISK_BYTES: u64 = 32 << 20;

/// Runs a command to its end, expects this status and all of the words on stderr.
fn refused(command: &mut Command, status: i32, words: &[&str]) -> Ended {
    let ended = Capture::spawn_command(command).wait();
    assert_eq!(ended.status.code(), Some(status), "{ended:#?}");
    for word in words {
        assert!(ended.stderr.contains(word), "no {word:?} in {ended:#?}");
    }
    assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
    ended
}

#[test]
fn a_disk_that_is_not_there_is_named_and_no_prerequisite_is_met() {
    if !live(&[]) {
        return;
    }
    let ended = refused(
        &mut binary::command(&["capture", "nosuchdisk7"]),
        3,
        &["nosuchdisk7", "--wait"],
    );
    assert!(ended.stdout.is_empty());
    refused(
        &mut binary::command(&["capture", "/dev/nosuchdisk7"]),
        3,
        &["/dev/nosuchdisk7"],
    );
}

#[test]
fn a_pattern_that_is_none_is_wrong_usage() {
    if !live(&[]) {
        return;
    }
    refused(&mut binary::command(&["capture", "loop[0"]), 2, &["loop[0"]);
}

#[test]
fn without_rights_it_says_which_and_how_to_get_them() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    // Where an unprivileged user can reach it.
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("zvoltrace");
    fs::copy(binary::zvoltrace(), &copy).unwrap();
    open_to_all(folder.path());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["--inh-caps=-all", "--bounding-set=-all", "--"])
        .arg(&copy)
        .args(["capture", disk.name()]);
    refused(&mut command, 3, &["CAP_BPF"]);
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the binary where an empty folder covers `folder`, for it alone.
fn with_nothing_in(folder: &str, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c"])
        .arg("mount -t tmpfs none \"$0\" && exec \"$@\"")
        .arg(folder)
        .arg(binary::zvoltrace())
        .args(args);
    command
}

#[test]
fn a_kernel_without_btf_is_refused_by_the_name_of_the_missing_thing() {
    if !live(&[]) {
        return;
    }
    for verb in [&["capture", "loop0"][..], &["check"]] {
        let ended = Capture::spawn_command(&mut with_nothing_in("/sys/kernel/btf", verb)).wait();
        assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
        let said = ended.stdout + &ended.stderr;
        for word in ["/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"] {
            assert!(said.contains(word), "no {word} in {said}");
        }
    }
}

#[test]
fn lockdown_confidentiality_is_refused_even_if_the_kernel_would_load_the_programs() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    for verb in [&["capture", "-w", "1", disk.name()][..], &["check"]] {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c"])
            .arg(
                "mount -t tmpfs none /sys/kernel/security \
                 && echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown \
                 && exec \"$@\"",
            )
            .arg("sh")
            .arg(binary::zvoltrace())
            .args(verb);
        let ended = Capture::spawn_command(&mut command).wait();
        assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
        let said = ended.stdout + &ended.stderr;
        for word in ["confidentiality", "lockdown=integrity"] {
            assert!(said.contains(word), "no {word} in {said}");
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_capture() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    refused(
        &mut binary::command(&[
            "capture",
            "--duration",
            "1h",
            "-o",
            "/nonexistent/report.txt",
            disk.name(),
        ]),
        1,
        &["/nonexistent/report.txt"],
    );
}

/// A file system of a few pages.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn full() -> Self {
        let mount = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16k", "none"])
            .arg(mount.path())
            .status()
            .unwrap();
        assert!(mounted.success());
        let made = Self(mount);
        // What does not fit is the point.
        let _ = fs::write(made.0.path().join("filler"), vec![0; 32 << 10]);
        made
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_fails_and_leaves_no_half_report() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let full = SmallDisk::full();
    let report = full.0.path().join("report.json");
    let name = report.to_str().unwrap();
    let mut command = binary::command(&[
        "capture",
        "--format",
        "json",
        "--duration",
        "1",
        "-o",
        name,
        disk.name(),
    ]);
    refused(&mut command, 1, &[name]);
    assert!(!report.exists());
    let left: Vec<_> = fs::read_dir(full.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["filler"]);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let mut child = binary::command(&["capture", "--quiet", "--duration", "1", disk.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(stderr, "", "quiet says nothing, not even that it is ready");
}

#[test]
fn a_verdict_that_is_asked_for_is_status_4_and_the_report_is_there() {
    if !live(&[Need::Loop]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let mut all = vec!["--block-size", "128K", "--fail-on"];
    all.extend(["write_smaller_than_block", disk.name()]);
    let capture = Capture::start(&all);
    Plan::random_writes(1, 400, 8192, DISK_BYTES)
        .run(&disk.path())
        .unwrap();
    capture.signal(Signal::INT);
    let ended = capture.wait();
    assert_eq!(ended.status.code(), Some(4), "{ended:#?}");
    assert!(ended.stdout.contains("write_smaller_than_block"));
}

//! `top` on a real terminal (tmux) over a real disk with I/O: what is seen, what keys do, and
//! that the terminal is clean afterwards, however it ends.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zvoltrace_tests::binary;
use zvoltrace_tests::capture::Signal;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::plan::Plan;
use zvoltrace_tests::rights::{Need, live};
use zvoltrace_tests::stallable_disk::StallableDisk;
use zvoltrace_tests::tmux::{PROMPT, Tmux};
use zvoltrace_tests::workload;

const DISK_BYTES: u64 = 32 << 20;
/// The cursor of the table.
const CURSOR: &str = "▶";

/// Runs `test` while a workload like a virtual machine's is on the disk.
fn under_load(disk: &LoopDevice, test: impl FnOnce() + Send) {
    /// Ends the workload when the test ends, also by a panic.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    let path = disk.path();
    thread::scope(|scope| {
        let load = scope.spawn(|| workload::like_a_vm(&path, DISK_BYTES, &stop));
        {
            let _stop = Stop(&stop);
            test();
        }
        load.join().unwrap().unwrap();
    });
}

/// Lets the write go on when the test ends, also by a panic.
struct Resume<'a>(&'a StallableDisk);
impl Drop for Resume<'_> {
    fn drop(&mut self) {
        self.0.resume().unwrap();
    }
}

/// Starts `zvoltrace top` in a terminal.
fn top(terminal: &Tmux, args: &str) {
    let program = binary::zvoltrace();
    terminal.line(&format!(
        "clear; {} top {args}; echo ended $?",
        program.display()
    ));
}

/// Waits for the end with this status, and that the terminal is as it was before.
fn assert_ended_clean(terminal: &Tmux, status: u8) {
    let screen = terminal.wait_for(&format!("ended {status}"));
    assert!(!terminal.is_on_alternate_screen());
    assert!(!screen.contains(CURSOR), "{screen}");
    terminal.assert_sane();
}

/// The line of the table that begins with a disk's name.
fn row<'a>(screen: &'a str, name: &str) -> Option<&'a str> {
    let is_its = |line: &&str| {
        line.trim_start_matches([' ', '▶'])
            .split_whitespace()
            .next()
            == Some(name)
    };
    screen.lines().find(is_its)
}

#[test]
fn a_busy_disk_is_sorted_filtered_opened_resized_and_left() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let (busy, idle) = (
        LoopDevice::new(DISK_BYTES).unwrap(),
        LoopDevice::new(DISK_BYTES).unwrap(),
    );
    under_load(&busy, || {
        let terminal = Tmux::new(80, 24);
        top(
            &terminal,
            &format!("--block-size 64K {} {}", busy.name(), idle.name()),
        );
        let screen = terminal.wait("a verdict", |s| {
            row(s, busy.name()).is_some_and(|line| line.contains("small writes"))
        });
        let first = screen.lines().position(|l| row(l, busy.name()).is_some());
        let second = screen.lines().position(|l| row(l, idle.name()).is_some());
        assert!(first < second, "the slowest writes come first:\n{screen}");
        assert!(screen.contains("lost 0"), "{screen}");

        terminal.press(&["S"]);
        terminal.wait("the other order", |s| {
            let at = |name| s.lines().position(|line| row(line, name).is_some());
            at(idle.name()) < at(busy.name())
        });
        terminal.press(&["S", "/"]);
        terminal.line(busy.name());
        terminal.wait("the filter", |s| row(s, idle.name()).is_none());
        assert!(row(&terminal.screen(), busy.name()).is_some());

        terminal.press(&["Enter"]);
        terminal.wait_for("block size 64K");
        terminal.press(&["e"]);
        terminal.wait_for("write_smaller_than_block");
        terminal.press(&["?"]);
        terminal.wait_for("This help");

        for (columns, lines) in [(200, 60), (20, 2), (1, 1), (80, 24)] {
            terminal.resize(columns, lines);
            thread::sleep(Duration::from_millis(200));
        }
        terminal.wait_for("This help");
        terminal.press(&["Escape"]);
        terminal.wait("no help", |s| !s.contains("This help"));
        terminal.press(&["q"]);
        assert_ended_clean(&terminal, 0);
    });
}

#[test]
fn the_terminal_is_clean_after_every_signal_and_ctrl_c() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let terminal = Tmux::new(80, 24);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        top(&terminal, disk.name());
        terminal.wait_for(CURSOR);
        signal_top(disk.name(), signal);
        assert_ended_clean(&terminal, 0);
    }
    top(&terminal, disk.name());
    terminal.wait_for(CURSOR);
    terminal.press(&["C-c"]);
    assert_ended_clean(&terminal, 0);
}

/// Process of the `top` that traces this disk.
fn pid_of_top(disk: &str) -> Option<rustix::process::Pid> {
    let args = [b"top", disk.as_bytes()].join(&0);
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let ends_so = line.strip_suffix(b"\0")?.ends_with(&args);
        let pid = entry.file_name().to_str()?.parse().ok()?;
        rustix::process::Pid::from_raw(pid).filter(|_| ends_so)
    })
}

fn signal_top(disk: &str, signal: Signal) {
    let pid = pid_of_top(disk).expect("top runs");
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let terminal = Tmux::new(80, 24);
    // Without a list of commands behind it, so that the shell takes it for one job.
    let program = binary::zvoltrace();
    terminal.line(&format!("{} top {}", program.display(), disk.name()));
    for _ in 0..2 {
        terminal.wait_for(CURSOR);
        terminal.press(&["C-z"]);
        terminal.wait_for("Stopped");
        assert!(!terminal.is_on_alternate_screen());
        terminal.assert_sane();
        terminal.line("fg");
    }
    terminal.wait_for(CURSOR);
    signal_top(disk.name(), Signal::TSTP);
    terminal.wait_for("Stopped");
    terminal.line("fg");
    terminal.wait_for(CURSOR);
    terminal.press(&["q"]);
    terminal.wait(PROMPT, |s| s.trim_end().ends_with(PROMPT));
    terminal.assert_sane();
}

#[test]
fn it_ends_when_its_terminal_is_closed() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let terminal = Tmux::new(80, 24);
    // In a session of its own: a terminal that is closed sends it no signal.
    let program = binary::zvoltrace();
    terminal.line(&format!(
        "setsid -w {} top {}",
        program.display(),
        disk.name()
    ));
    let deadline = Instant::now() + Duration::from_mins(1);
    let pid = loop {
        if let Some(pid) = pid_of_top(disk.name()) {
            break pid;
        }
        assert!(Instant::now() < deadline, "{}", terminal.screen());
        thread::sleep(Duration::from_millis(50));
    };
    terminal.wait_for(CURSOR);
    terminal.close();
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "it stays");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_io_that_hangs_is_seen_while_it_hangs() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = StallableDisk::new(DISK_BYTES).unwrap();
    let terminal = Tmux::new(120, 24);
    top(&terminal, disk.name());
    terminal.wait_for(CURSOR);
    disk.stall().unwrap();
    let path = disk.path();
    thread::scope(|scope| {
        let write = scope.spawn(|| Plan::random_writes(1, 1, 4096, 1 << 20).run(&path));
        {
            let _resume = Resume(&disk);
            terminal.wait("the age of the write", |s| {
                row(s, disk.name()).is_some_and(|line| line.contains(" 1 ") && line.contains(" s"))
            });
        }
        write.join().unwrap().unwrap();
    });
    terminal.press(&["q"]);
    assert_ended_clean(&terminal, 0);
}

#[test]
fn a_capture_in_the_background_leaves_a_report() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    under_load(&disk, || {
        let terminal = Tmux::new(80, 24);
        terminal.line(&format!("cd {}", terminal.folder().display()));
        top(&terminal, disk.name());
        terminal.wait_for(CURSOR);
        terminal.press(&["c", "C-u", "2", "Tab", "Enter"]);
        let report = || {
            let entries = fs::read_dir(terminal.folder()).unwrap().flatten();
            let mut names = entries.map(|entry| entry.path());
            names.find(|path| path.extension().is_some_and(|ending| ending == "json"))
        };
        let deadline = Instant::now() + Duration::from_mins(1);
        while report().is_none() {
            assert!(Instant::now() < deadline, "{}", terminal.screen());
            thread::sleep(Duration::from_millis(50));
        }
        let text = fs::read_to_string(report().unwrap()).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["schema"], "zvoltrace.report/1");
        assert_eq!(report["capture"]["complete"], true, "{}", report["capture"]);
        assert!(report["devices"][0]["ops"]["write"]["count"].as_u64() > Some(0));
        terminal.press(&["q"]);
        assert_ended_clean(&terminal, 0);
    });
}

#[test]
fn a_disk_that_comes_later_is_waited_for() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    // The name of the next free loop device.
    let name = LoopDevice::new(DISK_BYTES).unwrap().name().to_owned();
    let terminal = Tmux::new(80, 24);
    top(&terminal, &name);
    terminal.wait_for("lost 0");
    let screen = terminal.screen();
    assert!(!screen.contains(CURSOR), "{screen}");
    assert!(screen.contains(&name), "{screen}");
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    if disk.name() == name {
        terminal.wait_for(CURSOR);
    }
    terminal.press(&["q"]);
    assert_ended_clean(&terminal, 0);
}

#[test]
fn ascii_is_enough_where_the_locale_is_c_and_no_color_has_none() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    under_load(&disk, || {
        let terminal = Tmux::new(120, 40);
        terminal.line("export LC_ALL=C NO_COLOR=1");
        top(&terminal, disk.name());
        terminal.wait("the row", |s| {
            s.contains("MiB/s") && s.contains(disk.name())
        });
        terminal.press(&["Enter"]);
        let screen = terminal.wait_for("in flight");
        assert!(screen.is_ascii(), "{screen}");
        assert!(!terminal.is_colored(), "colour");
        terminal.press(&["q"]);
        assert_ended_clean(&terminal, 0);
    });
}

#[test]
fn a_recording_is_played_stopped_run_to_its_end_and_begun_anew() {
    if !live(&[Need::Loop, Need::Tmux]) {
        return;
    }
    let disk = LoopDevice::new(DISK_BYTES).unwrap();
    let terminal = Tmux::new(80, 24);
    let recording = terminal.folder().join("recording.arrows");
    under_load(&disk, || {
        let file = recording.to_str().unwrap();
        let mut capture = binary::command(&["capture", "--format", "none", "-w", "5", "--record"]);
        let output = capture
            .args([file, "--block-size", "64K", disk.name()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    });
    top(&terminal, &format!("--from {}", recording.display()));
    terminal.wait("it runs", |s| {
        s.contains("recording 1x") && row(s, disk.name()).is_some()
    });
    terminal.press(&["+"]);
    terminal.wait_for("recording 2x");
    terminal.press(&["p"]);
    let screen = terminal.wait_for("recording (stands still)");
    assert!(screen.contains("PAUSED"), "{screen}");
    let elapsed = |screen: &str| {
        let line = screen.lines().next()?;
        line.split_whitespace()
            .find(|word| word.starts_with("0:00:"))
            .map(str::to_owned)
    };
    let stopped_at = elapsed(&screen);
    assert!(stopped_at.is_some(), "{screen}");
    thread::sleep(Duration::from_secs(1));
    assert_eq!(elapsed(&terminal.screen()), stopped_at, "time stands still");
    terminal.press(&["p", ">"]);
    let screen = terminal.wait_for("recording (ended)");
    assert!(elapsed(&screen).as_deref() >= Some("0:00:05"), "{screen}");
    terminal.press(&["w", "w"]);
    terminal.wait("the verdict on all of it", |s| {
        s.contains("since the start")
            && row(s, disk.name()).is_some_and(|line| line.contains("small writes"))
    });
    terminal.press(&["<"]);
    terminal.wait("the beginning", |s| {
        !s.contains("ended") && elapsed(s).as_deref() < Some("0:00:04")
    });
    terminal.press(&["q"]);
    assert_ended_clean(&terminal, 0);
}

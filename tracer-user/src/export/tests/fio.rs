//! The log and the jobs, run by fio itself.

use super::*;

fn fio(args: &[&str], folder: &Path, target: &str) -> Option<serde_json::Value> {
    let common = [
        "--output-format=json",
        "--output=fio.json",
        "--ioengine=psync",
        "--direct=0",
    ];
    let args: Vec<_> = args.iter().copied().chain(common).collect();
    // The environment of this process is shared by all tests: `env` sets the child's alone.
    let target = format!("TARGET={target}");
    let args: Vec<_> = [target.as_str(), "fio"].into_iter().chain(args).collect();
    run("fio", &["--version"], folder)?;
    let output = run("env", &args, folder)?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let report = std::fs::read_to_string(folder.join("fio.json")).unwrap();
    let json = &report[report.find('{').unwrap()..];
    Some(serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {report}\n{stderr}")))
}

fn target(folder: &Path, name: &str) {
    std::fs::File::create(folder.join(name))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
}

fn total(json: &serde_json::Value, kind: &str) -> u64 {
    json["jobs"][0][kind]["total_ios"].as_u64().unwrap()
}

#[test]
fn fio_replays_the_log_with_its_job_at_the_captured_pace() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = capture(vec![device(0, Mode::Bio)], mixed(800));
    let summary = export(&mut source, Target::Fio, &folder.path().join("out.log")).unwrap();
    assert_eq!(summary.ios, 800);
    assert_eq!(
        summary.notes,
        ["100 FUA writes are a write and a sync: the log has no FUA"]
    );
    target(folder.path(), "disk");
    let args = ["out.log.replay.fio"];
    let Some(json) = fio(&args, folder.path(), "disk") else {
        return;
    };
    // 100 bare flushes, 100 preflushes, 100 FUA writes.
    let ios = ["read", "write", "sync"].map(|kind| total(&json, kind));
    assert_eq!(ios, [200, 500, 300]);
    assert_eq!(json["jobs"][0]["error"], 0);
}

#[test]
fn fio_replays_several_devices_to_a_target_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = mixed(400);
    for event in &mut events[200..] {
        event.device = DeviceId(1);
    }
    let mut source = capture(vec![device(0, Mode::Bio), device(1, Mode::BlkMq)], events);
    export(&mut source, Target::Fio, &folder.path().join("out.log")).unwrap();
    target(folder.path(), "target-zd0");
    target(folder.path(), "target-zd16");
    let Some(json) = fio(&["out.log.replay.fio"], folder.path(), "") else {
        return;
    };
    assert_eq!((total(&json, "read"), total(&json, "write")), (100, 250));
}

#[test]
fn trims_are_in_the_log_and_an_old_fio_replays_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = mixed(80);
    events.push(event(Op::Discard, 0, 2000, 0, 1 << 20));
    let mut source = capture(vec![device(0, Mode::Bio)], events);
    let summary = export(&mut source, Target::Fio, &folder.path().join("out.log")).unwrap();
    assert!(
        summary
            .notes
            .iter()
            .any(|note| note.starts_with("1 discards are trims"))
    );
    let log = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
    assert!(log.contains("2001 target-zd0 trim 0 1048576\n"), "{log}");
    target(folder.path(), "disk");
    let args = ["out.log.replay.fio"];
    let Some(json) = fio(&args, folder.path(), "disk") else {
        return;
    };
    assert_eq!(total(&json, "write"), 50);
}

#[test]
fn a_replay_without_a_target_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = capture(vec![device(0, Mode::Bio)], mixed(80));
    export(&mut source, Target::Fio, &folder.path().join("out.log")).unwrap();
    let Some(output) = run("fio", &["out.log.replay.fio"], folder.path()) else {
        return;
    };
    assert!(!output.status.success());
    assert!(!folder.path().join("target-zd0").exists());
}

#[test]
fn the_summary_job_repeats_the_mix_of_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = capture(vec![device(0, Mode::Bio)], mixed(8000));
    export(&mut source, Target::Fio, &folder.path().join("out.log")).unwrap();
    let job = std::fs::read_to_string(folder.path().join("out.log.summary.fio")).unwrap();
    insta::assert_snapshot!("summary_job", job);
    let replay = std::fs::read_to_string(folder.path().join("out.log.replay.fio")).unwrap();
    insta::assert_snapshot!("replay_job", replay);
    target(folder.path(), "disk");
    let Some(json) = fio(&["out.log.summary.fio"], folder.path(), "disk") else {
        return;
    };
    let (reads, writes) = (total(&json, "read"), total(&json, "write"));
    assert!(
        reads > 0 && writes > reads,
        "{reads} reads, {writes} writes"
    );
    // A fifth of the writes are of 16K, the rest of 8K.
    let mean = json["jobs"][0]["write"]["io_bytes"].as_u64().unwrap() / writes;
    assert!((8900..10_700).contains(&mean), "{mean}");
}

#[test]
fn a_capture_without_reads_and_writes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let flush = event(Op::Flush, flag::PREFLUSH, 0, 0, 0);
    let mut source = capture(vec![device(0, Mode::Bio)], vec![flush]);
    let error = export(&mut source, Target::Fio, &folder.path().join("log")).unwrap_err();
    assert!(
        error.to_string().contains("no I/O that fio can replay"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

const STATUS: &str = "  pool: big
 state: DEGRADED
status: One or more devices is being resilvered.
\tpool: is no pool's name here
  scan: resilver in progress since Tue Dec  1 02:00:00 2026
\t1.00G scanned at 100M/s
config:

\tNAME                       STATE     READ WRITE CKSUM
\tbig                        DEGRADED     0     0     0
\t  raidz2-0                 DEGRADED     0     0     0
\t    sda                    ONLINE       0     0     0
\t    replacing-1            DEGRADED     0     0     0
\t      sdb                  OFFLINE      0     0     0
\t      sdz                  ONLINE       0     0     0  (resilvering)
\t    sdc                    ONLINE       0     0     0
\t    sdd                    ONLINE       0     0     0
\tspecial
\t  mirror-1                 ONLINE       0     0     0
\t    nvme0n1                ONLINE       0     0     0
\t    nvme1n1                ONLINE       0     0     0
\tlogs
\t  nvme2n1                  ONLINE       0     0     0
\tspares
\t  sdy                      AVAIL

errors: No known data errors

  pool: fast
 state: ONLINE
  scan: scrub repaired 0B in 00:00:01 with 0 errors on Sun Nov  8 00:24:02 2026
config:

\tNAME         STATE     READ WRITE CKSUM
\tfast         ONLINE       0     0     0
\t  mirror-0   ONLINE       0     0     0
\t    sda      ONLINE       0     0     0
\t    sdb      ONLINE       0     0     0
\t  mirror-1   ONLINE       0     0     0
\t    sdc      ONLINE       0     0     0
\t    sdd      ONLINE       0     0     0

errors: No known data errors

  pool: mixed
config:

\tNAME         STATE     READ WRITE CKSUM
\tmixed        ONLINE       0     0     0
\t  sda        ONLINE       0     0     0
\t  raidz1-1   ONLINE       0     0     0
\t    sdb      ONLINE       0     0     0
\t    sdc      ONLINE       0     0     0

  pool: wide
config:

\tNAME                   STATE     READ WRITE CKSUM
\twide                   ONLINE       0     0     0
\t  draid2:4d:7c:1s-0    ONLINE       0     0     0
\t    /tmp/a             ONLINE       0     0     0

  pool: one
config:

\tNAME                   STATE     READ WRITE CKSUM
\tone                    ONLINE       0     0     0
\t  /tank/with-dash-7    ONLINE       0     0     0
";

fn layout_of(pool: &str) -> Option<String> {
    parse::status(STATUS)
        .get(pool)?
        .layout
        .map(|layout| layout.to_string())
}

#[test]
fn the_layout_is_that_of_the_data_vdevs_with_a_replaced_disk_as_one() {
    assert_eq!(layout_of("big").as_deref(), Some("raidz2:4"));
    assert_eq!(layout_of("fast").as_deref(), Some("mirror:2"));
    assert_eq!(layout_of("wide").as_deref(), Some("draid2:4d"));
    assert_eq!(layout_of("one").as_deref(), Some("stripe"));
}

#[test]
fn a_pool_of_several_layouts_has_none() {
    assert!(parse::status(STATUS).contains_key("mixed"));
    assert_eq!(layout_of("mixed"), None);
}

#[test]
fn only_a_scan_in_progress_is_an_activity() {
    let status = parse::status(STATUS);
    assert_eq!(
        status["big"].activity.as_deref(),
        Some("resilver in progress")
    );
    assert_eq!(status["fast"].activity, None);
}

#[test]
fn the_list_gives_fill_and_sector_and_leaves_unknown_what_zfs_chose() {
    let pools = parse::list("big\t62\t12\nfast\t7%\t0\n\nodd\t-\t-\n");
    assert_eq!(pools["big"].fill_percent, Some(62));
    assert_eq!(pools["big"].ashift, Some(12));
    assert_eq!(pools["fast"].fill_percent, Some(7));
    assert_eq!(pools["fast"].ashift, None);
    assert_eq!(pools["odd"], PoolShape::default());
    assert_eq!(parse::ashift("-\n12\n12\n"), Some(12));
    assert_eq!(parse::ashift("9\n12\n"), None);
}

/// A program in place of zpool.
fn program(script: &str) -> (tempfile::TempDir, OsString) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zpool");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    (directory, path.into_os_string())
}

#[test]
fn the_answers_of_the_commands_are_put_together() {
    let (_directory, zpool) = program(
        r#"case "$1" in
list) printf 'tank\t41\t0\n' ;;
status) printf '  pool: tank\nconfig:\n\n\tNAME\n\ttank\n\t  raidz1-0\n\t    a\n\t    b\n\t    c\n' ;;
get) [ "$6" = tank ] && printf -- '-\n13\n' ;;
esac"#,
    );
    let shapes = ask(&zpool, DEADLINE).unwrap();
    assert_eq!(
        shapes["tank"],
        PoolShape {
            layout: Some("raidz1:3".into()),
            ashift: Some(13),
            fill_percent: Some(41),
            activity: None,
        }
    );
}

#[test]
fn a_command_that_hangs_or_fails_or_is_missing_is_said_and_not_waited_for() {
    let (_directory, hangs) = program("exec sleep 1000");
    let deadline = Duration::from_millis(50);
    assert_eq!(ask(&hangs, deadline), Err(ZpoolError::TimedOut(deadline)));
    let (_directory, fails) = program("echo 'no pools here' >&2; exit 1");
    assert_eq!(
        ask(&fails, DEADLINE),
        Err(ZpoolError::Failed("no pools here".into()))
    );
    let missing = ask(OsStr::new("/nonexistent/zpool"), DEADLINE);
    assert!(matches!(missing, Err(ZpoolError::NotRun(_))), "{missing:?}");
}

#[test]
fn a_suspended_pool_is_not_asked() {
    let (directory, zpool) = program("touch \"$0.ran\"");
    let kstat = directory.path().join("proc/spl/kstat/zfs/tank");
    fs::create_dir_all(&kstat).unwrap();
    fs::write(kstat.join("state"), "SUSPENDED\n").unwrap();
    let mut asked = Asked::start(zpool, &Roots::under(directory.path()));
    while asked.ended.is_none() {
        assert_eq!(asked.take("tank"), None);
        thread::yield_now();
    }
    assert_eq!(
        asked.failure(),
        Some(ZpoolError::Unhealthy("tank".into(), "SUSPENDED".into()))
    );
    assert!(!directory.path().join("zpool.ran").exists());
}

//! The whole of device discovery against a fake host.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use proptest::{collection::vec, prelude::*};

use super::{fake::FakeHost, list, *};
use crate::input::Mode;

fn selector(host: &FakeHost, patterns: &[&str]) -> Selector {
    Selector::new(&host.roots(), patterns).unwrap()
}

fn names(disks: &[Disk]) -> Vec<&str> {
    disks.iter().map(|disk| disk.name.as_str()).collect()
}

/// Names of the disks that patterns select.
fn selected(host: &FakeHost, patterns: &[&str]) -> Vec<String> {
    let disks = scan_selected(&host.roots(), &selector(host, patterns));
    disks.into_iter().map(|disk| disk.name).collect()
}

fn summary(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .map(|change| {
            let (what, disk) = match change {
                Change::Arrived(disk) => ("+", disk),
                Change::Changed(disk) => ("~", disk),
                Change::Departed(disk) => ("-", disk),
            };
            format!(
                "{what}{} {}",
                disk.name,
                disk.dataset.as_deref().unwrap_or("?")
            )
        })
        .collect()
}

/// A watch without uevents, and a clock that moves far enough at each poll for every interval
/// to have passed.
struct Watched {
    watch: DeviceWatch,
    now: Instant,
}

impl Watched {
    fn new(host: &FakeHost, patterns: &[&str]) -> (Self, Vec<Disk>) {
        let now = Instant::now();
        let (watch, disks) =
            DeviceWatch::with_uevents(host.roots(), selector(host, patterns), None, now);
        (Self { watch, now }, disks)
    }

    fn poll(&mut self) -> Vec<String> {
        self.now += Duration::from_hours(1);
        summary(&self.watch.poll(self.now))
    }
}

#[test]
fn a_zvol_is_read_whole_with_its_dataset_blocks_and_partitions() {
    let host = FakeHost::new();
    host.zvol("zd496", 496);
    host.blk_mq("zd496");
    host.partition("zd496", 2, 1_048_576, 2048);
    host.partition("zd496", 1, 2048, 1_046_528);
    host.link("rpool/data/vm-100-disk-0", "zd496");
    host.link("rpool/data/vm-100-disk-0-part1", "zd496p1");
    host.link("rpool/data/vm-100-disk-0-part2", "zd496p2");
    let disks = scan(&host.roots());
    let [disk] = disks.as_slice() else {
        panic!("{disks:?}");
    };
    assert_eq!((disk.major, disk.first_minor), (230, 496));
    assert_eq!(disk.mode, Mode::BlkMq);
    assert_eq!(disk.dataset.as_deref(), Some("rpool/data/vm-100-disk-0"));
    assert_eq!(disk.vm(), Some(100));
    assert_eq!(disk.volblocksize_bytes, Some(65_536));
    assert_eq!(disk.size_bytes, 1 << 30);
    assert!(disk.is_zvol && !disk.snapshot && !disk.read_only);
    let partitions: Vec<_> = disk
        .partitions
        .iter()
        .map(|part| (part.name.as_str(), part.start_sector, part.sectors))
        .collect();
    assert_eq!(
        partitions,
        [("zd496p1", 2048, 1_046_528), ("zd496p2", 1_048_576, 2048)]
    );
}

#[test]
fn another_major_of_zvols_is_taken_from_proc_devices() {
    let host = FakeHost::new();
    host.write(
        "proc/devices",
        "Character devices:\n230 zvol\nBlock devices:\n241 zvol\n",
    );
    host.disk("zd0", 241, 0);
    host.disk("zd16", 230, 16);
    let zvols: Vec<bool> = scan(&host.roots())
        .iter()
        .map(|disk| disk.is_zvol)
        .collect();
    assert_eq!(zvols, [true, false]);
    host.remove("proc/devices");
    let zvols: Vec<_> = scan(&host.roots())
        .iter()
        .filter(|disk| disk.is_zvol)
        .map(|disk| disk.name.clone())
        .collect();
    assert_eq!(zvols, ["zd16"]);
}

#[test]
fn a_disk_that_is_no_zvol_has_neither_dataset_nor_volblocksize() {
    let host = FakeHost::new();
    host.disk("loop0", 7, 0);
    host.link("tank/odd", "loop0");
    let disks = scan(&host.roots());
    assert_eq!(disks[0].dataset, None);
    assert_eq!(disks[0].volblocksize_bytes, None);
}

#[test]
fn a_size_beyond_2_to_53_survives_and_a_damaged_tree_is_no_panic() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.write("sys/block/zd0/size", "2251799813685248\n");
    host.write("sys/block/zd16/dev", "nonsense");
    host.write("sys/block/zd32/dev", "230:32");
    host.zvol("zd48", 48);
    host.write("sys/block/zd48/size", "18446744073709551615");
    host.write("sys/block/zd48/queue/physical_block_size", "\u{fffd}");
    let disks = scan(&host.roots());
    assert_eq!(names(&disks), ["zd0", "zd48"]);
    assert_eq!(disks[0].size_bytes, 1 << 60);
    assert_eq!(disks[1].size_bytes, u64::MAX);
    assert_eq!(disks[1].volblocksize_bytes, None);
    let json = serde_json::to_string(&list::List::new(&disks)).unwrap();
    assert!(
        json.contains(r#""size_bytes":"1152921504606846976""#),
        "{json}"
    );
}

#[test]
fn a_disk_on_top_names_the_disks_below_through_layers_and_partitions() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.partition("zd0", 1, 2048, 4096);
    host.disk("dm-0", 252, 0);
    host.symlink("../../zd0/zd0p1", "sys/block/dm-0/slaves/zd0p1");
    host.disk("dm-1", 252, 1);
    host.symlink("../../dm-0", "sys/block/dm-1/slaves/dm-0");
    let disks = scan(&host.roots());
    let below = |name: &str| {
        let disk = disks.iter().find(|disk| disk.name == name).unwrap();
        disk.stacked_on.clone()
    };
    assert_eq!(below("dm-0"), ["zd0"]);
    assert_eq!(below("dm-1"), ["dm-0", "zd0"]);
    assert!(below("zd0").is_empty());
}

#[test]
fn disks_that_stand_on_each_other_end() {
    let host = FakeHost::new();
    for (name, other, minor) in [("dm-0", "dm-1", 0), ("dm-1", "dm-0", 1)] {
        host.disk(name, 252, minor);
        host.symlink(
            &format!("../../{other}"),
            &format!("sys/block/{name}/slaves/{other}"),
        );
    }
    assert_eq!(scan(&host.roots()).len(), 2);
}

/// Three zvols, a snapshot, a loop device and one name with a blank.
fn several() -> FakeHost {
    let host = FakeHost::new();
    for (dataset, name, minor) in [
        ("tank/vm-100-disk-0", "zd0", 0),
        ("tank/vm-101-disk-0", "zd16", 16),
        ("rpool/data/vm-100-disk-1", "zd32", 32),
        ("tank/vm-100-disk-0@daily", "zd48", 48),
        ("tank/my+data", "zd64", 64),
    ] {
        host.zvol(name, minor);
        host.link(dataset, name);
    }
    host.write("sys/block/zd48/ro", "1\n");
    host.partition("zd16", 1, 2048, 4096);
    host.link("tank/vm-101-disk-0-part1", "zd16p1");
    host.disk("loop0", 7, 0);
    host.write("dev/loop0", "");
    host
}

#[test]
fn each_kind_of_pattern_selects_what_it_says() {
    let host = several();
    let zvols = ["zd0", "zd16", "zd32", "zd64", "zd48"];
    for (patterns, expected) in [
        (&[][..], &zvols[..]),
        (&["zd*"], &zvols),
        (&["zd16"], &["zd16"]),
        (&["zd16p1"], &["zd16"]),
        (&["zd?"], &["zd0"]),
        (&["/dev/zd16p1"], &["zd16"]),
        (&["/dev/zd[03]*"], &["zd0", "zd32"]),
        (&["loop0", "zd0"], &["zd0", "loop0"]),
        (&["tank/vm-100-disk-0"], &["zd0"]),
        (&["tank/vm-*"], &["zd0", "zd16", "zd48"]),
        (&["tank/*"], &["zd0", "zd16", "zd64", "zd48"]),
        (&["rpool/*"], &[]),
        (&["rpool/**"], &["zd32"]),
        (&["**/vm-100-*"], &["zd0", "zd32", "zd48"]),
        (&["{tank,rpool/data}/vm-100-disk-[01]"], &["zd0", "zd32"]),
        (&["tank/my data"], &["zd64"]),
        (&["/dev/zvol/tank/my+data"], &["zd64"]),
        (&["/dev/zvol/tank/vm-101-disk-0-part1"], &["zd16"]),
        (&["/dev/zvol/tank/vm-100*"], &["zd0", "zd48"]),
        (&["vm-100-disk-0"], &[]),
        (&["tank"], &[]),
    ] {
        assert_eq!(selected(&host, patterns), expected, "{patterns:?}");
    }
}

#[test]
fn a_glob_of_kernel_names_never_matches_a_dataset() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.link("zd-pool/zd1", "zd0");
    assert!(selected(&host, &["zd-*"]).is_empty());
    assert!(selected(&host, &["zd1*"]).is_empty());
    assert_eq!(selected(&host, &["zd*/zd1"]), ["zd0"]);
}

#[test]
fn a_dataset_whose_name_ends_like_a_partition_is_not_taken_for_one() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.link("tank/a", "zd0");
    host.zvol("zd16", 16);
    host.link("tank/a-part1", "zd16");
    assert_eq!(selected(&host, &["/dev/zvol/tank/a-part1"]), ["zd16"]);
    assert_eq!(selected(&host, &["/dev/zvol/tank/a-part2"]), ["zd0"]);
}

#[test]
fn a_bad_pattern_is_named_with_its_cause_and_the_way_out() {
    let host = several();
    host.write("dev/null-like", "");
    let errors: Vec<String> = [
        "",
        "zd[",
        "tank/{a",
        "/dev/disk/by-id/x",
        "/dev/null-like",
        "/tank/x",
    ]
    .iter()
    .map(|pattern| {
        Selector::new(&host.roots(), &[pattern])
            .unwrap_err()
            .to_string()
    })
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_matches_nothing_is_told_with_what_there_is() {
    let host = several();
    let disks = scan(&host.roots());
    let messages: Vec<String> = [
        &["zd99"][..],
        &["zd0", "tank/none", "sd*"],
        &["vm-101-disk-0"],
    ]
    .iter()
    .map(|patterns| selector(&host, patterns).absence(&disks).unwrap())
    .collect();
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(selector(&host, &["zd0"]).absence(&disks), None);
    assert_eq!(
        selector(&host, &[]).absence(&[]).unwrap(),
        "no disk matches 'zd*'; this host has none"
    );
}

#[test]
fn the_list_fits_a_terminal_and_keeps_long_names_whole() {
    let host = several();
    let long = format!("tank/{}", "n".repeat(120));
    host.zvol("zd80", 80);
    host.link(&long, "zd80");
    host.write("sys/block/zd80/ro", "1\n");
    let text = list::text(&scan(&host.roots()));
    assert!(text.contains(&long));
    insta::assert_snapshot!(text);
    assert_eq!(list::text(&[]), "no zvols on this host\n");
}

#[test]
fn a_reused_number_is_a_departure_and_an_arrival_without_the_old_name() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.link("tank/old", "zd0");
    let (mut watched, disks) = Watched::new(&host, &[]);
    assert_eq!(names(&disks), ["zd0"]);
    // The node is another one now; udev has not touched the old link yet.
    host.zvol("zd0", 0);
    let now = watched.now + Duration::from_mins(30);
    let changes = summary(&watched.watch.poll(now));
    assert_eq!(changes, ["-zd0 tank/old", "+zd0 ?"]);
    host.remove("dev/zvol/tank/old");
    host.link("tank/new", "zd0");
    assert_eq!(watched.poll(), ["~zd0 tank/new"]);
    assert!(watched.poll().is_empty());
}

#[test]
fn a_rename_shows_as_a_change_and_a_missing_link_forgets_nothing() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.link("tank/before", "zd0");
    let (mut watched, _) = Watched::new(&host, &["tank/before"]);
    host.remove("dev/zvol/tank/before");
    assert!(watched.poll().is_empty());
    host.link("other/after", "zd0");
    assert_eq!(watched.poll(), ["~zd0 other/after"]);
}

#[test]
fn a_disk_that_comes_later_is_found_by_name_and_by_dataset() {
    let host = FakeHost::new();
    let (mut watched, disks) = Watched::new(&host, &["tank/vm-7-*", "loop3"]);
    assert!(disks.is_empty());
    host.zvol("zd0", 0);
    host.zvol("zd16", 16);
    host.disk("loop3", 7, 3);
    host.link("tank/vm-8-disk-0", "zd16");
    assert_eq!(watched.poll(), ["+loop3 ?"]);
    host.link("tank/vm-7-disk-0", "zd0");
    assert_eq!(watched.poll(), ["+zd0 tank/vm-7-disk-0"]);
    host.remove("sys/block/zd0");
    host.remove("sys/block/loop3");
    assert_eq!(watched.poll(), ["-loop3 ?", "-zd0 tank/vm-7-disk-0"]);
}

#[test]
fn a_resize_and_a_new_partition_are_changes_of_the_same_disk() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    let (mut watched, _) = Watched::new(&host, &[]);
    assert!(watched.poll().is_empty());
    host.write("sys/block/zd0/size", "4194304\n");
    assert_eq!(watched.poll(), ["~zd0 ?"]);
    host.partition("zd0", 1, 2048, 4096);
    assert_eq!(watched.poll(), ["~zd0 ?"]);
    assert!(watched.poll().is_empty());
}

#[test]
fn a_disk_that_is_not_whole_yet_is_taken_as_soon_as_it_is() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    host.rename("sys/block/zd0/queue", "aside-queue");
    let (mut watched, disks) = Watched::new(&host, &[]);
    assert!(disks.is_empty());
    assert!(watched.poll().is_empty());
    host.rename("aside-queue", "sys/block/zd0/queue");
    assert_eq!(watched.poll(), ["+zd0 ?"]);
}

#[test]
fn a_uevent_is_enough_without_any_listing() {
    let host = FakeHost::new();
    host.zvol("zd0", 0);
    let (socket, theirs) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::NONBLOCK,
        None,
    )
    .unwrap();
    let now = Instant::now();
    let (mut watch, _) = DeviceWatch::with_uevents(
        host.roots(),
        selector(&host, &[]),
        Some(Uevents::from_socket(theirs)),
        now,
    );
    host.zvol("zd16", 16);
    host.write("sys/block/zd0/size", "8\n");
    assert!(watch.poll(now).is_empty(), "the interval has not passed");
    for name in ["zd16", "zd0"] {
        let message = format!(
            "add@/devices/virtual/block/{name}\0ACTION=add\0DEVPATH=/devices/virtual/block/{name}\0SUBSYSTEM=block\0DEVTYPE=disk\0SEQNUM=1\0"
        );
        rustix::net::send(&socket, message.as_bytes(), rustix::net::SendFlags::empty()).unwrap();
    }
    assert_eq!(summary(&watch.poll(now)), ["~zd0 ?", "+zd16 ?"]);
    // Lost messages: everything is looked at, listing included.
    host.zvol("zd32", 32);
    host.write("sys/block/zd0/size", "16\n");
    rustix::net::send(&socket, b"garbage", rustix::net::SendFlags::empty()).unwrap();
    let soon = now + Duration::from_millis(1);
    assert_eq!(summary(&watch.poll(soon)), ["~zd0 ?", "+zd32 ?"]);
}

fn bare(name: String, minor: u32, read_only: bool) -> Disk {
    Disk {
        name,
        major: 230,
        first_minor: minor,
        mode: Mode::Bio,
        dataset: None,
        snapshot: false,
        read_only,
        volblocksize_bytes: Some(8192),
        size_bytes: 1 << 30,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        identity: Identity(u64::from(minor)),
        is_zvol: true,
    }
}

#[test]
fn snapshots_never_take_the_last_places_and_the_rest_is_counted() {
    let mut inventory = Inventory::new(8);
    let snapshots = (0..20).map(|n| {
        let name = format!("zd{n}");
        (name.clone(), Some(bare(name, n, true)))
    });
    assert_eq!(inventory.observe_all(snapshots.collect()).len(), 6);
    assert_eq!(inventory.refused(), 14);
    let both = vec![
        (
            "zd100".to_owned(),
            Some(bare("zd100".to_owned(), 100, true)),
        ),
        (
            "zd101".to_owned(),
            Some(bare("zd101".to_owned(), 101, false)),
        ),
        ("zd3".to_owned(), None),
        ("zd19".to_owned(), None),
    ];
    let changes = inventory.observe_all(both);
    assert_eq!(summary(&changes), ["-zd3 ?", "+zd101 ?", "+zd100 ?"]);
    assert_eq!(inventory.refused(), 13, "zd19 was refused and is gone");
    assert_eq!(inventory.disks().count(), 7);
}

#[test]
fn a_refused_disk_finds_room_when_another_leaves() {
    let mut inventory = Inventory::new(1);
    let disk = |n: u32| bare(format!("zd{n}"), n, false);
    assert_eq!(inventory.observe("zd0", Some(disk(0))).len(), 1);
    assert!(inventory.observe("zd1", Some(disk(1))).is_empty());
    assert_eq!(inventory.refused_names().collect::<Vec<_>>(), ["zd1"]);
    inventory.observe("zd0", None);
    assert_eq!(
        summary(&inventory.observe("zd1", Some(disk(1)))),
        ["+zd1 ?"]
    );
    assert_eq!(inventory.refused(), 0);
}

proptest! {
    /// Whatever is observed: the changes, applied in order, give what the inventory holds; no
    /// disk arrives twice or departs unseen; both limits are kept; and what is selected but not
    /// traced is counted.
    #[test]
    fn the_changes_tell_the_whole_story(
        steps in vec((0..12_u32, 0..3_u64, any::<bool>(), any::<bool>()), 1..120)
    ) {
        let mut inventory = Inventory::new(8);
        let mut there: BTreeMap<String, bool> = BTreeMap::new();
        let mut traced: BTreeMap<String, Disk> = BTreeMap::new();
        for (number, identity, read_only, is_there) in steps {
            let name = format!("zd{number}");
            let mut disk = bare(name.clone(), number, read_only);
            disk.identity = Identity(identity);
            let now = is_there.then_some(disk);
            there.remove(&name);
            if is_there {
                there.insert(name.clone(), read_only);
            }
            for change in inventory.observe(&name, now) {
                match change {
                    Change::Arrived(disk) => {
                        prop_assert!(traced.insert(disk.name.clone(), disk).is_none());
                    }
                    Change::Changed(disk) => {
                        let before = traced.insert(disk.name.clone(), disk.clone());
                        prop_assert_eq!(before.map(|disk| disk.identity), Some(disk.identity));
                    }
                    Change::Departed(disk) => {
                        prop_assert_eq!(traced.remove(&disk.name), Some(disk));
                    }
                }
            }
            prop_assert_eq!(
                traced.values().collect::<Vec<_>>(),
                inventory.disks().collect::<Vec<_>>()
            );
            prop_assert!(traced.len() <= 8);
            prop_assert_eq!(inventory.refused() + traced.len(), there.len());
            let read_only = traced.values().filter(|disk| disk.read_only).count();
            prop_assert_eq!(
                inventory.room_for_read_only(),
                6_usize.saturating_sub(read_only).min(8 - traced.len())
            );
        }
    }
}

#[test]
fn twenty_four_thousand_nodes_stay_within_bounds() {
    let host = FakeHost::new();
    let count: u32 = 24_000;
    for n in 0..count {
        // Only what tells them apart is laid out: a snapshot that is refused is read too.
        let name = format!("zd{}", n * 16);
        host.write(&format!("sys/block/{name}/dev"), &format!("230:{}", n * 16));
        host.write(&format!("sys/block/{name}/ro"), "1");
        host.write(
            &format!("sys/block/{name}/queue/physical_block_size"),
            "8192",
        );
        host.symlink(&format!("../../{name}"), &format!("dev/zvol/tank/vol@{n}"));
    }
    let (mut watched, disks) = Watched::new(&host, &[]);
    let room = tracer_common::MAX_DISKS / 4 * 3;
    assert_eq!(disks.len(), room as usize);
    assert_eq!(watched.watch.refused(), (count - room) as usize);
    host.zvol("zd999984", 999_984);
    assert_eq!(watched.poll(), ["+zd999984 ?"]);
    assert!(watched.poll().is_empty());
}

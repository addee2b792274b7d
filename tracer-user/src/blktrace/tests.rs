//! Files: layouts, byte orders, damage, names.

mod fixtures;

use std::{fs, io::Cursor, path::PathBuf};

use proptest::prelude::*;

use super::{record::category, *};
use crate::event::Comm;

/// One record as bytes, in either version and byte order.
#[derive(Clone, Debug)]
struct Raw {
    version: u8,
    big_endian: bool,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    error: u16,
    cpu: u32,
    payload: Vec<u8>,
}

impl Raw {
    fn new(version: u8, big_endian: bool) -> Self {
        let action = 1 | u64::from(category::WRITE | category::SYNC | category::QUEUE) << 16;
        Self {
            version,
            big_endian,
            time: 5_000,
            sector: 0x1_0000_0001,
            bytes: 8192,
            action,
            error: 0,
            cpu: 1,
            payload: Vec::new(),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |value: u64, size: usize| {
            let mut bytes = value.to_le_bytes()[..size].to_vec();
            if self.big_endian {
                bytes.reverse();
            }
            out.extend(bytes);
        };
        let (pid, device, length) = (77, 230 << 20 | 16, self.payload.len() as u64);
        put(0x6561_7400 | u64::from(self.version), 4);
        put(1, 4);
        put(self.time, 8);
        put(self.sector, 8);
        put(self.bytes.into(), 4);
        if self.version == 8 {
            put(pid, 4);
            put(self.action, 8);
        } else {
            put(self.action, 4);
            put(pid, 4);
        }
        put(device, 4);
        put(self.cpu.into(), 4);
        put(self.error.into(), 2);
        put(length, 2);
        if self.version == 8 {
            out.extend([0; 12]);
        }
        out.extend(&self.payload);
        out
    }
}

fn read(bytes: &[u8]) -> Result<(Vec<Record>, Vec<Damage>), Damage> {
    let mut records = Records::from_reader(Cursor::new(bytes.to_vec()), "zd0.blktrace.0")?;
    let all = records.by_ref().collect();
    Ok((all, records.damage().to_vec()))
}

#[test]
fn versions_and_byte_orders_decode_alike() {
    let mut decoded = Vec::new();
    for version in [7, 8] {
        for big_endian in [false, true] {
            let mut raw = Raw::new(version, big_endian);
            raw.error = 65_531;
            let (records, damage) = read(&raw.to_bytes()).unwrap();
            assert_eq!(damage, []);
            decoded.extend(records);
        }
    }
    let record = decoded[0];
    assert!(decoded.iter().all(|other| *other == record), "{decoded:#?}");
    assert_eq!(
        (record.time_ns, record.sector, record.bytes),
        (5_000, 0x1_0000_0001, 8192)
    );
    assert_eq!((record.pid, record.device, record.cpu), (77, (230, 16), 1));
    assert_eq!((record.action, record.errno), (Action::Queue, 5));
    assert_eq!(record.end_sector(), 0x1_0000_0011);
}

#[test]
fn a_cgroup_id_stands_before_the_payload() {
    let mut raw = Raw::new(7, false);
    raw.action = 0x100 | u64::from(category::NOTIFY) << 16;
    raw.payload = [&42_u64.to_le_bytes()[..], b"qemu-kvm\0\0\0\0\0\0\0\0"].concat();
    let (records, _) = read(&raw.to_bytes()).unwrap();
    assert_eq!(records[0].payload, Payload::Process(Comm::new("qemu-kvm")));
}

#[test]
fn version_8_tells_write_zeroes_from_writes() {
    let mut raw = Raw::new(8, true);
    raw.action |= 1 << 38;
    let (records, _) = read(&raw.to_bytes()).unwrap();
    assert_eq!(records[0].opf() & 0xff, tracer_common::op::WRITE_ZEROES);
}

#[test]
fn a_damaged_tail_is_named_with_its_offset_and_what_came_before_is_kept() {
    let whole = Raw::new(7, false).to_bytes();
    let mut long = Raw::new(7, false);
    long.payload = vec![0; 40];
    let (mut wrong_version, mut wrong_order) = (Raw::new(7, false), Raw::new(7, false));
    wrong_version.version = 8;
    wrong_order.big_endian = true;
    let mut unknown = whole.clone();
    unknown[0] = 9;
    for (tail, message) in [
        (
            whole[..20].to_vec(),
            "the file ends inside a record: 20 of 48 bytes are there",
        ),
        (
            whole[..3].to_vec(),
            "the file ends inside a record: 3 of 48 bytes are there",
        ),
        (
            long.to_bytes()[..60].to_vec(),
            "the file ends inside a record: 60 of 88 bytes are there",
        ),
        (
            wrong_version.to_bytes(),
            "a record of version 8, little-endian follows records of version 7, little-endian; \
             nothing behind it was read",
        ),
        (
            wrong_order.to_bytes(),
            "a record of version 7, big-endian follows records of version 7, little-endian; \
             nothing behind it was read",
        ),
        (
            unknown,
            "blktrace protocol version 9 is not known; versions 7 and 8 are read",
        ),
        (
            vec![0; 48],
            "bytes [00, 00, 00, 00] are not the start of a record; nothing behind them was read",
        ),
    ] {
        let bytes = [whole.clone(), whole.clone(), tail].concat();
        let (records, damage) = read(&bytes).unwrap();
        assert_eq!(records.len(), 2, "{message}");
        let expected = format!("zd0.blktrace.0 at offset 96: {message}");
        assert_eq!(
            damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [expected]
        );
    }
}

#[test]
fn what_is_no_trace_is_refused_by_name() {
    let mut version_6 = Raw::new(6, true).to_bytes();
    version_6[3] = 6;
    for (bytes, message) in [
        (version_6, "blktrace protocol version 6 is not known"),
        (
            b"\x7fELF....".to_vec(),
            "not a blktrace file: it begins with bytes [7f, 45, 4c, 46]",
        ),
        (Vec::new(), "zd0.blktrace.0: holds no record"),
        (
            b"fio version 2 iolog\n".to_vec(),
            "(a fio iolog: fio replays it",
        ),
        (
            b"TIME(s)     COMM           PID    DISK\n".to_vec(),
            "(a biosnoop table)",
        ),
        (
            b"{\"schema\": 1}".to_vec(),
            "(JSON: a report is read by `compare`)",
        ),
        (
            b"230,0 Q W 17 4096\n".to_vec(),
            "printed with a format of its own, -f or -F?",
        ),
    ] {
        let damage = read(&bytes).unwrap_err();
        assert!(damage.to_string().contains(message), "{damage}");
    }
}

#[test]
fn text_keeps_its_lines_and_counts_what_is_none() {
    let text = "root@pve:~# blkparse -i zd0\n\
        230,0    0        1     0.000000000    77  Q  WS 100 + 16 [my app [1]]\n\
        230,0    0        2     0.000001000    77  Q FWS [qemu-kvm]\n\
        230,0    1        3     0.000005200    77  C  WS 100 + 16 (    5200) [0]\n\
        230,0    1        4     0.000005300    77  C  WS 0 [65531]\n\
        230,0    0        5     0.000005500    77  P   N [qemu-kvm]\n\
        230,0    0        6     0.000005600    77  U   N [qemu-kvm] 1\n\
        230,0    0        7     0.000005700    77  X   W 300 / 308 [qemu-kvm]\n\
        230,0    0        0     0.000006000     0  m   N hello world\n\
        230,0    0        8     0.0000\n\
        CPU0 (zd0):\n Reads Queued:           0,        0KiB\n\
        Throughput (R/W): 0KiB/s / 0KiB/s\nEvents (zd0): 19 entries\n";
    let (records, damage) = read(text.as_bytes()).unwrap();
    let places: Vec<_> = records
        .iter()
        .map(|r| (r.sector, r.bytes, r.errno))
        .collect();
    assert_eq!(
        places,
        [(100, 8192, 0), (0, 0, 0), (100, 8192, 0), (0, 0, 5)]
    );
    assert_eq!(
        records[0].payload,
        Payload::Process(Comm::new("my app [1]"))
    );
    assert_eq!(records[2].time_ns, 5200);
    let left_out = "2 lines are not in blkparse's default format and were left out, the first \
                    is line 1: \"root@pve:~# blkparse -i zd0\"";
    assert_eq!(damage[0].fault.to_string(), left_out);
}

#[test]
fn names_lead_to_per_cpu_files_whatever_cpu_is_inside() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut second = Raw::new(7, false);
    second.time = 4_000;
    fs::write(at("zd0.blktrace.0"), Raw::new(7, false).to_bytes()).unwrap();
    fs::write(at("zd0.blktrace.1"), second.to_bytes()).unwrap();
    fs::write(at("zd0.blktrace.2"), b"").unwrap();
    fs::write(at("notes.txt"), b"\0\x01\x02\x03").unwrap();
    let named = |names: &[PathBuf]| {
        let found = find(names).unwrap();
        let records = Records::open(&found.traces).unwrap();
        (
            records.map(|record| record.time_ns).collect::<Vec<_>>(),
            found.left_out,
        )
    };
    assert_eq!(
        named(&[folder.path().to_owned()]),
        (vec![4_000, 5_000], vec![])
    );
    assert_eq!(named(&[at("zd0")]), (vec![4_000, 5_000], vec![]));
    let both = [at("zd0.blktrace.1"), at("zd0.blktrace.0")];
    assert_eq!(named(&both), (vec![4_000, 5_000], vec![]));
    // Its record is of CPU 1 though its suffix is 0.
    assert_eq!(named(&both[1..]), (vec![5_000], vec![at("zd0.blktrace.1")]));
    for (name, message) in [
        ("zd1", "zd1.blktrace.0 either"),
        ("notes.txt", "not a blktrace file"),
    ] {
        let error = match find(&[at(name)]) {
            Err(error) => error.to_string(),
            Ok(found) => Records::open(&found.traces).err().unwrap().to_string(),
        };
        assert!(error.contains(message), "{error}");
    }
    let stdin = [PathBuf::from("-"), at("zd0")];
    assert!(matches!(find(&stdin), Err(FindError::StdinAndFiles)));
}

#[test]
fn one_damaged_file_does_not_end_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let good = Raw::new(8, true).to_bytes();
    fs::write(
        folder.path().join("zd0.blktrace.0"),
        [good.clone(), good].concat(),
    )
    .unwrap();
    fs::write(folder.path().join("zd0.blktrace.1"), b"\x09tae").unwrap();
    let found = find(&[folder.path().to_owned()]).unwrap();
    let mut records = Records::open(&found.traces).unwrap();
    assert_eq!(records.by_ref().count(), 2);
    assert_eq!(records.damage().len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        version in 6..10_u8,
        stamps in proptest::collection::vec(0..400_usize, 0..6),
    ) {
        for at in stamps {
            if let Some(place) = bytes.get_mut(at / 48 * 48..at / 48 * 48 + 4) {
                place.copy_from_slice(&(0x6561_7400 | u32::from(version)).to_le_bytes());
            }
        }
        if let Ok((records, _)) = read(&bytes) {
            let mut pairing = Pairing::new();
            for record in &records {
                pairing.feed(record);
            }
            pairing.finish();
            let _ = (pairing.drain(), pairing.counts());
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(
        lines in proptest::collection::vec(
            "(230,0|8,1|,)? {0,2}[0-9]{0,3} [0-9]{0,2} [0-9]{0,20}\\.[0-9]{8,10} [0-9]{1,11} \
             [QGIDCMFRXAmP] [FDWRNASMZ]{1,4} [0-9]{0,22}( \\+ [0-9]{0,12})?( \\([0-9a-f ]*\\)?)?\
             ( \\[[-a-z0-9]*\\]?)?",
            0..12,
        )
    ) {
        let _ = read(lines.join("\n").as_bytes());
    }

    #[test]
    fn a_record_survives_its_own_encoding(
        version in 7..9_u8,
        big_endian: bool,
        time: u64,
        sector: u64,
        bytes: u32,
        error in 0..4096_u16,
        payload in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let raw = Raw { time, sector, bytes, error: error.wrapping_neg(), payload,
                        ..Raw::new(version, big_endian) };
        let record = read(&raw.to_bytes()).unwrap().0[0];
        let mut again = Vec::new();
        record.encode_v7(1, &mut again);
        let (records, _) = read(&again).unwrap();
        prop_assert_eq!(records, vec![record]);
    }
}

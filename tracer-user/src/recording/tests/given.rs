//! Inputs to record: arbitrary ones for properties, and a small capture for examples.

use proptest::{collection::vec, option, prelude::*, sample::select};
use tracer_common::{DiskCounters, flag, op};

use crate::{
    event::{Comm, DeviceId, Event, Flags, Op},
    input::{
        Device, DeviceSample, End, Host, Input, Lost, Mode, Objset, Overhead, Partition,
        PoolSample, PoolShape, Sample, Start, Txg,
    },
};

pub(super) fn event(device: u32, n: u64) -> Event {
    Event {
        device: DeviceId(device),
        op: Op::Write,
        flags: Flags::from_opf(op::WRITE | flag::SYNC | flag::IDLE),
        start_ns: 1_000_000_000 + n * 50_000,
        issue_ns: None,
        end_ns: 1_000_000_000 + n * 50_000 + 120_000 + n % 977,
        offset_bytes: (n * 7919 % 100_000) * 4096,
        bytes: 4096,
        errno: 0,
        cpu: 3,
        pid: 4242,
        tid: 4243,
        comm: Comm::new("kvm"),
    }
}

pub(super) fn start() -> Start {
    Start {
        host: Host {
            hostname: "pve1".to_owned(),
            kernel: "6.8.12-9-pve".to_owned(),
            zfs_version: Some("2.2.7-pve2".to_owned()),
            zfs_txg_timeout_s: Some(5),
            ..Host::default()
        },
        args: vec!["capture".to_owned(), "zd*".to_owned()],
        started_unix_ns: 1_700_000_000_000_000_000,
        started_ns: 1_000_000_000,
        requested_ns: Some(60_000_000_000),
        clock: "CLOCK_MONOTONIC".to_owned(),
        block_size_bytes: None,
    }
}

pub(super) fn device(id: u32) -> Device {
    Device {
        id: DeviceId(id),
        name: format!("zd{}", id * 16),
        major: 230,
        minor: id * 16,
        mode: Mode::Bio,
        dataset: Some(format!("rpool/data/vm-10{id}-disk-0")),
        volblocksize_bytes: Some(16_384),
        size_bytes: 32 << 30,
        partitions: Vec::new(),
        stacked_on: Vec::new(),
        appeared_ns: None,
    }
}

/// The counters as the kernel would have them after `count` writes of 4K on device 0.
pub(super) fn sample(at_ns: u64, count: u64) -> Sample {
    let mut counters = DiskCounters::default();
    counters.count[1] = count;
    counters.bytes[1] = count * 4096;
    counters.submitted = count;
    Sample {
        at_ns,
        devices: vec![DeviceSample {
            device: DeviceId(0),
            counters,
            outstanding: 0,
            oldest_ns: 0,
        }],
        lost: Lost::default(),
    }
}

pub(super) fn end(at_ns: u64) -> Input {
    Input::End(End {
        at_ns,
        incomplete_reasons: Vec::new(),
        overhead: None,
    })
}

/// A capture of one device: `count` writes in lists of 100, a sample after each list.
pub(super) fn capture(count: u64) -> Vec<Input> {
    let mut inputs = vec![Input::Start(start()), Input::Appeared(device(0))];
    let mut last_ns = 0;
    for first in (0..count).step_by(100) {
        let events: Vec<_> = (first..count.min(first + 100))
            .map(|n| event(0, n))
            .collect();
        last_ns = events.last().unwrap().end_ns;
        let written = first + events.len() as u64;
        inputs.push(Input::Events(events));
        inputs.push(Input::Sample(sample(last_ns, written)));
    }
    inputs.push(end(last_ns));
    inputs
}

fn arbitrary_event() -> impl Strategy<Value = Event> {
    let who = (any::<u32>(), any::<u32>(), any::<[u8; 16]>(), any::<u16>());
    let when = (any::<u64>(), option::of(any::<u64>()), any::<u64>());
    let what = (0..=u32::MAX, any::<u32>(), any::<u64>(), any::<u16>());
    (any::<u32>(), who, when, what).prop_map(|(device, who, when, what)| Event {
        device: DeviceId(device),
        op: Op::from_opf(what.0, what.1),
        flags: Flags::from_opf(what.0),
        start_ns: when.0,
        issue_ns: when.1,
        end_ns: when.2,
        offset_bytes: what.2,
        bytes: what.1,
        errno: what.3,
        cpu: who.3,
        pid: who.0,
        tid: who.1,
        comm: Comm(who.2),
    })
}

fn text() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "rpool/data/vm-100-disk-0",
        "a \"b\"\n\u{0}\u{1f600}",
        "zd16",
    ])
    .prop_map(str::to_owned)
}

prop_compose! {
    fn arbitrary_device()(
        words in (text(), option::of(text()), any::<bool>()),
        numbers in any::<(u32, u32, u64)>(),
        optional in (option::of(any::<u64>()), option::of(any::<u64>())),
        partitions in vec((text(), any::<u64>(), any::<u64>()), 0..2),
        stacked_on in vec(text(), 0..2),
    ) -> Device {
        let partition = |(name, start_sector, sectors)| Partition { name, start_sector, sectors };
        Device {
            id: DeviceId(0),
            name: words.0,
            major: numbers.0,
            minor: numbers.1,
            mode: if words.2 { Mode::Bio } else { Mode::BlkMq },
            dataset: words.1,
            volblocksize_bytes: optional.0,
            size_bytes: numbers.2,
            partitions: partitions.into_iter().map(partition).collect(),
            stacked_on,
            appeared_ns: optional.1,
        }
    }
}

prop_compose! {
    fn arbitrary_sample()(
        at_ns: u64,
        lost in any::<(u64, u64, u64)>(),
        devices in vec(any::<(u32, [u64; 5], [u64; 5], [u64; 6], u64, u64)>(), 0..3),
    ) -> Sample {
        let device = |(device, count, bytes, rest, outstanding, oldest_ns): (_, _, _, [u64; 6], _, _)| {
            let [errors, submitted, ring_lost, not_tracked, without_start, overwritten] = rest;
            DeviceSample {
                device: DeviceId(device),
                counters: DiskCounters {
                    count, bytes, errors, submitted, ring_lost, not_tracked, without_start,
                    overwritten,
                },
                outstanding,
                oldest_ns,
            }
        };
        Sample {
            at_ns,
            devices: devices.into_iter().map(device).collect(),
            lost: Lost { recursion: lost.0, undecodable: lost.1, queue: lost.2 },
        }
    }
}

prop_compose! {
    fn arbitrary_pool()(
        name in text(),
        at_ns: u64,
        state in option::of(text()),
        txgs in vec((any::<char>(), any::<[u64; 9]>()), 0..3),
        objsets in vec((text(), any::<[u64; 4]>(), option::of(any::<u64>())), 0..3),
        shape in option::of((option::of(text()), option::of(any::<[u32; 2]>()), option::of(text()))),
    ) -> PoolSample {
        let txg = |(state, n): (char, [u64; 9])| Txg {
            txg: n[0], birth_ns: n[1], state, ndirty_bytes: n[2], nread_bytes: n[3],
            nwritten_bytes: n[4], open_ns: n[5], quiesce_ns: n[6], wait_ns: n[7], sync_ns: n[8],
        };
        let objset = |(dataset, n, zil): (_, [u64; 4], _)| Objset {
            dataset, writes: n[0], nwritten_bytes: n[1], reads: n[2], nread_bytes: n[3],
            zil_commit_count: zil, zil_itx_bytes: zil,
        };
        PoolSample {
            name, at_ns, state,
            txgs: txgs.into_iter().map(txg).collect(),
            objsets: objsets.into_iter().map(objset).collect(),
            shape: shape.map(|(layout, n, activity)| PoolShape {
                layout, ashift: n.map(|n| n[0]), fill_percent: n.map(|n| n[1]), activity,
            }),
        }
    }
}

prop_compose! {
    fn arbitrary_start()(
        words in (text(), text(), option::of(text()), text()),
        args in vec(text(), 0..3),
        started in any::<(i64, u64, bool)>(),
        optional in (option::of(any::<u64>()), option::of(any::<u64>()), option::of(any::<u64>())),
    ) -> Start {
        Start {
            host: Host {
                hostname: words.0,
                kernel: words.1,
                zfs_version: words.2,
                zfs_txg_timeout_s: optional.0,
                zfs_dirty_sync_bytes: optional.2,
                defects_patched: started.2,
            },
            args,
            started_unix_ns: started.0,
            started_ns: started.1,
            requested_ns: optional.1,
            clock: words.3,
            block_size_bytes: optional.2,
        }
    }
}

prop_compose! {
    fn arbitrary_end()(
        at_ns: u64,
        incomplete_reasons in vec(text(), 0..2),
        overhead in option::of((option::of(any::<u64>()), any::<u64>(), any::<u64>())),
    ) -> End {
        End {
            at_ns,
            incomplete_reasons,
            overhead: overhead.map(|(kernel_ns_per_io, user_cpu_ns, max_rss_bytes)| Overhead {
                kernel_ns_per_io, user_cpu_ns, max_rss_bytes,
            }),
        }
    }
}

/// Any capture that keeps the rules: a start first, devices numbered as they come, an end last.
pub(super) fn arbitrary_capture() -> impl Strategy<Value = Vec<Input>> {
    let middle = prop_oneof![
        5 => vec(arbitrary_event(), 0..20).prop_map(Input::Events),
        2 => arbitrary_device().prop_map(Input::Appeared),
        1 => arbitrary_device().prop_map(Input::Changed),
        1 => any::<(u32, u64)>().prop_map(|(device, at_ns)| Input::Vanished {
            device: DeviceId(device),
            at_ns,
        }),
        2 => arbitrary_sample().prop_map(Input::Sample),
        2 => vec(arbitrary_pool(), 0..3).prop_map(Input::Pools),
    ];
    let first = arbitrary_device();
    (
        arbitrary_start(),
        first,
        vec(middle, 0..40),
        option::of(arbitrary_end()),
    )
        .prop_map(|(start, first, middle, end)| {
            let mut inputs = vec![Input::Start(start), Input::Appeared(first)];
            inputs.extend(middle);
            inputs.extend(end.map(Input::End));
            number_devices(&mut inputs);
            inputs
        })
}

fn number_devices(inputs: &mut Vec<Input>) {
    let mut known = 0;
    let mut vanished = Vec::new();
    inputs.retain_mut(|input| {
        match input {
            Input::Appeared(device) => {
                device.id = DeviceId(known);
                known += 1;
            }
            Input::Changed(device) => device.id.0 %= known,
            Input::Vanished { device, .. } => {
                device.0 %= known;
                let again = vanished.contains(device);
                vanished.push(*device);
                return !again;
            }
            Input::Events(events) => events.iter_mut().for_each(|e| e.device.0 %= known),
            Input::Sample(sample) => sample.devices.iter_mut().for_each(|s| s.device.0 %= known),
            Input::Start(_) | Input::Pools(_) | Input::End(_) => {}
        }
        true
    });
}

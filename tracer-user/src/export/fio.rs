//! A capture as a fio iolog with its job files.

use std::{io::BufWriter, path::Path};

use rustc_hash::FxHashMap;
use tracer_common::flag;

use crate::{
    analysis,
    blktrace::{Action, Record, Sorter},
    event::Op,
    fio::{IologOp, IologWriter, MAX_TRIM_BYTES, Mix, Replay, file_name, replay_job, summary_job},
    input::{Device, Mode},
    output::{replace_file, write_file},
    report::model::{DeviceReport, Report},
    source::Source,
};

use super::{
    ExportError, Summary, suffixed,
    walk::{Capture, walk},
};

/// Block sizes that are worth a try without asking ZFS for large blocks.
const LEAST_BLOCK_BYTES: u64 = 4096;
const MOST_BLOCK_BYTES: u64 = 128 << 10;

/// What a device's part of the log amounts to.
#[derive(Clone, Copy, Default)]
struct Part {
    replayable: u64,
    fua: u64,
    flushes: u64,
    trims: u64,
    cut_trims: u64,
    zeroes: u64,
    others: u64,
    end_bytes: u64,
    in_flight: u64,
    depth: u64,
}

pub(super) fn export(source: &mut dyn Source, path: &Path) -> Result<Summary, ExportError> {
    let mut sorter = Sorter::default();
    let mut parts: FxHashMap<(u32, u32), Part> = FxHashMap::default();
    let mut collector = analysis::Collector::new(analysis::Options::default(), source.kind());
    let capture = walk(
        source,
        |input| collector.feed(input),
        |_, device, event| {
            let number = (device.major, device.minor);
            let part = parts.entry(number).or_default();
            part.zeroes += u64::from(event.op == Op::WriteZeroes);
            match event.op {
                Op::Unknown(_) => {
                    part.others += 1;
                    return Ok(());
                }
                Op::Discard | Op::SecureErase => {
                    part.trims += 1;
                    part.cut_trims += u64::from(event.bytes > MAX_TRIM_BYTES);
                }
                Op::Flush => part.flushes += 1,
                Op::Read | Op::Write | Op::WriteZeroes => part.replayable += 1,
            }
            part.fua += u64::from(event.op == Op::Write && event.flags.has(flag::FUA));
            part.end_bytes = part.end_bytes.max(event.end_bytes());
            // Bio mode: queue and completion are all that is needed of a request as well.
            sorter
                .push(event, number, Mode::Bio)
                .map_err(ExportError::from)
        },
    )?;
    if parts.values().all(|part| part.replayable == 0) {
        return Err(ExportError::Nothing(
            " that fio can replay (reads or writes)",
        ));
    }
    let devices: Vec<_> = capture
        .devices
        .iter()
        .filter(|device| parts.contains_key(&(device.major, device.minor)))
        .collect();
    write_log(path, sorter, &devices, &mut parts)?;

    let report = collector.report();
    let part = |device: &Device| {
        parts
            .get(&(device.major, device.minor))
            .copied()
            .unwrap_or_default()
    };
    let of_report = |device: &Device| report_of(&report, device);
    let replays: Vec<_> = devices
        .iter()
        .map(|device| replay(device, &part(device), of_report(device)))
        .collect();
    let mixes: Vec<_> = devices
        .iter()
        .filter_map(|device| {
            let mix = mix(
                device,
                &part(device),
                of_report(device)?,
                report.capture.duration_ns,
            );
            (!mix.reads.is_empty() || !mix.writes.is_empty()).then_some(mix)
        })
        .collect();
    let [replay_path, summary_path] =
        [".replay.fio", ".summary.fio"].map(|end| suffixed(path, end));
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned()
    };
    let depth = parts.values().map(|part| part.depth).sum();
    let trims = parts.values().any(|part| part.trims > 0);
    let job = replay_job(&name(path), &name(&replay_path), &replays, depth, trims);
    write_file(&replay_path, job.as_bytes())?;
    write_file(
        &summary_path,
        summary_job(&name(&summary_path), &mixes).as_bytes(),
    )?;
    let files = vec![path.to_owned(), replay_path, summary_path];
    Ok(Summary {
        files,
        ios: capture.ios,
        notes: notes(capture, &parts),
    })
}

fn write_log(
    path: &Path,
    sorter: Sorter,
    devices: &[&Device],
    parts: &mut FxHashMap<(u32, u32), Part>,
) -> Result<(), ExportError> {
    let records = sorter.sorted()?;
    let files = devices
        .iter()
        .map(|device| file_name(&device.name))
        .collect();
    let index: FxHashMap<_, _> = devices
        .iter()
        .enumerate()
        .map(|(n, device)| ((device.major, device.minor), n))
        .collect();
    replace_file(path, |file| {
        let mut log = IologWriter::new(BufWriter::new(file), files)?;
        for record in records {
            let (record, _) = record?;
            let (Some(file), Some(part)) =
                (index.get(&record.device), parts.get_mut(&record.device))
            else {
                continue;
            };
            match record.action {
                Action::Queue => {
                    // Flushes are left out: a preflush has no completion of its own.
                    part.in_flight += u64::from(record.bytes > 0);
                    part.depth = part.depth.max(part.in_flight);
                    put(&mut log, *file, &record)?;
                }
                Action::Complete if record.bytes > 0 => {
                    part.in_flight = part.in_flight.saturating_sub(1);
                }
                _ => {}
            }
        }
        log.finish()?;
        Ok(())
    })?;
    Ok(())
}

/// A preflush is a sync before the write, FUA one behind it: the log has no flags.
fn put<W: std::io::Write>(
    log: &mut IologWriter<W>,
    file: usize,
    record: &Record,
) -> std::io::Result<()> {
    let opf = record.opf();
    let (at, offset) = (record.time_ns, record.sector.saturating_mul(512));
    match Op::from_opf(opf, record.bytes) {
        Op::Read => log.put(at, file, IologOp::Read, offset, record.bytes),
        Op::Flush => log.put(at, file, IologOp::Sync, 0, 0),
        Op::Discard | Op::SecureErase => log.put(at, file, IologOp::Trim, offset, record.bytes),
        Op::Write | Op::WriteZeroes | Op::Unknown(_) => {
            log.put(at, file, IologOp::Write, offset, record.bytes)?;
            if opf & flag::FUA != 0 {
                log.put(at, file, IologOp::Sync, 0, 0)?;
            }
            Ok(())
        }
    }
}

fn report_of<'a>(report: &'a Report, device: &Device) -> Option<&'a DeviceReport> {
    // The last one: a number that is used again is a new device.
    let same = |row: &&DeviceReport| (row.major, row.minor) == (device.major, device.minor);
    report.devices.iter().rev().find(same)
}

fn replay(device: &Device, part: &Part, row: Option<&DeviceReport>) -> Replay {
    let verdict = row.map(|row| &row.verdict);
    let recommended = verdict.and_then(|verdict| verdict.recommended_block_bytes);
    let dominant = verdict.and_then(|verdict| verdict.dominant_write_bytes);
    let candidate = recommended
        .or(dominant)
        .or(device.volblocksize_bytes)
        .unwrap_or(16 << 10);
    Replay {
        device: device.name.clone(),
        file: file_name(&device.name),
        dataset: device.dataset.clone(),
        block_bytes: device.volblocksize_bytes,
        candidate_bytes: candidate
            .clamp(LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES)
            .next_power_of_two(),
        end_bytes: part.end_bytes.max(device.size_bytes),
    }
}

fn mix(device: &Device, part: &Part, row: &DeviceReport, duration_ns: u64) -> Mix {
    let sizes = |sizes: &[crate::report::model::SizeCount]| {
        sizes.iter().map(|size| (size.bytes, size.count)).collect()
    };
    Mix {
        device: device.name.clone(),
        reads: sizes(&row.ops.read.sizes),
        writes: sizes(&row.ops.write.sizes),
        flushes: part.flushes + row.sync.durable_writes,
        read_sequential_share: row.access.and_then(|access| access.read_sequential_share),
        write_sequential_share: row.access.and_then(|access| access.write_sequential_share),
        depth: part.depth,
        end_bytes: part.end_bytes.max(device.size_bytes),
        duration_ns,
    }
}

fn notes(capture: Capture, parts: &FxHashMap<(u32, u32), Part>) -> Vec<String> {
    let sum = |of: fn(&Part) -> u64| parts.values().map(of).sum::<u64>();
    let mut notes = capture.notes;
    let mut note = |count: u64, text: &str| {
        if count > 0 {
            notes.push(format!("{count} {text}"));
        }
    };
    note(
        sum(|part| part.fua),
        "FUA writes are a write and a sync: the log has no FUA",
    );
    note(
        sum(|part| part.trims),
        "discards are trims: fio 3.33 and older pass over them",
    );
    note(
        sum(|part| part.cut_trims),
        "discards over 4M are several trims: fio needs a buffer as large as the largest",
    );
    note(
        sum(|part| part.zeroes),
        "writes of zeroes are plain writes: the log has no other word",
    );
    note(
        sum(|part| part.others),
        "I/Os of other kinds (passthrough, zones) were left out",
    );
    notes
}

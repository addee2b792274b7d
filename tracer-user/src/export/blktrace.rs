//! A capture as a blktrace file.

use std::{io::BufWriter, path::Path};

use crate::{
    blktrace::{Sorter, TraceWriter},
    event::Op,
    output::replace_file,
    source::Source,
};

use super::{ExportError, Summary, suffixed, walk::walk};

pub(super) fn export(source: &mut dyn Source, base: &Path) -> Result<Summary, ExportError> {
    let mut sorter = Sorter::default();
    let mut zeroes = 0_u64;
    let capture = walk(
        source,
        |_| {},
        |_, device, event| {
            zeroes += u64::from(event.op == Op::WriteZeroes);
            sorter.push(event, (device.major, device.minor), device.mode)?;
            Ok::<_, ExportError>(())
        },
    )?;
    if capture.ios == 0 {
        return Err(ExportError::Nothing(""));
    }
    let path = suffixed(base, ".blktrace.0");
    let records = sorter.sorted()?;
    replace_file(&path, |file| {
        let mut trace = TraceWriter::new(BufWriter::new(file));
        if let (Some(start), Some(device)) = (&capture.start, capture.devices.first())
            && start.started_unix_ns > 0
        {
            let number = (device.major, device.minor);
            trace.wall_clock(start.started_ns, start.started_unix_ns, number)?;
        }
        for record in records {
            let (record, comm) = record?;
            trace.write(&record, comm)?;
        }
        trace.finish()?;
        Ok(())
    })?;
    let mut notes = capture.notes;
    if zeroes > 0 {
        notes.push(format!(
            "{zeroes} writes of zeroes are plain writes in the file: version 7 has no other word"
        ));
    }
    Ok(Summary {
        files: vec![path],
        ios: capture.ios,
        notes,
    })
}

//! Reads a source to its end: events with their device, and what the capture lacks.

use crate::{
    event::{DeviceId, Event},
    input::{Device, Input, Start},
    source::Source,
};

use super::ExportError;

/// What is known of a capture beside its events.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// Opening.
    pub(super) start: Option<Start>,
    /// Devices by identity, as they were last described.
    pub(super) devices: Vec<Device>,
    /// Events seen.
    pub(super) ios: u64,
    /// What the capture lacks, one sentence each.
    pub(super) notes: Vec<String>,
    /// Events of devices that were never announced.
    strays: u64,
}

impl Capture {
    pub(super) fn device(&self, id: DeviceId) -> Option<&Device> {
        // Identities count up from 0 in order of arrival.
        let device = self
            .devices
            .get(id.0 as usize)
            .filter(|device| device.id == id);
        device.or_else(|| self.devices.iter().find(|device| device.id == id))
    }

    fn describe(&mut self, device: Device) {
        match self
            .devices
            .iter_mut()
            .rev()
            .find(|known| known.id == device.id)
        {
            Some(known) => *known = device,
            None => self.devices.push(device),
        }
    }
}

/// Calls `observe` with every input, and `each` with every event and its device.
pub(super) fn walk<E: From<ExportError>>(
    source: &mut dyn Source,
    mut observe: impl FnMut(&Input),
    mut each: impl FnMut(&Capture, &Device, &Event) -> Result<(), E>,
) -> Result<Capture, E> {
    let mut capture = Capture::default();
    let mut last_sample = None;
    let mut ended = false;
    loop {
        let input = match source.next() {
            Ok(Some(input)) => input,
            Ok(None) => break,
            Err(error) if capture.ios == 0 => return Err(ExportError::Source(error).into()),
            Err(error) => {
                capture.notes.push(format!(
                    "the capture is damaged, what came before was kept: {error:#}"
                ));
                ended = true;
                break;
            }
        };
        observe(&input);
        match input {
            Input::Start(start) => capture.start = Some(start),
            Input::Appeared(device) | Input::Changed(device) => capture.describe(device),
            Input::Events(events) => {
                for event in &events {
                    let Some(device) = capture.device(event.device) else {
                        capture.strays += 1;
                        continue;
                    };
                    each(&capture, device, event)?;
                }
                capture.ios += events.len() as u64;
            }
            Input::Sample(sample) => last_sample = Some(sample),
            Input::End(end) => {
                capture.notes.extend(end.incomplete_reasons);
                ended = true;
            }
            Input::Vanished { .. } | Input::Pools(_) => {}
        }
    }
    capture.ios -= capture.strays;
    if capture.strays > 0 {
        let strays = capture.strays;
        capture.notes.push(format!(
            "{strays} I/Os belong to no known device and were left out"
        ));
    }
    if !ended {
        capture
            .notes
            .push("the capture was cut off: its end is missing".to_owned());
    }
    if let Some(sample) = last_sample {
        let lost = sample.lost_events();
        if lost > 0 {
            capture.notes.push(format!(
                "{lost} events were lost while tracing and are not in it"
            ));
        }
    }
    Ok(capture)
}

//! The rows of a recording that are no I/O: their kind and their JSON.
//!
//! Owns the mapping between [`Input`] and such rows. Everything an input holds goes into the
//! JSON; nothing is derived or left out (only zeros are).

use serde::{Deserialize, Serialize};
use tracer_common::DiskCounters;

use crate::{
    event::DeviceId,
    input::{Device, DeviceSample, End, Input, Lost, PoolSample, Sample, Start},
};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Io,
    Start,
    Appeared,
    Changed,
    Vanished,
    Sample,
    Pools,
    End,
    PartEnd,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Io,
        Self::Start,
        Self::Appeared,
        Self::Changed,
        Self::Vanished,
        Self::Sample,
        Self::Pools,
        Self::End,
        Self::PartEnd,
    ];

    /// The kind as it stands in the column `kind`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Start => "start",
            Self::Appeared => "appeared",
            Self::Changed => "changed",
            Self::Vanished => "vanished",
            Self::Sample => "sample",
            Self::Pools => "pools",
            Self::End => "end",
            Self::PartEnd => "part_end",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A row that is no I/O.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    /// [`Input::Start`], with the place where this part begins when it is not the first.
    Start(Start, Option<Sample>),
    Appeared(Device),
    Changed(Device),
    Vanished(Vanished),
    Sample(Sample),
    Pools(Vec<PoolSample>),
    End(End),
    /// The place where this part ends and the next begins.
    PartEnd(Sample),
}

/// [`Input::Vanished`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vanished {
    pub(crate) device: DeviceId,
    pub(crate) at_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct StartJson {
    #[serde(flatten)]
    start: Start,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<SampleJson>,
}

#[derive(Serialize, Deserialize)]
struct SampleJson {
    at_ns: u64,
    devices: Vec<DeviceJson>,
    #[serde(default, skip_serializing_if = "is_default")]
    lost: Lost,
}

/// [`DeviceSample`]; arrays are in the order read, write, discard, flush, other.
#[derive(Serialize, Deserialize)]
struct DeviceJson {
    device: DeviceId,
    #[serde(default, skip_serializing_if = "is_default")]
    count: [u64; 5],
    #[serde(default, skip_serializing_if = "is_default")]
    bytes: [u64; 5],
    #[serde(default, skip_serializing_if = "is_default")]
    errors: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    submitted: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    ring_lost: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    not_tracked: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    without_start: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    overwritten: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    outstanding: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    oldest_ns: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl From<&Sample> for SampleJson {
    fn from(sample: &Sample) -> Self {
        Self {
            at_ns: sample.at_ns,
            devices: sample.devices.iter().map(DeviceJson::from).collect(),
            lost: sample.lost,
        }
    }
}

impl From<SampleJson> for Sample {
    fn from(json: SampleJson) -> Self {
        Self {
            at_ns: json.at_ns,
            devices: json.devices.into_iter().map(DeviceSample::from).collect(),
            lost: json.lost,
        }
    }
}

impl From<&DeviceSample> for DeviceJson {
    fn from(sample: &DeviceSample) -> Self {
        // Taken apart whole, so that a counter that is added cannot be forgotten here.
        let DeviceSample {
            device,
            counters,
            outstanding,
            oldest_ns,
        } = *sample;
        let DiskCounters {
            count,
            bytes,
            errors,
            submitted,
            ring_lost,
            not_tracked,
            without_start,
            overwritten,
        } = counters;
        Self {
            device,
            count,
            bytes,
            errors,
            submitted,
            ring_lost,
            not_tracked,
            without_start,
            overwritten,
            outstanding,
            oldest_ns,
        }
    }
}

impl From<DeviceJson> for DeviceSample {
    fn from(json: DeviceJson) -> Self {
        Self {
            device: json.device,
            counters: DiskCounters {
                count: json.count,
                bytes: json.bytes,
                errors: json.errors,
                submitted: json.submitted,
                ring_lost: json.ring_lost,
                not_tracked: json.not_tracked,
                without_start: json.without_start,
                overwritten: json.overwritten,
            },
            outstanding: json.outstanding,
            oldest_ns: json.oldest_ns,
        }
    }
}

impl Control {
    /// The row of an input that is no I/O; `None` for [`Input::Events`].
    pub(crate) fn from_input(input: Input) -> Option<Self> {
        Some(match input {
            Input::Events(_) => return None,
            Input::Start(start) => Self::Start(start, None),
            Input::Appeared(device) => Self::Appeared(device),
            Input::Changed(device) => Self::Changed(device),
            Input::Vanished { device, at_ns } => Self::Vanished(Vanished { device, at_ns }),
            Input::Sample(sample) => Self::Sample(sample),
            Input::Pools(pools) => Self::Pools(pools),
            Input::End(end) => Self::End(end),
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Start(..) => Kind::Start,
            Self::Appeared(_) => Kind::Appeared,
            Self::Changed(_) => Kind::Changed,
            Self::Vanished(_) => Kind::Vanished,
            Self::Sample(_) => Kind::Sample,
            Self::Pools(_) => Kind::Pools,
            Self::End(_) => Kind::End,
            Self::PartEnd(_) => Kind::PartEnd,
        }
    }

    /// When it was, capture clock, ns; for the column `start_ns`.
    pub(crate) fn at_ns(&self) -> Option<u64> {
        match self {
            Self::Start(start, part) => {
                Some(part.as_ref().map_or(start.started_ns, |part| part.at_ns))
            }
            Self::Appeared(device) => device.appeared_ns,
            Self::Changed(_) => None,
            Self::Vanished(vanished) => Some(vanished.at_ns),
            Self::Sample(sample) | Self::PartEnd(sample) => Some(sample.at_ns),
            Self::Pools(pools) => pools.iter().map(|pool| pool.at_ns).max(),
            Self::End(end) => Some(end.at_ns),
        }
    }

    /// Which device it is about; for the column `device`.
    pub(crate) fn device(&self) -> Option<DeviceId> {
        match self {
            Self::Appeared(device) | Self::Changed(device) => Some(device.id),
            Self::Vanished(vanished) => Some(vanished.device),
            _ => None,
        }
    }

    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
        match self {
            Self::Start(start, part) => serde_json::to_string(&StartJson {
                start: start.clone(),
                part: part.as_ref().map(SampleJson::from),
            }),
            Self::Appeared(device) | Self::Changed(device) => serde_json::to_string(device),
            Self::Vanished(vanished) => serde_json::to_string(vanished),
            Self::Sample(sample) | Self::PartEnd(sample) => {
                serde_json::to_string(&SampleJson::from(sample))
            }
            Self::Pools(pools) => serde_json::to_string(pools),
            Self::End(end) => serde_json::to_string(end),
        }
    }

    /// Reads the JSON of a row of that kind; `None` for [`Kind::Io`], which has none.
    pub(crate) fn from_json(kind: Kind, json: &str) -> Option<serde_json::Result<Self>> {
        let sample = || serde_json::from_str::<SampleJson>(json).map(Sample::from);
        Some(match kind {
            Kind::Io => return None,
            Kind::Start => serde_json::from_str::<StartJson>(json)
                .map(|json| Self::Start(json.start, json.part.map(Sample::from))),
            Kind::Appeared => serde_json::from_str(json).map(Self::Appeared),
            Kind::Changed => serde_json::from_str(json).map(Self::Changed),
            Kind::Vanished => serde_json::from_str(json).map(Self::Vanished),
            Kind::Sample => sample().map(Self::Sample),
            Kind::Pools => serde_json::from_str(json).map(Self::Pools),
            Kind::End => serde_json::from_str(json).map(Self::End),
            Kind::PartEnd => sample().map(Self::PartEnd),
        })
    }
}

//! What was folded, as a report.

use super::{Collector, Explanation, clock_of};
use crate::{
    analysis::{
        accounting::{Course, event_counts, incomplete_reasons},
        axes::AxesContext,
        device::{DeviceState, pool_of},
        insight::Insight,
        space::PoolLayout,
        totals::totals,
        verdict::{self, Facts},
    },
    device::vm_of,
    event::DeviceId,
    host::{Defect, known_defects},
    input::{Device, Mode, Objset},
    report::model::{
        Capture, DeviceReport, EventCounts, HostReport, Report, SCHEMA, SourceKind, Verdict,
    },
};

impl Collector {
    /// The report as of now: final after [`crate::input::Input::End`], before it marked as not complete.
    #[must_use]
    pub fn report(&self) -> Report {
        let counts = event_counts(&self.devices, &self.lost);
        let capture = self.capture(counts);
        let devices = self
            .devices
            .iter()
            .map(|state| {
                let (mut report, insight) = self.device_report(state);
                let judgement = verdict::judge(&Facts::new(&report, &capture, &insight));
                report.verdict = judgement.verdict;
                report.findings = judgement.findings;
                report
            })
            .collect();
        Report {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.host(),
            capture,
            pools: self
                .pools
                .iter()
                .map(|(name, pool)| {
                    pool.report(self.layout_of(name).map(|pool| pool.layout.to_string()))
                })
                .collect(),
            devices,
            totals: totals(&self.devices, self.options.latency_digits),
        }
    }

    /// What each device's rules said: those that fired and those that stayed silent.
    #[must_use]
    pub fn explain(&self) -> Vec<Explanation> {
        let capture = self.capture(event_counts(&self.devices, &self.lost));
        let explain = |state| self.explain_device(state, &capture);
        self.devices.iter().map(explain).collect()
    }

    /// What one device's rules said; `None` for a device that is not known.
    #[must_use]
    pub fn explain_one(&self, device: DeviceId) -> Option<Explanation> {
        let capture = self.capture(event_counts(&self.devices, &self.lost));
        let state = self.devices.get(*self.index.get(&device)?)?;
        Some(self.explain_device(state, &capture))
    }

    fn explain_device(&self, state: &DeviceState, capture: &Capture) -> Explanation {
        let (report, insight) = self.device_report(state);
        Explanation {
            rules: verdict::explain(&Facts::new(&report, capture, &insight)),
            device: report.device,
            dataset: report.dataset,
        }
    }

    fn layout_of(&self, pool: &str) -> Option<PoolLayout> {
        self.options
            .layout
            .or_else(|| self.pools.get(pool)?.layout())
    }

    fn host(&self) -> HostReport {
        let host = self.start.as_ref().map(|start| &start.host);
        HostReport {
            hostname: host.map(|h| h.hostname.clone()).unwrap_or_default(),
            kernel: host.map(|h| h.kernel.clone()).unwrap_or_default(),
            zfs_version: host.and_then(|h| h.zfs_version.clone()),
            known_defects: self.known_defects(),
        }
    }

    /// Defects of the host's ZFS that bear on the zvols that are traced.
    fn known_defects(&self) -> Vec<String> {
        let zvols = self.devices.iter().map(|state| &state.device);
        let modes: Vec<Mode> = zvols
            .filter(|device| device.dataset.is_some())
            .map(|device| device.mode)
            .collect();
        self.start
            .as_ref()
            .map(|start| known_defects(&start.host, &modes))
            .unwrap_or_default()
            .iter()
            .map(Defect::text)
            .collect()
    }

    fn capture(&self, events: EventCounts) -> Capture {
        let duration_ns = self.duration_ns();
        let incomplete_reasons = incomplete_reasons(&Course {
            source: self.source,
            start: self.start.as_ref(),
            end: self.end.as_ref(),
            duration_ns,
            counts: &events,
            lost: &self.lost,
            devices_refused: self.devices_refused,
            events_of_no_device: self.events_of_no_device,
            devices_not_analysed: self.devices_not_analysed.len() as u64,
        });
        let start = self.start.as_ref();
        Capture {
            source: self.source,
            args: start.map(|s| s.args.clone()).unwrap_or_default(),
            started: rfc3339(start.map_or(0, |s| s.started_unix_ns)),
            requested_ns: start.and_then(|s| s.requested_ns),
            duration_ns,
            complete: incomplete_reasons.is_empty(),
            incomplete_reasons,
            clock: start.map(|s| s.clock.clone()).unwrap_or_default(),
            events,
            overhead: self
                .end
                .as_ref()
                .and_then(|end| end.overhead)
                .unwrap_or_default(),
        }
    }

    /// A device's report without its verdict, and what the rules need beside it.
    fn device_report(&self, state: &DeviceState) -> (DeviceReport, Insight) {
        let device = &state.device;
        let since_start = |at_ns: u64| at_ns.saturating_sub(self.started_ns());
        let clock = clock_of(&self.pools, state);
        let layout = pool_of(device).map_or(self.options.layout, |pool| self.layout_of(pool));
        let axes = state.axes(&AxesContext {
            options: &self.options,
            observed_ns: self.observed_ns(device, state.vanished_ns),
            bounds: self.bounds(),
            clock,
            layout,
            count_open_group: self.end.is_some() || self.source != SourceKind::Live,
        });
        let report = DeviceReport {
            device: device.name.clone(),
            major: device.major,
            minor: device.minor,
            dataset: device.dataset.clone(),
            vm: device.dataset.as_deref().and_then(vm_of),
            mode: device.mode,
            volblocksize_bytes: device.volblocksize_bytes,
            size_bytes: device.size_bytes,
            appeared_ns: device.appeared_ns.map(since_start),
            vanished_ns: state.vanished_ns.map(since_start),
            lost: state.counters().ring_lost,
            submitted: state.submitted(),
            outstanding: state.outstanding(),
            ops: state.ops(),
            sync: state.sync(),
            flush: state.flush(),
            concurrency: Some(axes.concurrency),
            access: Some(axes.access),
            alignment: Some(axes.alignment),
            amplification: axes.amplification,
            candidates: Some(axes.candidates),
            submitters: state.submitters(),
            verdict: Verdict::none(),
            findings: Vec::new(),
        };
        let insight = Insight {
            source: Some(self.source),
            layout,
            objset: self.objset_of(device),
            known_defects: self
                .start
                .as_ref()
                .filter(|_| device.dataset.is_some())
                .map(|start| known_defects(&start.host, &[device.mode]))
                .unwrap_or_default(),
            ..axes.insight
        };
        (report, insight)
    }

    /// How long a device was there during the capture, ns.
    fn observed_ns(&self, device: &Device, vanished_ns: Option<u64>) -> u64 {
        let started_ns = self.started_ns();
        let until_ns = vanished_ns.unwrap_or(started_ns + self.duration_ns());
        let from_ns = device.appeared_ns.unwrap_or(started_ns).max(started_ns);
        until_ns.saturating_sub(from_ns)
    }

    fn objset_of(&self, device: &Device) -> Option<Objset> {
        self.pools
            .get(pool_of(device)?)?
            .counted(device.dataset.as_deref()?)
    }
}

/// Wall-clock time in RFC 3339, UTC.
fn rfc3339(unix_ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_string()
}

//! The load: 4K random writes by fio, and the disks it runs on.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use zvoltrace_tests::loop_device::LoopDevice;
use zvoltrace_tests::zram_device::ZramDevice;

use crate::process;

/// Size of a disk.
const DISK_BYTES: u64 = 256 << 20;

/// A disk and how it is loaded.
pub(crate) enum Disk {
    /// Bio mode, one write at a time (psync).
    Zram(ZramDevice),
    /// blk-mq, 16 writes at a time (libaio).
    Loop(LoopDevice),
}

impl Disk {
    pub(crate) fn zram() -> Result<Self> {
        Ok(Self::Zram(ZramDevice::new(DISK_BYTES)?))
    }

    pub(crate) fn looped() -> Result<Self> {
        Ok(Self::Loop(LoopDevice::new(DISK_BYTES)?))
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Zram(disk) => disk.name(),
            Self::Loop(disk) => disk.name().to_owned(),
        }
    }

    /// Tracepoints that zvoltrace attaches to on such a disk and that fire there.
    pub(crate) fn tracepoints(&self) -> &'static [&'static str] {
        match self {
            Self::Zram(_) => &["block_bio_queue", "block_bio_complete"],
            Self::Loop(_) => &["block_bio_queue", "block_rq_issue", "block_rq_complete"],
        }
    }

    /// Writes for so long, from `jobs` processes.
    pub(crate) fn write(&self, seconds: u32, jobs: u32) -> Result<Written> {
        let (engine, depth) = match self {
            Self::Zram(_) => ("psync", 1),
            Self::Loop(_) => ("libaio", 16),
        };
        let json = process::output(process::tied("fio").args([
            "--name=bench",
            &format!("--filename=/dev/{}", self.name()),
            &format!("--ioengine={engine}"),
            &format!("--iodepth={depth}"),
            &format!("--numjobs={jobs}"),
            &format!("--size={DISK_BYTES}"),
            &format!("--runtime={seconds}"),
            "--time_based",
            "--rw=randwrite",
            "--bs=4k",
            "--direct=1",
            "--norandommap",
            "--group_reporting",
            "--output-format=json",
        ]))?;
        let output: Output = serde_json::from_str(&json).context("fio printed something else")?;
        let written = output
            .jobs
            .into_iter()
            .next()
            .context("fio ran no job")?
            .write;
        ensure!(written.total_ios > 0, "fio wrote nothing");
        Ok(written)
    }
}

#[derive(Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    write: Written,
}

/// What fio says of its writes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Written {
    pub(crate) iops: f64,
    pub(crate) total_ios: u64,
    lat_ns: Latency,
    clat_ns: Latency,
}

#[derive(Clone, Debug, Deserialize)]
struct Latency {
    mean: f64,
    #[serde(default)]
    percentile: std::collections::BTreeMap<String, f64>,
}

impl Written {
    /// Mean latency, ns.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.lat_ns.mean
    }

    /// 99th percentile of the latency, ns.
    pub(crate) fn p99_ns(&self) -> f64 {
        self.clat_ns
            .percentile
            .get("99.000000")
            .copied()
            .unwrap_or(0.0)
    }
}

//! The measurements. What is compared runs in turn within one run, first in one order and then
//! in the other, and of many short runs the median counts: a machine's speed changes by the
//! minute, so nothing is ever compared with another run's number.

use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::load::{Disk, Written};
use super::stats::{self, Kept};
use super::tracer::Tracer;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Runs of each tracer.
    pub(crate) rounds: usize,
    /// Length of a run.
    pub(crate) seconds: u32,
    /// Length of the runs whose losses count.
    pub(crate) long_seconds: u32,
    /// Most devices at once.
    pub(crate) devices: usize,
}

/// What a tracer did to a load: medians.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    /// Time in its programs, ns an I/O of the load.
    pub(crate) kernel_ns: f64,
    /// I/Os per second of the load.
    pub(crate) iops: f64,
    /// Mean latency of the load, ns.
    pub(crate) mean_ns: f64,
    /// 99th percentile of it, ns.
    pub(crate) p99_ns: f64,
}

/// Runs the load under each tracer in turn.
pub(crate) fn side_by_side(
    disk: &Disk,
    tracers: &[Tracer<'_>],
    with_stats: bool,
    effort: Effort,
) -> Result<Vec<Effect>> {
    let _kept = with_stats.then(Kept::start).transpose()?;
    disk.write(effort.seconds, 1).context("cannot warm up")?;
    let mut runs = vec![Vec::new(); tracers.len()];
    for round in 0..effort.rounds {
        for turn in 0..tracers.len() {
            let index = if round % 2 == 0 {
                turn
            } else {
                tracers.len() - 1 - turn
            };
            runs[index].push(under(disk, &tracers[index], effort.seconds)?);
        }
    }
    Ok(runs.iter().map(|of_one| medians(of_one)).collect())
}

fn under(disk: &Disk, tracer: &Tracer<'_>, seconds: u32) -> Result<Effect> {
    let known = stats::programs()?;
    let running = tracer.start()?;
    let before = stats::programs()?;
    let written = disk.write(seconds, 1)?;
    let after = stats::programs()?;
    running.end()?;
    let (ns, _) = stats::run_between(&known, &before, &after);
    Ok(Effect {
        kernel_ns: per(ns, written.total_ios),
        iops: written.iops,
        mean_ns: written.mean_ns(),
        p99_ns: written.p99_ns(),
    })
}

fn medians(runs: &[Effect]) -> Effect {
    let of = |value: fn(&Effect) -> f64| median(runs.iter().map(value).collect());
    Effect {
        kernel_ns: of(|run| run.kernel_ns),
        iops: of(|run| run.iops),
        mean_ns: of(|run| run.mean_ns),
        p99_ns: of(|run| run.p99_ns),
    }
}

/// The median; 0 of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
fn per(total: u64, count: u64) -> f64 {
    if count == 0 {
        0.0
    } else {
        total as f64 / count as f64
    }
}

/// A capture under full load on several disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasting {
    /// I/Os per second over all disks.
    pub(crate) iops: f64,
    /// I/Os completed.
    pub(crate) completed: u64,
    /// Of these, whose event is missing.
    pub(crate) lost: u64,
    /// Time of the process for each, ns, its start and end left out.
    pub(crate) user_ns: f64,
    /// Most memory it had, bytes, the ring left out.
    pub(crate) resident_bytes: u64,
}

/// Captures while every disk is written to as fast as it goes.
pub(crate) fn lasting(
    binary: &Path,
    disks: &[Disk],
    seconds: u32,
    ring_bytes: u64,
    more: &[&str],
) -> Result<Lasting> {
    let names: Vec<String> = disks.iter().map(Disk::name).collect();
    let mut arguments: Vec<&str> = more.to_vec();
    for name in &names[1..] {
        arguments.extend(["--device", name]);
    }
    let tracer = Tracer::Zvoltrace {
        binary,
        disk: &names[0],
        more: &arguments,
    };
    // As long as the other, so that its looks at idle disks are in both.
    let idle = tracer.start()?;
    thread::sleep(std::time::Duration::from_secs(u64::from(seconds.min(10))));
    let idle_ns = number(&report(idle.end()?)?, "/capture/overhead/user_cpu_ns")?;

    let running = tracer.start()?;
    let written: Vec<Written> = thread::scope(|scope| {
        let jobs: Vec<_> = disks
            .iter()
            .map(|disk| scope.spawn(move || disk.write(seconds, 1)))
            .collect();
        jobs.into_iter()
            .map(|job| {
                job.join()
                    .unwrap_or_else(|_| anyhow::bail!("a load panicked"))
            })
            .collect::<Result<_>>()
    })?;
    let report = report(running.end()?)?;
    let completed = number(&report, "/capture/events/completed")?;
    let user_ns = number(&report, "/capture/overhead/user_cpu_ns")?;
    Ok(Lasting {
        iops: written.iter().map(|written| written.iops).sum(),
        completed,
        lost: number(&report, "/capture/events/lost")?,
        user_ns: per(user_ns.saturating_sub(idle_ns), completed),
        resident_bytes: number(&report, "/capture/overhead/max_rss_bytes")?
            .saturating_sub(ring_bytes),
    })
}

fn report(report: Option<Value>) -> Result<Value> {
    report.context("zvoltrace printed no report")
}

fn number(report: &Value, pointer: &str) -> Result<u64> {
    report
        .pointer(pointer)
        .and_then(Value::as_u64)
        .with_context(|| format!("the report has no {pointer}"))
}

/// From the start of the process to the line that says that it traces, ms.
pub(crate) fn start_ms(binary: &Path, disk: &Disk, rounds: usize) -> Result<f64> {
    let name = disk.name();
    let tracer = Tracer::Zvoltrace {
        binary,
        disk: &name,
        more: &[],
    };
    let mut times = Vec::new();
    for _ in 0..rounds {
        let since = Instant::now();
        let running = tracer.start()?;
        times.push(since.elapsed().as_secs_f64() * 1e3);
        running.end()?;
    }
    Ok(median(times))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }
}

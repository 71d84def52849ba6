//! Recovery from overload: the time in which frames are lost after the load has halved (26.5).

use ground::time::Duration;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::Limit;

use super::ThroughputRow;
use crate::trial::Runner;

/// Load of the overload, relative to the throughput.
const OVERLOAD: f64 = 1.1;

/// Parts of the time after the step, each with frames of its own.
const PARTS: u32 = 50;

/// Recovery for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RecoveryRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Overload in percent of the line.
    pub overload_percent: f64,
    /// True if frames were lost in the overload: else there was none.
    pub overloaded: bool,
    /// Mean time from the step to the last lost frame, in microseconds; 0 if none was lost. Absent
    /// if frames were lost until the end.
    pub mean_us: Option<f64>,
    /// Largest error of it: the length of a part of the time, in microseconds.
    pub uncertainty_us: f64,
    pub repeats: u32,
}

/// Measures the recovery; `None` for a device that loses nothing at the largest load, which the tester
/// cannot overload.
pub(super) fn run(
    runner: &mut Runner<'_>,
    throughput: &ThroughputRow,
    rate: f64,
) -> Result<Option<RecoveryRow>, Trouble> {
    let (plan, size) = (runner.plan, throughput.size);
    if throughput.irregular.is_some() {
        runner.note("recovery: not run for sizes whose throughput has no upper bound: no overload");
        return Ok(None);
    }
    let line = plan.line_rate(0, size);
    let overload = (OVERLOAD * rate / line).min(plan.max_share(size));
    let time = plan.recovery.duration;
    // A part has frames of every flow.
    let part = Duration::from_picos(time.as_picos() / u64::from(PARTS))
        .max(plan.frame_time(size).saturating_mul(20));
    let flows = plan.flows.len();
    let (mut sum, mut overloaded, mut endless) = (0.0, true, false);
    for _ in 0..plan.recovery.repeats {
        let what = format!("{size} bytes, recovery from {:.2} % of the line", overload * 100.0);
        let mut streams = runner.flows(size, overload, (Duration::ZERO, Limit::Time(time)));
        for n in 0..PARTS {
            let start = time + part.saturating_mul(n.into());
            streams.extend(runner.flows(size, overload / 2.0, (start, Limit::Time(part))));
        }
        let counted = runner.measure(what, &streams)?;
        let lost = |n: usize| {
            let of = &counted.samples[n * flows..(n + 1) * flows];
            of.iter().any(|sample| sample.lost() > 0)
        };
        overloaded &= lost(0);
        let last = (1..=PARTS).rev().find(|n| lost(*n as usize)).unwrap_or(0);
        endless |= last == PARTS;
        sum += f64::from(last) * part.as_secs_f64() * 1e6;
    }
    Ok(Some(RecoveryRow {
        size,
        overload_percent: overload * 100.0,
        overloaded,
        mean_us: (!endless).then(|| sum / f64::from(plan.recovery.repeats)),
        uncertainty_us: part.as_secs_f64() * 1e6,
        repeats: plan.recovery.repeats,
    }))
}

//! Back-to-back frames: the longest burst at line rate without loss (26.4, RFC 9004).

use serde::Serialize;
use validate::bench::Trouble;

use super::ThroughputRow;
use crate::trial::Runner;

/// Trials of a burst before it counts as too long: a loss may come from outside the device
/// (binary search with loss verification).
const VERIFIED: u32 = 2;

/// Bursts for a frame size, in frames of each flow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BurstRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub mean: f64,
    pub min: u32,
    pub max: u32,
    /// Standard deviation.
    pub deviation: f64,
    /// True if the longest burst that was tried lost nothing.
    pub at_limit: bool,
    /// Time of the mean burst at line rate, in microseconds: the implied buffer time.
    pub implied_us: f64,
    /// Buffer time without the frames that the device forwards meanwhile, in microseconds.
    pub corrected_us: f64,
    pub repeats: u32,
}

/// Searches for the longest burst; `None` for a device whose throughput is the line rate, of which
/// the burst says nothing (RFC 9004, section 4).
pub(super) fn run(
    runner: &mut Runner<'_>,
    throughput: &ThroughputRow,
) -> Result<Option<BurstRow>, Trouble> {
    let size = throughput.size;
    let Some(rate) = throughput.frames_per_second else { return Ok(None) };
    if throughput.irregular.is_some() {
        let what = "back-to-back: not run for sizes whose throughput has no upper bound (RFC 9004)";
        runner.note(what);
        return Ok(None);
    }
    let line = throughput.line_frames_per_second;
    let plan = runner.plan.back_to_back;
    let longest = (line * plan.duration.as_secs_f64()).clamp(1.0, f64::from(u32::MAX)) as u32;
    let mut bursts = Vec::new();
    for _ in 0..plan.repeats {
        bursts.push(search(runner, size, longest)?);
    }
    let count = bursts.len() as f64;
    let mean = bursts.iter().map(|n| f64::from(*n)).sum::<f64>() / count;
    let variance = bursts.iter().map(|n| (f64::from(*n) - mean).powi(2)).sum::<f64>() / count;
    let implied_us = mean / line * 1e6;
    Ok(Some(BurstRow {
        size,
        mean,
        min: bursts.iter().copied().min().unwrap_or(0),
        max: bursts.iter().copied().max().unwrap_or(0),
        deviation: variance.sqrt(),
        at_limit: bursts.contains(&longest),
        implied_us,
        corrected_us: implied_us - implied_us * rate / line,
        repeats: plan.repeats,
    }))
}

/// Returns the longest burst without loss, up to `longest`; 0 if a single frame is lost.
fn search(runner: &mut Runner<'_>, size: u32, longest: u32) -> Result<u32, Trouble> {
    if passes(runner, size, longest)? {
        return Ok(longest);
    }
    let (mut good, mut bad) = (0, longest);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        *(if passes(runner, size, middle)? { &mut good } else { &mut bad }) = middle;
    }
    Ok(good)
}

/// True if no frame of a burst is lost, in the first or in a verifying trial.
fn passes(runner: &mut Runner<'_>, size: u32, frames: u32) -> Result<bool, Trouble> {
    for _ in 0..VERIFIED {
        if runner.burst(size, frames)?.loss_ratio() == 0.0 {
            return Ok(true);
        }
        // A virtual device does the same again.
        if runner.is_exact() {
            break;
        }
    }
    Ok(false)
}

//! Throughput: the highest rate at which no frame is lost (26.1).

use serde::Serialize;
use validate::bench::Trouble;

use crate::mlrsearch::Irregular;
use crate::search;
use crate::trial::Runner;

/// Throughput for a frame size. Rates are those of the first flow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ThroughputRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Highest rate without loss that was found; absent if there was none.
    pub frames_per_second: Option<f64>,
    /// Lowest rate with loss that was found; absent if there was none.
    pub loss_at: Option<f64>,
    /// Rate of a full line.
    pub line_frames_per_second: f64,
    /// Absent if the two rates are as close as configured.
    pub irregular: Option<Irregular>,
    /// True if the device paused the tester at the highest rate without loss.
    pub paused: bool,
    pub trials: u64,
}

impl ThroughputRow {
    /// Returns true if no load that the tester sends is lost, up to the line rate.
    #[must_use]
    pub fn is_line_rate(&self) -> bool {
        self.frames_per_second.is_some_and(|rate| rate >= self.line_frames_per_second)
    }
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<ThroughputRow, Trouble> {
    let plan = runner.plan;
    let mut paused = Vec::new();
    let (result, trials) = search::rfc2544(runner, plan.max_rate(size), |runner, trial| {
        let sample = runner.at(size, trial.load, trial.duration)?;
        if sample.paused {
            paused.push(trial.load);
        }
        Ok((sample.intended, sample.forwarded))
    })?;
    let rate = result.lower.map(|bound| bound.load);
    Ok(ThroughputRow {
        size,
        frames_per_second: rate,
        loss_at: result.upper.map(|bound| bound.load),
        line_frames_per_second: plan.line_rate(0, size),
        irregular: result.irregular,
        paused: rate.is_some_and(|rate| paused.contains(&rate)),
        trials,
    })
}

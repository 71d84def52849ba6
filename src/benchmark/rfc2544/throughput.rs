//! Throughput: the highest rate at which no frame is lost (26.1).

use serde::Serialize;
use validate::bench::Trouble;

use crate::mlrsearch::{Config, Goal, Irregular, Measured, Search};
use crate::trial::Runner;

/// Smallest load of the search, as a share of the largest.
const LEAST: f64 = 0.001;

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
    let max_load = plan.max_rate(size);
    let config = Config {
        goals: vec![Goal::rfc2544(plan.trial, plan.width)],
        min_load: max_load * LEAST,
        max_load,
        preceding_targets: 2,
        search_duration: None,
    };
    let mut search = Search::new(&config).map_err(|error| Trouble::Error(error.to_string()))?;
    let mut paused = Vec::new();
    while let Some(trial) = search.next() {
        let sample = runner.at(size, trial.load, trial.duration)?;
        if sample.paused {
            paused.push(trial.load);
        }
        let forwarded = sample.forwarded.min(sample.intended);
        let measured = Measured { duration: trial.duration, expected: sample.intended, forwarded };
        search.told(measured).map_err(|error| Trouble::Error(error.to_string()))?;
    }
    let [result] = &search.results()[..] else { unreachable!("one goal has one result") };
    let rate = result.lower.map(|bound| bound.load);
    Ok(ThroughputRow {
        size,
        frames_per_second: rate,
        loss_at: result.upper.map(|bound| bound.load),
        line_frames_per_second: plan.line_rate(0, size),
        irregular: result.irregular,
        paused: rate.is_some_and(|rate| paused.contains(&rate)),
        trials: search.trials(),
    })
}

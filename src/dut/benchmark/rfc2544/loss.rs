//! Frame loss by load (26.3).

use serde::Serialize;
use validate::bench::Trouble;

use crate::trial::Runner;

/// Loads in a row without loss that end the curve.
const CLEAN: u32 = 2;

/// The loss curve of a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LossRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// By falling load.
    pub points: Vec<LossPoint>,
}

/// A point of a loss curve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LossPoint {
    /// Load in percent of the line.
    pub load_percent: f64,
    /// Lost frames in percent of the intended ones; frames that were held back because of pauses
    /// are lost, too.
    pub loss_percent: f64,
    /// Frames that were held back.
    pub held_back: u64,
    pub lost: u64,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<LossRow, Trouble> {
    let plan = runner.plan;
    let (mut points, mut clean) = (Vec::new(), 0);
    let mut load = plan.max_share(size);
    while load > 0.0 && clean < CLEAN {
        let sample = runner.at(size, plan.line_rate(0, size) * load, plan.trial)?;
        points.push(LossPoint {
            load_percent: load * 100.0,
            loss_percent: sample.loss_ratio() * 100.0,
            held_back: sample.intended - sample.offered,
            lost: sample.lost(),
        });
        clean = if sample.loss_ratio() == 0.0 { clean + 1 } else { 0 };
        // The rounding of a sum of steps may leave a tiny load.
        load = ((load - plan.loss_step) * 1e9).round() / 1e9;
    }
    Ok(LossRow { size, points })
}

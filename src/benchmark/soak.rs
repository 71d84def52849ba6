//! A soak: one load for a long time, in trials one after the other.

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::run::Run;
use crate::trial::{Latency, Runner};

/// Table of a soak.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    pub rows: Vec<SoakRow>,
}

/// A soak with a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SoakRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Load in percent of the line.
    pub load_percent: f64,
    /// Trials that were run.
    pub parts: Vec<SoakPart>,
    /// Change of the mean latency from trial to trial, by the least squares, in nanoseconds per hour
    /// of traffic: the delay of a leak of buffers. Absent with fewer than two trials.
    pub latency_slope_ns_per_hour: Option<f64>,
}

/// A trial of a soak.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SoakPart {
    /// Seconds of traffic before it.
    pub at_s: f64,
    pub offered: u64,
    pub lost: u64,
    /// Absent if nothing arrived.
    pub latency: Option<Latency>,
}

impl SoakRow {
    /// Returns the number of lost frames.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.parts.iter().map(|part| part.lost).sum()
    }
}

/// Runs the soak. An end by the user or a disturbance of the machine keeps the trials before it.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<Tables>, Option<Trouble>) {
    Run::of(Runner::new(plan, bench, progress), |runner, tables: &mut Tables| {
        for size in runner.plan.sizes.clone() {
            let (row, ended) = of_size(runner, size);
            tables.rows.push(row);
            runner.row("rows");
            ended.map_or(Ok(()), Err)?;
        }
        Ok(())
    })
}

fn of_size(runner: &mut Runner<'_>, size: u32) -> (SoakRow, Option<Trouble>) {
    let soak = runner.plan.soak;
    let load = runner.plan.line_rate(0, size) * soak.load;
    let (all, part) = (soak.duration.as_picos(), soak.interval.as_picos());
    let (mut parts, mut trouble) = (Vec::new(), None);
    for n in 0..(all / part).max(1) {
        match runner.at(size, load, soak.interval) {
            Ok(sample) => parts.push(SoakPart {
                at_s: n as f64 * soak.interval.as_secs_f64(),
                offered: sample.offered,
                lost: sample.lost(),
                latency: sample.latency,
            }),
            Err(why) => {
                trouble = Some(why);
                break;
            }
        }
    }
    let slope = slope(&parts).map(|per_second| per_second * 3600.0);
    let load_percent = soak.load * 100.0;
    (SoakRow { size, load_percent, parts, latency_slope_ns_per_hour: slope }, trouble)
}

/// Returns the slope of the mean latency over time, in nanoseconds per second.
fn slope(parts: &[SoakPart]) -> Option<f64> {
    let points: Vec<(f64, f64)> =
        parts.iter().filter_map(|part| Some((part.at_s, part.latency?.mean_ns))).collect();
    if points.len() < 2 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let both: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    Some(both / spread)
}

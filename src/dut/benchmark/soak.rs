//! A soak: one load for a long time, in trials one after the other.

use serde::Serialize;
use validate::bench::{Capability, TrialError};

use crate::run::{Procedure, Run};
use crate::table;
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
    /// Growth of the memory that the device uses, by the least squares, in bytes per hour of traffic. Absent with
    /// fewer than two known values.
    pub memory_slope_bytes_per_hour: Option<f64>,
    /// True if that is more than 1 MB/h. Absent if it is not judged: with fewer than ten values, or less than an
    /// hour.
    pub memory_leak: Option<bool>,
}

/// Growth of memory that is a leak, in bytes per hour (draft-calabria-bmwg-ai-fabric-training-bench).
const LEAK: f64 = 1e6;

/// Least number of values, and seconds between the first and the last, that tell a leak from a warm-up.
const JUDGED: (usize, f64) = (10, 3600.0);

/// A trial of a soak.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SoakPart {
    /// Seconds of traffic before it.
    pub at_s: f64,
    pub offered: u64,
    pub lost: u64,
    /// Absent if nothing arrived.
    pub latency: Option<Latency>,
    /// Memory that the device uses after it, in bytes; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl SoakRow {
    /// Returns the number of lost frames.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.parts.iter().map(|part| part.lost).sum()
    }
}

impl Procedure for Tables {
    const NAME: &'static str = "soak";
    type Test = ();

    /// An end by the user or a disturbance of the machine keeps the trials before it.
    fn fill(&mut self, runner: &mut Runner<'_>, _: &[()]) -> Result<(), TrialError> {
        for size in runner.plan.sizes.clone() {
            let (row, ended) = soak(runner, size);
            // A soak that was ended early still tells of the hours before.
            runner.add("rows", &mut self.rows, [row]);
            ended.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn text(run: &Run<Self>) -> String {
        table::soak(run)
    }
}

fn soak(runner: &mut Runner<'_>, size: u32) -> (SoakRow, Option<TrialError>) {
    let soak = runner.plan.soak;
    let load = runner.plan.line_rate(0, size) * soak.load;
    let (all, part) = (soak.duration.as_picos(), soak.interval.as_picos());
    let (mut parts, mut trouble) = (Vec::new(), None);
    // Whole parts only: a shorter one at the end would weigh as much in the slope.
    for n in 0..(all / part).max(1) {
        let at_s = n as f64 * soak.interval.as_secs_f64();
        let one = runner.offer(size, load, soak.interval);
        // After the trial: while frames pass, buffers in use would look like growth.
        let one = one.and_then(|sample| Ok((sample, runner.memory()?)));
        match one {
            Ok((sample, memory_bytes)) => parts.push(SoakPart {
                at_s,
                offered: sample.offered,
                lost: sample.lost(),
                latency: sample.latency,
                memory_bytes,
            }),
            Err(why) => {
                trouble = Some(why);
                break;
            }
        }
    }
    if !runner.has(Capability::Memory) {
        runner.note("memory: not judged; add `adapter.command.memory` to the DUT file");
    }
    (SoakRow::new(size, soak.load, parts), trouble)
}

impl SoakRow {
    fn new(size: u32, load: f64, parts: Vec<SoakPart>) -> Self {
        let mean = |part: &SoakPart| Some((part.at_s, part.latency?.mean_ns));
        let memory = |part: &SoakPart| Some((part.at_s, part.memory_bytes? as f64));
        let latencies: Vec<_> = parts.iter().filter_map(mean).collect();
        let memories: Vec<_> = parts.iter().filter_map(memory).collect();
        let per_hour = |points: &[(f64, f64)]| slope(points).map(|per_second| per_second * 3600.0);
        let growth = per_hour(&memories);
        let span = memories.first().zip(memories.last()).map_or(0.0, |(a, b)| b.0 - a.0);
        // A device that has just started grows for a while without a leak.
        let judged = memories.len() >= JUDGED.0 && span >= JUDGED.1;
        Self {
            size,
            load_percent: load * 100.0,
            latency_slope_ns_per_hour: per_hour(&latencies),
            memory_slope_bytes_per_hour: growth,
            memory_leak: growth.filter(|_| judged).map(|growth| growth > LEAK),
            parts,
        }
    }
}

/// Returns the slope of values over time in seconds; `None` with fewer than two.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a soak of 61 or fewer minutes with a growth of memory in bytes per hour.
    fn with(growth: f64, minutes: usize) -> SoakRow {
        let part = |n: usize| SoakPart {
            at_s: n as f64 * 60.0,
            offered: 1,
            lost: 0,
            latency: None,
            memory_bytes: Some((5e8 + growth * n as f64 / 60.0) as u64),
        };
        SoakRow::new(512, 0.8, (0..minutes).map(part).collect())
    }

    #[test]
    fn memory_that_grows_by_more_than_a_megabyte_in_an_hour_is_a_leak() {
        for (growth, leak) in [(0.0, false), (9e5, false), (1.1e6, true), (-5e6, false)] {
            let row = with(growth, 61);
            let slope = row.memory_slope_bytes_per_hour.unwrap();
            assert!((slope - growth).abs() < 10.0 && row.memory_leak == Some(leak), "{row:?}");
        }
    }

    #[test]
    fn a_short_soak_and_one_without_values_are_not_judged() {
        assert_eq!(with(1e9, 60).memory_leak, None);
        let mut row = with(1e9, 61);
        for part in row.parts.iter_mut().skip(1) {
            part.memory_bytes = None;
        }
        let one = SoakRow::new(512, 0.8, row.parts);
        assert_eq!((one.memory_slope_bytes_per_hour, one.memory_leak), (None, None));
    }
}

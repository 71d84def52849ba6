//! Benchmarks of RFC 2544, section 26, with RFC 9004's back-to-back test.

mod back_to_back;
mod latency;
mod loss;
mod recovery;
mod reset;
mod throughput;

pub use back_to_back::BurstRow;
pub use latency::{LatencyRow, LoadRow};
pub use loss::{LossPoint, LossRow};
pub use recovery::RecoveryRow;
pub use reset::ResetRow;
pub use throughput::ThroughputRow;

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::run::Run;
use crate::trial::Runner;

/// A test of section 26.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// 26.1.
    Throughput,
    /// 26.2.
    Latency,
    /// At parts of the throughput, as FD.io CSIT does.
    LatencyByLoad,
    /// 26.3.
    Loss,
    /// 26.4, as updated by RFC 9004.
    BackToBack,
    /// 26.5.
    Recovery,
    /// 26.6, as updated by RFC 6201.
    Reset,
}

impl Test {
    pub const ALL: [Self; 7] = [
        Self::Throughput,
        Self::Latency,
        Self::LatencyByLoad,
        Self::Loss,
        Self::BackToBack,
        Self::Recovery,
        Self::Reset,
    ];
}

/// Tables of results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throughput: Vec<ThroughputRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_by_load: Vec<LoadRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loss: Vec<LossRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub back_to_back: Vec<BurstRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<RecoveryRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<ResetRow>,
}

/// Runs the selected tests. All but the loss curve begin with the throughput, which is searched for
/// first and is part of the results then; a reset with that of the smallest size alone.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run(
    plan: &Plan,
    tests: &[Test],
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<Tables>, Option<Trouble>) {
    Run::of(Runner::new(plan, bench, progress), |runner, tables| all(runner, tests, tables))
}

fn all(runner: &mut Runner<'_>, tests: &[Test], tables: &mut Tables) -> Result<(), Trouble> {
    let wants = |test| tests.contains(&test);
    let smallest = runner.plan.sizes.iter().copied().min();
    for size in runner.plan.sizes.clone() {
        let needs_throughput = |test: &Test| match test {
            Test::Loss => false,
            Test::Reset => smallest == Some(size),
            _ => true,
        };
        if tests.iter().any(needs_throughput) {
            let row = throughput::run(runner, size)?;
            runner.row("throughput");
            tables.throughput.push(row);
            let found = row.frames_per_second;
            match found {
                Some(rate) => {
                    if wants(Test::Latency) {
                        tables.latency.push(latency::run(runner, size, rate)?);
                        runner.row("latency");
                    }
                    if wants(Test::LatencyByLoad) {
                        tables.latency_by_load.extend(latency::by_load(runner, size, rate)?);
                    }
                    if wants(Test::BackToBack) {
                        let found = back_to_back::run(runner, &row)?;
                        runner.rows("back_to_back", found.iter().count());
                        tables.back_to_back.extend(found);
                    }
                    if wants(Test::Recovery) {
                        let found = recovery::run(runner, &row, rate)?;
                        runner.rows("recovery", found.iter().count());
                        tables.recovery.extend(found);
                    }
                    if wants(Test::Reset) && smallest == Some(size) {
                        tables.reset = reset::run(runner, size, rate)?;
                    }
                }
                None => runner.note(format!(
                    "{size} bytes: no load without loss was found, so nothing else was measured"
                )),
            }
        }
        if wants(Test::Loss) {
            tables.loss.push(loss::run(runner, size)?);
            runner.row("loss");
        }
    }
    Ok(())
}

//! Benchmarks of data-centre switches: RFC 8239, with the terms of RFC 8238.

pub(crate) mod buffer;
pub(crate) mod holb;
mod incast;
mod line_rate;
mod microburst;

pub use buffer::BufferRow;
pub use holb::HolbRow;
pub use incast::IncastRow;
pub use line_rate::LineRateRow;
pub use microburst::MicroburstRow;

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::took::Took;
use crate::trial::Runner;

/// A test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Section 2.
    LineRate,
    /// Section 3.
    Buffer,
    /// Section 4.
    Microburst,
    /// Section 5.
    Holb,
    /// Section 6.
    Incast,
}

impl Test {
    pub const ALL: [Self; 5] =
        [Self::LineRate, Self::Buffer, Self::Microburst, Self::Holb, Self::Incast];
}

/// Results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Results {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line_rate: Vec<LineRateRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffer: Vec<BufferRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub microburst: Vec<MicroburstRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holb: Vec<HolbRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incast: Vec<IncastRow>,
    /// Durations of the rows.
    pub took: Vec<Took>,
    /// Number of trials.
    pub trials: u64,
    /// Remarks about the numbers, once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Reason why the run ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// Runs the selected tests on all ports of the DUT file that have its common rate.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run(
    plan: &Plan,
    tests: &[Test],
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Results, Option<Trouble>) {
    let mut results = Results::default();
    let mut runner = Runner::new(plan, bench, progress);
    let trouble = all(&mut runner, tests, &mut results).err();
    results.trials = runner.trials;
    results.notes = runner.notes;
    results.took = runner.took;
    results.ended = trouble.as_ref().map(ToString::to_string);
    (results, trouble)
}

fn all(runner: &mut Runner<'_>, tests: &[Test], results: &mut Results) -> Result<(), Trouble> {
    for test in tests {
        for size in runner.plan.sizes.clone() {
            match test {
                Test::LineRate => results.line_rate.extend(line_rate::run(runner, size)?),
                Test::Buffer => results.buffer.extend(buffer::run(runner, size)?),
                Test::Microburst => results.microburst.extend(microburst::run(runner, size)?),
                Test::Holb => results.holb.extend(holb::run(runner, size)?),
                Test::Incast => results.incast.extend(incast::run(runner, size)?),
            }
        }
    }
    Ok(())
}

/// Returns true if there are enough ports for a test, else adds a note.
fn has(runner: &mut Runner<'_>, test: &str, least: usize) -> bool {
    let ports = runner.plan.equal_ports();
    if ports < least {
        runner.note(format!(
            "{test}: not run; it needs {least} ports of one rate, there are {ports}"
        ));
    }
    ports >= least
}

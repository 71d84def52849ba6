//! Benchmarks of data-centre switches: RFC 8239, with the terms of RFC 8238.

pub(crate) mod buffer;
pub(crate) mod holb;
mod incast;
mod line_rate;
mod microburst;

pub use buffer::BufferRow;
pub use holb::{HolbRow, Split};
pub use incast::IncastRow;
pub use line_rate::LineRateRow;
pub use microburst::MicroburstRow;

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::run::Run;
use crate::trial::Runner;

/// Ports of the smallest device for the whole set of tests.
const PORTS: usize = 9;

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

/// Tables of results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
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
}

/// Runs the selected tests on all ports of the DUT file that have its common rate.
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
    let ports = runner.plan.equal_ports();
    if ports < PORTS {
        runner.note(format!(
            "RFC 8239 asks for {PORTS} ports of one rate or more, there are {ports}"
        ));
    }
    for test in tests {
        if *test == Test::Buffer {
            buffer::run(runner, &mut tables.buffer)?;
            continue;
        }
        for size in runner.plan.sizes.clone() {
            match test {
                Test::LineRate => tables.line_rate.extend(line_rate::run(runner, size)?),
                Test::Buffer => {}
                Test::Microburst => tables.microburst.extend(microburst::run(runner, size)?),
                Test::Holb => tables.holb.extend(holb::run(runner, size)?),
                Test::Incast => tables.incast.extend(incast::run(runner, size)?),
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

//! Benchmarks of LAN switches: RFC 2889, with the terms of RFC 2285.

mod addresses;
mod congestion;
mod errors;
mod forwarding;
mod pressure;

pub use addresses::{AddressRow, BroadcastRow};
pub use congestion::CongestionRow;
pub use errors::ErrorRow;
pub use forwarding::{ForwardingPoint, ForwardingRow};
pub use pressure::PressureRow;

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::run::Run;
use crate::trial::Runner;

/// A test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Sections 5.1 and 5.3: fully and partially meshed.
    Mesh,
    /// Section 5.5: congestion control.
    Congestion,
    /// Section 5.6: forward pressure.
    Pressure,
    /// Sections 5.7 and 5.8: address caching capacity, and address learning rate.
    Addresses,
    /// Section 5.9: errored frames.
    Errors,
    /// Section 5.10: forwarding of broadcast frames.
    Broadcast,
}

impl Test {
    pub const ALL: [Self; 6] = [
        Self::Mesh,
        Self::Congestion,
        Self::Pressure,
        Self::Addresses,
        Self::Errors,
        Self::Broadcast,
    ];
}

/// Tables of results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mesh: Vec<ForwardingRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pressure: Vec<PressureRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broadcast: Vec<BroadcastRow>,
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
    for test in tests {
        // These have frame sizes of their own.
        match test {
            Test::Addresses => {
                let found = addresses::run(runner)?;
                runner.rows("addresses", found.iter().count());
                tables.addresses.extend(found);
            }
            Test::Errors => tables.errors = errors::run(runner)?,
            Test::Mesh | Test::Congestion | Test::Pressure | Test::Broadcast => {}
        }
        if matches!(test, Test::Addresses | Test::Errors) {
            continue;
        }
        for size in runner.plan.sizes.clone() {
            match test {
                Test::Mesh => tables.mesh.extend(forwarding::run(runner, size)?),
                Test::Congestion => tables.congestion.extend(congestion::run(runner, size)?),
                Test::Broadcast => {
                    let found = addresses::broadcast(runner, size)?;
                    runner.rows("broadcast", found.iter().count());
                    tables.broadcast.extend(found);
                }
                Test::Pressure => {
                    let found = pressure::run(runner, size)?;
                    runner.rows("pressure", found.iter().count());
                    tables.pressure.extend(found);
                }
                Test::Addresses | Test::Errors => {}
            }
        }
    }
    Ok(())
}

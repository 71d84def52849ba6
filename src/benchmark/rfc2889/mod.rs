//! Benchmarks of LAN switches: RFC 2889, with the terms of RFC 2285.

mod addresses;
mod congestion;
mod forwarding;

pub use addresses::{AddressRow, BroadcastRow};
pub use congestion::CongestionRow;
pub use forwarding::{ForwardingPoint, ForwardingRow};

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::plan::Plan;
use crate::trial::Runner;

/// A test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Sections 5.1 and 5.3: fully and partially meshed.
    Mesh,
    /// Section 5.5: congestion control.
    Congestion,
    /// Sections 5.7 and 5.8: address caching capacity, and address learning rate.
    Addresses,
    /// Section 5.10: forwarding of broadcast frames.
    Broadcast,
}

impl Test {
    pub const ALL: [Self; 4] = [Self::Mesh, Self::Congestion, Self::Addresses, Self::Broadcast];
}

/// Results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Results {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mesh: Vec<ForwardingRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broadcast: Vec<BroadcastRow>,
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
    results.ended = trouble.as_ref().map(ToString::to_string);
    (results, trouble)
}

fn all(runner: &mut Runner<'_>, tests: &[Test], results: &mut Results) -> Result<(), Trouble> {
    for test in tests {
        // Addresses are learnt alike from frames of all sizes.
        if *test == Test::Addresses {
            results.addresses.extend(addresses::run(runner)?);
            continue;
        }
        for size in runner.plan.sizes.clone() {
            match test {
                Test::Mesh => results.mesh.extend(forwarding::run(runner, size)?),
                Test::Congestion => results.congestion.extend(congestion::run(runner, size)?),
                Test::Broadcast => results.broadcast.extend(addresses::broadcast(runner, size)?),
                Test::Addresses => {}
            }
        }
    }
    Ok(())
}

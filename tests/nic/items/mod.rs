//! The items, each of which is tried on every model.

mod frames;
mod links;
mod opening;
mod programs;
mod stamps;

use crate::model::Pair;
use crate::outcome::Outcome;

/// An item: its name and its test. The test returns what the driver answered.
type Item = (&'static str, fn(&Pair) -> anyhow::Result<String>);

/// All items, in the order of their tests.
const ITEMS: [Item; 23] = [
    ("open", opening::open),
    ("absent", opening::absent),
    ("kernel-bound", opening::kernel_bound),
    ("mac-control", frames::mac_control),
    ("mac-control-unicast-only", frames::mac_control_without_promiscuous),
    ("flow-control-off", frames::flow_control_off),
    ("link", links::link),
    ("rings", links::rings),
    ("jumbo", frames::jumbo),
    ("vlan", frames::vlan),
    ("statistics", links::statistics),
    ("restart", links::restart),
    ("hardware-pfc", opening::hardware_pfc),
    ("doctor", programs::doctor),
    ("selftest", programs::selftest),
    ("generator", programs::generator),
    ("storm", programs::storm),
    ("switch", programs::switch),
    ("round-trip", programs::round_trip),
    ("ptp", programs::ptp),
    ("stamps", stamps::plain),
    ("stamps-ieee1588", stamps::stamping),
    ("stamps-measured", stamps::measured),
];

/// Names of the items.
pub fn names() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().map(|(name, _)| *name)
}

/// Runs an item on the pair of a model.
pub fn run(name: &str, model: &str) -> Outcome {
    let Some((_, test)) = ITEMS.iter().find(|(item, _)| *item == name) else {
        return Outcome::Failed(format!("there is no item {name}"));
    };
    Outcome::of(Pair::of(model).and_then(|pair| test(&pair)))
}

//! Runs a lab of the swarm with all checkers.

#[cfg(test)]
pub(super) use labrun::trial::Watch;
pub use labrun::trial::{Failure, Faults, Trial};

use crate::{raw, resolve_raw};
use labrun::trial;
use sim::{Network, NetworkPlan};

pub fn run(lab: &raw::Lab) -> Trial {
    run_with(lab, |_| (), |_| ())
}

/// Runs a lab in which `plan` has changed the plan, and `built` the network made of it; the
/// checkers know of neither.
pub(super) fn run_with(
    lab: &raw::Lab,
    mut plan: impl FnMut(&mut NetworkPlan),
    mut built: impl FnMut(&mut Network<trial::Watch>),
) -> Trial {
    match resolve_raw(lab) {
        Ok((resolved, _)) => trial::run(resolved, &mut plan, &mut built),
        Err(error) => Trial::failed("resolve", error.to_string()),
    }
}

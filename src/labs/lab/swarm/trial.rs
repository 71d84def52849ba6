//! Runs a lab of the swarm with all checkers.

#[cfg(test)]
pub(super) use labrun::trial::Watch;
pub use labrun::trial::{Defects, Failure, Faults, Trial};

use super::harm;
use crate::{Outcome, raw, resolve_raw};
use labrun::trial;
use sim::{Network, NetworkPlan};

/// Runs a lab without its defects, and judges what they do to it.
pub fn run(lab: &raw::Lab) -> Trial {
    run_changed(lab, |_| ())
}

/// Does the same with an altered outcome of the run with the defects.
pub(super) fn run_changed(lab: &raw::Lab, change: impl Fn(&mut Outcome)) -> Trial {
    let mut trial = run_with(lab, |_| (), |_| ());
    if trial.failures.is_empty() {
        trial::caught(|| {
            harm::judge(lab, &mut trial, change);
            trial
        })
    } else {
        trial
    }
}

/// Runs a lab without its defects, in which `plan` has changed the plan, and `built` the network made of it; the
/// checkers know of neither.
pub(super) fn run_with(
    lab: &raw::Lab,
    mut plan: impl FnMut(&mut NetworkPlan),
    mut built: impl FnMut(&mut Network<trial::Watch>),
) -> Trial {
    match resolve_raw(&harm::healthy(lab)) {
        Ok((resolved, _)) => trial::run(resolved, &mut plan, &mut built),
        Err(error) => Trial::failed("resolve", error.to_string()),
    }
}

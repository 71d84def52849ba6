//! Runs a lab of the swarm with all checkers, and judges the harm that a drawn defect does to it.
//!
//! Harm is judged by what the lab's hosts count, in comparison with the same lab and seed without the defect. No
//! checker has a part in it, so a harm that the lab's checks pass is one that a checker does not see.

use crate::raw::{self, DefectFault, Fault, FaultKind, Lab};
use crate::{FlowOutcome, Options, Outcome, World, resolve_raw};
use config::quantity::Span;
use ground::time::Duration;
use ground::verdict::Verdict;
use labrun::trial;
use sim::{Network, NetworkPlan};

#[cfg(test)]
pub(super) use labrun::trial::Watch;
pub use labrun::trial::{Defects, Failure, Faults, Trial};

/// Runs a lab without its defects, and judges what they do to it.
pub fn run(lab: &raw::Lab) -> Trial {
    run_changed(lab, |_| ())
}

/// Does the same with an altered outcome of the run with the defects.
pub(super) fn run_changed(lab: &raw::Lab, change: impl Fn(&mut Outcome)) -> Trial {
    let mut trial = run_with(lab, |_| (), |_| ());
    // A lab that fails without its defects has another bug, which a defect would only hide.
    if trial.failures.is_empty() {
        trial::caught(|| {
            judge(lab, &mut trial, change);
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
    match resolve_raw(&healthy(lab)) {
        Ok((resolved, _)) => trial::run(resolved, &mut plan, &mut built),
        Err(error) => Trial::failed("resolve", error.to_string()),
    }
}

/// The failing check of a lab that passes in spite of a harm.
const UNSEEN: &str = "unseen_defect";
/// How many times as long as without the defect a lab may take with it, and a time for lost resumptions.
const LONGER: u64 = 4;
const SPARE: Duration = Duration::from_millis(5);
/// Longest lab that is compared, for speed.
const LONGEST: Duration = Duration::from_millis(500);

fn defect(fault: &Fault) -> Option<&DefectFault> {
    match &fault.kind {
        Some(FaultKind::Defect(defect)) => Some(defect),
        _ => None,
    }
}

/// Returns the lab without its defects.
pub(super) fn healthy(lab: &Lab) -> Lab {
    let mut healthy = lab.clone();
    healthy.faults.retain(|fault| defect(fault).is_none());
    healthy
}

/// Runs a lab that has a defect, and adds to the trial of the same lab without it what the defect did.
/// `change` alters the outcome before it is judged.
pub(super) fn judge(lab: &Lab, trial: &mut Trial, change: impl Fn(&mut Outcome)) {
    let Some(defect) = lab.faults.iter().find_map(defect) else { return };
    trial.counts.defects.labs = 1;
    // A lab that does not end by itself has nothing to compare with.
    let Some(ended) = trial.ended.filter(|ended| *ended <= LONGEST) else {
        trial.counts.defects.not_compared = 1;
        return;
    };
    let most = ended.saturating_mul(LONGER) + SPARE;
    let of = |lab: &Lab| {
        // Default checks, and not those of the trial: the defect has to be found by what a user's lab has.
        let lab = Lab { duration: Some(Span(most)), checks: None, ..lab.clone() };
        let plan = resolve_raw(&lab).map_err(|error| error.to_string())?.0;
        let run = crate::run(&plan, World::Virtual, Options::default(), |_| ());
        Ok::<_, String>(run.map_err(|error| error.to_string())?.outcome)
    };
    let (good, mut bad) = match (of(&healthy(lab)), of(lab)) {
        (Ok(good), Ok(bad)) => (good, bad),
        (Err(detail), _) | (_, Err(detail)) => {
            trial.failures.push(Failure { check: "resolve", detail });
            return;
        }
    };
    change(&mut bad);
    let harm = Harm::between(&good, &bad);
    trial.counts.defects.harmful = u64::from(harm != Harm::default());
    trial.counts.defects.failed = u64::from(bad.verdict.is_fail());
    trial.counts.defects.not_judged = u64::from(!bad.verdict.is_fail() && !bad.verdict.is_pass());
    if let Some(what) = harm.unseen(&bad) {
        let kind = serde_json::to_value(defect.kind).unwrap_or_default();
        trial.failures.push(Failure {
            check: UNSEEN,
            detail: format!("{what}, with {kind} of {}", defect.on),
        });
    }
}

/// What hosts count more of with a defect than without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Harm {
    /// Frames of lossless flows that did not arrive.
    lost: u64,
    /// Frames that arrived twice, or in another order.
    repeated: u64,
    misordered: u64,
    /// Traffic that ends without the defect did not.
    stands: bool,
}

impl Harm {
    pub(crate) fn between(good: &Outcome, bad: &Outcome) -> Self {
        // Both runs have the flows of one file, in its order.
        let flows = || good.flows.iter().zip(&bad.flows);
        let more = |of: fn(&FlowOutcome) -> u64| -> u64 {
            flows().map(|(good, bad)| of(bad).saturating_sub(of(good))).sum()
        };
        // A connection repeats frames by itself.
        Self {
            lost: more(|flow| if flow.lossless { flow.loss_frames } else { 0 }),
            repeated: more(|flow| flow.transport.as_ref().map_or(flow.duplicate_frames, |_| 0)),
            misordered: more(|flow| flow.transport.as_ref().map_or(flow.reordered_frames, |_| 0)),
            stands: good.done && !bad.done,
        }
    }

    /// True if all frames arrived once, some of them in another order.
    #[cfg(test)]
    pub(crate) fn is_order_alone(self) -> bool {
        self.misordered > 0 && self == Self { misordered: self.misordered, ..Self::default() }
    }

    /// Returns the harm that passes; `None` if all is seen.
    pub(crate) fn unseen(self, bad: &Outcome) -> Option<String> {
        let passes = |name: &str| {
            let check = bad.checks.iter().find(|check| check.name == name);
            // A check that is not judged has not passed: it says that it has not seen everything.
            check.is_none_or(|check| check.verdict.is_pass())
        };
        let whole = bad.verdict == Verdict::Pass;
        [
            (self.lost, "lossless", "frames of lossless flows were lost"),
            (self.repeated, "conservation", "frames arrived twice"),
        ]
        .into_iter()
        .find(|(n, check, _)| *n > 0 && passes(check))
        .map(|(n, check, what)| format!("{n} {what}, and `{check}` passes"))
        .or_else(|| {
            let what =
                format!("{} frames arrived in another order, and the lab passes", self.misordered);
            (whole && self.misordered > 0).then_some(what)
        })
        .or_else(|| {
            (whole && self.stands).then(|| "traffic stands still, and the lab passes".into())
        })
    }
}

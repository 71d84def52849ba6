//! The part that tests of isolation have in common: a congested port D, and flows to a port C that is
//! not (RFC 8239 5).

use super::congestion;
use crate::bench::Trouble;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::units::Priority;

/// Flows of a congested trial by their index: from A to C and to D, and from B to D.
pub(super) const TO_C: FlowId = FlowId(0);

/// Load of B: a little less than all, so that a sender in software keeps its rate.
const LOAD: f64 = 0.98;

/// Returns a trial in which A sends a priority to C and to D at these shares of the line, and B to D at
/// line rate.
pub(super) fn congested(
    cx: &Context<'_>,
    [a, b, c, d]: [Port; 4],
    priority: Priority,
    [to_c, to_d]: [f64; 2],
) -> Trial {
    let times = cx.setup.times;
    let mut trial = Trial::new("one of two ports is congested", times.hold + times.drain);
    for (ends, share) in [((a, c), to_c), ((a, d), to_d), ((b, d), LOAD)] {
        let flow = Flow::new(ends, priority, Limit::Time(times.hold));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    trial
}

/// Checks that the device has paused a sender of a priority if no frame of it was lost.
///
/// # Errors
/// It has not, so there was no congestion to notice.
pub(super) fn was_congested(
    cx: &Context<'_>,
    seen: &Observation,
    trial: &Trial,
    (senders, priority): (&[Port], Priority),
) -> Result<(), Trouble> {
    let own = |n: &usize| trial.flows[*n].priority == priority;
    let lost: u64 = (0..trial.flows.len()).filter(own).map(|n| seen.tally(FlowId(n)).lost()).sum();
    let paused = senders.iter().any(|port| congestion::stops(seen, *port, priority) > 0);
    if lost > 0 || paused {
        return Ok(());
    }
    let names: Vec<_> = senders.iter().map(|port| cx.port(*port).name.clone()).collect();
    let what = format!(
        "the device did not pause priority {priority} at {}: there was no congestion in this time; \
         make `times.hold` longer",
        names.join(" or ")
    );
    Err(Trouble::Error(what))
}

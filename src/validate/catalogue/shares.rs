//! The part that tests of shares have in common: all weighted classes over at one port.

use super::fill;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::units::{PRIORITIES, Priority};

/// Share of the line that a sender uses: a little less than all, so that it keeps its rates.
const OFFERED: f64 = 0.98;

/// Returns the priorities with a weight, and their shares of the line.
pub(super) fn weighted(cx: &Context<'_>) -> Result<Vec<(Priority, f64)>, Trouble> {
    let weights: [u32; PRIORITIES] =
        cx.setup.expected.weights.ok_or_else(|| fill::missing("weights"))?;
    let all: u32 = weights.iter().sum();
    let of = |priority: &Priority| weights[priority.index()];
    let with = Priority::ALL.into_iter().filter(|priority| of(priority) > 0);
    let shares: Vec<_> = with.map(|p| (p, f64::from(of(&p)) / f64::from(all))).collect();
    if shares.len() < 2 {
        return Err(Trouble::Missing("expected.weights: two classes are needed".into()));
    }
    Ok(shares)
}

/// Sends twice the share of each class from two ports to a third, in frames of these lengths in turn.
pub(super) fn compete(
    cx: &mut Context<'_>,
    (from, to): ([Port; 2], Port),
    shares: &[(Priority, f64)],
    sizes: &[u32],
) -> Result<(Trial, Observation), Trouble> {
    let times = cx.setup.times;
    let mut trial = Trial::new("classes that compete", times.hold + times.drain);
    for from in from {
        for (n, (priority, share)) in shares.iter().enumerate() {
            let flow = Flow::new((from, to), *priority, Limit::Time(times.hold));
            let flow = flow.rate(Rate::Line(share * OFFERED)).size(sizes[n % sizes.len()]);
            trial.flow(flow);
        }
    }
    let seen = cx.observe(&trial)?;
    Ok((trial, seen))
}

/// Judges the share of each class in the bytes of the second half of the traffic: frames without
/// preamble and gap, as 802.1Q leaves open if these count.
pub(super) fn judge(
    cx: &mut Context<'_>,
    (trial, seen): (&Trial, &Observation),
    shares: &[(Priority, f64)],
) {
    let hold = cx.setup.times.hold;
    let span = hold.div(2)..hold;
    let rate = |(n, _): (usize, &Flow)| seen.rate_in(FlowId(n), &span);
    let all: f64 = trial.flows.iter().enumerate().map(rate).sum();
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    for (priority, share) in shares {
        let own = || trial.flows.iter().enumerate().filter(|(_, f)| f.priority == *priority);
        let value = own().map(rate).sum::<f64>() / all * 100.0;
        let frames: f64 = own().map(|(_, flow)| f64::from(flow.size) * 8.0).sum();
        let limits = Limits::around(share * 100.0, cx.setup.limits.share * 100.0);
        let ends = seen.uncertainty.as_secs_f64() * 2.0 / seconds;
        let u = (frames / (all * seconds) + ends) * 100.0;
        cx.judge(format!("share of priority {priority}"), value, limits, u, "% of the bytes");
    }
}

//! The part that tests of shares have in common: all weighted classes over at one port.

use core::ops::Range;

use super::fill;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority};

/// Share of the line that a sender uses: a little less than all, so that it keeps its rates.
const OFFERED: f64 = 0.98;

/// Least load in percent of a line that has frames to send.
const BUSY: f64 = 99.0;

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

/// Returns the shares of the other classes if one uses nothing: `whole` by their weights.
pub(super) fn rest(shares: &[(Priority, f64)], idle: Priority, whole: f64) -> Vec<(Priority, f64)> {
    let others = || shares.iter().filter(|(priority, _)| *priority != idle);
    let all: f64 = others().map(|(_, share)| share).sum();
    others().map(|(priority, share)| (*priority, share / all * whole)).collect()
}

/// Part of its share that the second sender offers of each class. A choice: enough for the class to be over
/// even if the tester is a fifth slower than it should be.
const OVER: f64 = 0.3;

/// Sends more than the share of each class from two ports to a third, in frames of these lengths in turn.
pub(super) fn compete(
    cx: &mut Context<'_>,
    ends: ([Port; 2], Port),
    shares: &[(Priority, f64)],
    sizes: &[u32],
) -> Result<(Trial, Observation), Trouble> {
    let mut trial = uneven(cx, ends, shares, 1.0);
    for (n, flow) in trial.flows.iter_mut().enumerate() {
        flow.size = sizes[n % shares.len() % sizes.len()];
    }
    let seen = cx.observe(&trial)?;
    Ok((trial, seen))
}

/// Returns a trial in which each class is over, and the lightest one by far: a device that forwards in the
/// order of arrival would give it too much. The first port offers the shares of the part `left` of its line,
/// which has room for another flow then, and the second one fills its line.
pub(super) fn uneven(
    cx: &Context<'_>,
    ([a, b], to): ([Port; 2], Port),
    shares: &[(Priority, f64)],
    left: f64,
) -> Trial {
    let lightest = shares.iter().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(p, _)| *p);
    let whole: f64 = shares.iter().map(|(_, share)| share).sum();
    let more = |p: Priority| if Some(p) == lightest { whole * (1.0 - OVER) } else { 0.0 };
    let second: Vec<_> = shares.iter().map(|(p, share)| (*p, share * OVER + more(*p))).collect();
    let mut trial = offered(cx, (a, to), shares, left);
    trial.flows.extend(offered(cx, (b, to), &second, 1.0).flows);
    trial
}

/// Returns a trial in which each class is over: its share of the line from the second port, and of the
/// part `left` of the line from the first one, which has room for another flow then.
pub(super) fn overload(
    cx: &Context<'_>,
    ([a, b], to): ([Port; 2], Port),
    shares: &[(Priority, f64)],
    left: f64,
) -> Trial {
    let mut trial = offered(cx, (a, to), shares, left);
    trial.flows.extend(offered(cx, (b, to), shares, 1.0).flows);
    trial
}

/// Returns a trial with a flow of each class, with its share of the part `left` of the line.
pub(super) fn offered(
    cx: &Context<'_>,
    ends: (Port, Port),
    shares: &[(Priority, f64)],
    left: f64,
) -> Trial {
    let times = cx.setup.times;
    let mut trial = Trial::new("classes that compete", times.hold + times.drain);
    for (priority, share) in shares {
        let flow = Flow::new(ends, *priority, Limit::Time(times.hold));
        trial.flow(flow.rate(Rate::Line(share * left * OFFERED)));
    }
    trial
}

/// Returns the time in which shares are judged: the second half of the traffic.
pub(super) fn steady(cx: &Context<'_>) -> Range<Duration> {
    let hold = cx.setup.times.hold;
    hold.div(2)..hold
}

/// Judges the share of each class in the bytes of these classes in a span: frames without preamble
/// and gap, as 802.1Q leaves open if these count.
pub(super) fn judge(
    cx: &mut Context<'_>,
    (trial, seen): (&Trial, &Observation),
    shares: &[(Priority, f64)],
    span: &Range<Duration>,
) {
    let is_judged = |flow: &Flow| shares.iter().any(|(priority, _)| *priority == flow.priority);
    let rate = |(n, _): (usize, &Flow)| seen.rate_in(FlowId(n), span);
    let flows = || trial.flows.iter().enumerate();
    let all: f64 = flows().filter(|(_, flow)| is_judged(flow)).map(rate).sum();
    let whole: f64 = shares.iter().map(|(_, share)| share).sum();
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    for (priority, share) in shares {
        let own = || flows().filter(|(_, flow)| flow.priority == *priority);
        let value = own().map(rate).sum::<f64>() / all * 100.0;
        let frames: f64 = own().map(|(_, flow)| f64::from(flow.size) * 8.0).sum();
        let limits = Limits::around(share / whole * 100.0, cx.setup.limits.share * 100.0);
        let ends = seen.uncertainty.as_secs_f64() * 2.0 / seconds;
        let u = (frames / (all * seconds) + ends) * 100.0;
        let what = format!("share of priority {priority} ({})", trial.name);
        cx.judge(what, value, limits, u, "% of the bytes");
    }
}

/// Judges the load of the receiver's line in a span: at least 99 %.
pub(super) fn busy(
    cx: &mut Context<'_>,
    (trial, seen): (&Trial, &Observation),
    span: &Range<Duration>,
) {
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let load =
        |(n, flow): (usize, &Flow)| seen.rate_in(FlowId(n), span) / cx.setup.share(1.0, flow.size);
    let value = trial.flows.iter().enumerate().map(load).sum::<f64>() * 100.0;
    let frame = cx.setup.line_time(1024) + seen.uncertainty.saturating_mul(2);
    let u = frame.as_secs_f64() / seconds * 100.0;
    let what = format!("load of the line ({})", trial.name);
    cx.judge(what, value, Limits::at_least(BUSY), u, "%");
}

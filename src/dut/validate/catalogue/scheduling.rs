//! Scheduling: shares by weight, and strict classes.
//!
//! In tests of shares each weighted class has more to send to one port than its share ([`uneven`]).

use super::{congestion, fill, storm};
use crate::bench::{Capability, TrialError};
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Scope, Test, Topology};
use crate::trial::{Change, Flow, FlowId, Limit, Port, Rate, Trial, weight};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority, PrioritySet};

/// Share of the line that a sender uses: a little less than all, so that it keeps its rates.
const OFFERED: f64 = 0.98;

/// Least load in percent of a line that has frames to send.
const BUSY: f64 = 99.0;

/// Returns the priorities with a weight, and their shares of the line.
fn weighted(cx: &Context<'_>) -> Result<Vec<(Priority, f64)>, TrialError> {
    let weights: [u32; PRIORITIES] =
        cx.setup.expected.weights.ok_or_else(|| fill::missing("weights"))?;
    let all: u32 = weights.iter().sum();
    let weight = |priority: &Priority| weights[priority.index()];
    let with = Priority::ALL.into_iter().filter(|priority| weight(priority) > 0);
    let shares: Vec<_> = with.map(|p| (p, f64::from(weight(&p)) / f64::from(all))).collect();
    if shares.len() < 2 {
        return Err(TrialError::Missing("expected.weights: two classes are needed".into()));
    }
    Ok(shares)
}

/// Returns the shares of the other classes if one uses nothing: `whole` by their weights.
fn shares_without(shares: &[(Priority, f64)], idle: Priority, whole: f64) -> Vec<(Priority, f64)> {
    let others = || shares.iter().filter(|(priority, _)| *priority != idle);
    let all: f64 = others().map(|(_, share)| share).sum();
    others().map(|(priority, share)| (*priority, share / all * whole)).collect()
}

/// Part of its share that the second sender offers of each class. A choice: enough for the class to be over
/// even if the tester is a fifth slower than it should be.
const OVER: f64 = 0.3;

/// Sends more than the share of each class from two ports to a third, in frames of these lengths in turn.
fn compete(
    cx: &mut Context<'_>,
    from: [Port; 2],
    to: Port,
    shares: &[(Priority, f64)],
    sizes: &[u32],
) -> Result<(Trial, Observation), TrialError> {
    let mut trial = uneven(cx, from, to, shares, 1.0);
    for (n, flow) in trial.flows.iter_mut().enumerate() {
        flow.size = sizes[n % shares.len() % sizes.len()];
    }
    let observed = cx.observe(&trial)?;
    Ok((trial, observed))
}

/// Returns a trial in which each class is over, and the lightest one by far: a device that forwards in the
/// order of arrival would give it too much. The first port offers the shares of the part `left` of its line,
/// which has room for another flow then, and the second one fills its line.
fn uneven(
    cx: &Context<'_>,
    [a, b]: [Port; 2],
    to: Port,
    shares: &[(Priority, f64)],
    left: f64,
) -> Trial {
    let lightest = shares.iter().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(p, _)| *p);
    let whole: f64 = shares.iter().map(|(_, share)| share).sum();
    // The rest of the second line is all for the lightest class.
    let more = |p: Priority| if Some(p) == lightest { whole * (1.0 - OVER) } else { 0.0 };
    let second: Vec<_> = shares.iter().map(|(p, share)| (*p, share * OVER + more(*p))).collect();
    let mut trial = offered(cx, (a, to), shares, left);
    trial.flows.extend(offered(cx, (b, to), &second, 1.0).flows);
    trial
}

/// Returns a trial in which each class is over: its share of the line from the second port, and of the
/// part `left` of the line from the first one, which has room for another flow then.
fn overload(
    cx: &Context<'_>,
    [a, b]: [Port; 2],
    to: Port,
    shares: &[(Priority, f64)],
    left: f64,
) -> Trial {
    let mut trial = offered(cx, (a, to), shares, left);
    trial.flows.extend(offered(cx, (b, to), shares, 1.0).flows);
    trial
}

/// Returns a trial with a flow of each class, with its share of the part `left` of the line.
fn offered(cx: &Context<'_>, ends: (Port, Port), shares: &[(Priority, f64)], left: f64) -> Trial {
    let times = cx.setup.times;
    let mut trial = Trial::new("classes that compete", times.hold + times.drain);
    for (priority, share) in shares {
        let flow = Flow::new(ends, *priority, Limit::Time(times.hold));
        trial.flow(flow.rate(Rate::Line(share * left * OFFERED)));
    }
    trial
}

/// Returns the time in which shares are judged: the second half of the traffic.
fn steady(cx: &Context<'_>) -> Range<Duration> {
    let hold = cx.setup.times.hold;
    hold.div(2)..hold
}

/// Judges the share of each class in the bytes of these classes in a span: frames without preamble
/// and gap, as 802.1Q leaves open if these count.
fn judge_shares(
    cx: &mut Context<'_>,
    trial: &Trial,
    observed: &Observation,
    shares: &[(Priority, f64)],
    span: &Range<Duration>,
) {
    let is_judged = |flow: &Flow| shares.iter().any(|(priority, _)| *priority == flow.priority);
    let rate = |(n, _): (usize, &Flow)| observed.rate_in(FlowId(n), span);
    let flows = || trial.flows.iter().enumerate();
    // Other flows, as of a strict class, are no part of the sum.
    let all: f64 = flows().filter(|(_, flow)| is_judged(flow)).map(rate).sum();
    let whole: f64 = shares.iter().map(|(_, share)| share).sum();
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    for (priority, share) in shares {
        let own = || flows().filter(|(_, flow)| flow.priority == *priority);
        let value = own().map(rate).sum::<f64>() / all * 100.0;
        let frames: f64 = own().map(|(_, flow)| f64::from(flow.size) * 8.0).sum();
        let limits = Limits::around(share / whole * 100.0, cx.setup.limits.share * 100.0);
        let ends = observed.uncertainty.as_secs_f64() * 2.0 / seconds;
        let u = (frames / (all * seconds) + ends) * 100.0;
        let what = format!("share of priority {priority} ({})", trial.name);
        cx.judge(what, value, limits, u, "% of the bytes");
    }
}

/// Judges the load of the receiver's line in a span: at least 99 %.
fn judge_busy(cx: &mut Context<'_>, trial: &Trial, observed: &Observation, span: &Range<Duration>) {
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let load = |(n, flow): (usize, &Flow)| {
        observed.rate_in(FlowId(n), span) / cx.setup.share(1.0, flow.size)
    };
    let value = trial.flows.iter().enumerate().map(load).sum::<f64>() * 100.0;
    // A frame at the ends of the span, and the time stamps of both.
    let frame = cx.setup.line_time(1024) + observed.uncertainty.saturating_mul(2);
    let u = frame.as_secs_f64() / seconds * 100.0;
    let what = format!("load of the line ({})", trial.name);
    cx.judge(what, value, Limits::at_least(BUSY), u, "%");
}

pub(super) const BY_WEIGHT: Test = describe! {
    id: "V-S01",
    title: "bandwidth is shared by weight",
    purpose: "When weighted traffic classes have more to send than the line carries, each gets the share of its \
              weight.",
    clause: "802.1Q 8.6.8.4",
    procedure: "A sends a full line to C, each weighted priority at its share (`expected.weights`). So does B, \
                with three tenths of each share, and the lightest class for the rest: each class has more to \
                send than its share, and a device without a scheduler would give the lightest one too much.",
    pass: "Each class has its share of the bytes, without preambles and gaps, within {share}.",
    source: "UNH 37.1.1 to 37.1.4; sonic-mgmt issue 24993. 802.1Qaz itself allows 10 %.",
    run: by_weight,
    aliases: &["37.1.1"],
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
    level: Level::Quick,
};

fn by_weight(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let shares = weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    let (trial, observed) = compete(cx, [a, b], c, &shares, &[1024])?;
    let span = steady(cx);
    judge_shares(cx, &trial, &observed, &shares, &span);
    Ok(())
}

pub(super) const LENT_SHARES: Test = describe! {
    id: "V-S02",
    title: "shares that a class does not use are lent",
    purpose: "Bandwidth that a class does not use goes to the others by their weights: of a class without \
              frames, of one with less than its share, and of one that is paused.",
    clause: "802.1Q 8.6.8.4, 36.1.3.2",
    procedure: "As V-S01, in three kinds of trials. The heaviest class (at level full each class) sends \
                nothing; it sends half of its share; a lossless priority sends 30 % of the line, or \
                its share if it is weighted, and C pauses it.",
    pass: "The other classes share the rest of the bytes by their weights within {share}, and C's line is busy \
           for at least 99 % of the time.",
    source: "UNH 37.1.5; sonic-mgmt fluctuating traffic",
    run: lent_shares,
    aliases: &["37.1.5"],
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
};

/// Share of the line of a paused priority without a weight.
const PAUSED_SHARE: f64 = 0.3;

fn lent_shares(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let all = weighted(cx)?;
    cx.ports::<3>()?;
    let mut idle = all.clone();
    // The heaviest first, as level quick has it alone.
    idle.sort_by(|one, other| other.1.total_cmp(&one.1));
    idle.truncate(cx.by_level(1, idle.len()));
    for (priority, share) in idle {
        for used in [0.0, 0.5] {
            judge_partly_used(cx, &all, priority, share, used)?;
        }
    }
    judge_paused(cx, &all)
}

/// A class that sends `used` of its share, 0 to 1.
fn judge_partly_used(
    cx: &mut Context<'_>,
    all: &[(Priority, f64)],
    priority: Priority,
    share: f64,
    used: f64,
) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let own = share * used;
    let mut rest = shares_without(all, priority, 1.0 - own);
    let mut trial = uneven(cx, [a, b], c, &shares_without(all, priority, 1.0), 1.0 - own);
    if used > 0.0 {
        let flow = Flow::new((a, c), priority, Limit::Time(cx.setup.times.hold));
        trial.flow(flow.rate(Rate::Line(own)));
        rest.push((priority, own));
    }
    trial.name = format!("priority {priority} uses {:.0} % of its share", used * 100.0);
    let observed = cx.observe(&trial)?;
    let span = steady(cx);
    judge_shares(cx, &trial, &observed, &rest, &span);
    judge_busy(cx, &trial, &observed, &span);
    Ok(())
}

/// A class that is paused while it has frames.
fn judge_paused(cx: &mut Context<'_>, all: &[(Priority, f64)]) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let is_weighted = |p: &Priority| all.iter().any(|(priority, _)| priority == p);
    let mut lossless = cx.setup.lossless.iter();
    let Some(priority) = lossless.find(is_weighted).or_else(|| cx.setup.lossless()) else {
        cx.skip("a paused class", "lossless: it is empty");
        return Ok(());
    };
    let others = shares_without(all, priority, 1.0);
    if others.len() < 2 {
        cx.skip("a paused class", "expected.weights: two classes beside it are needed");
        return Ok(());
    }
    let own = all.iter().find(|(p, _)| *p == priority).map_or(PAUSED_SHARE, |(_, share)| *share);
    let mut trial = uneven(cx, [a, b], c, &others, 1.0 - own);
    let hold = cx.setup.times.hold;
    let flow = Flow::new((a, c), priority, Limit::Time(hold));
    trial.flow(flow.rate(Rate::Line(own)));
    let length = hold.div(2).min(cx.setup.storm_max());
    let start = hold.saturating_sub(length);
    storm::add(cx, &mut trial, c, PrioritySet::of(priority), &(start..start + length));
    trial.name = format!("priority {priority} is paused");
    let observed = cx.observe(&trial)?;
    let flow = FlowId(trial.flows.len() - 1);
    // Without a frame that waits the class would be idle, and not paused.
    if !observed.of(flow, Way::Sent).any(|record| record.begin > start) {
        let what = format!("no frame of priority {priority} was sent into the pause");
        return Err(TrialError::Error(what));
    }
    let held = storm::held_for(cx, &observed, c, length)?;
    // The others have their new shares after a while.
    let span = held.start + length.div(8)..held.end.min(hold);
    storm::none_began(cx, &observed, flow, priority, &span);
    judge_shares(cx, &trial, &observed, &others, &span);
    judge_busy(cx, &trial, &observed, &span);
    Ok(())
}

pub(super) const STRICT_FIRST: Test = describe! {
    id: "V-S03",
    title: "strict classes are served first",
    purpose: "A strict class, lossless or lossy, gets all that it sends, and the weighted ones share the \
              rest.",
    clause: "802.1Q 8.6.8.1, 8.6.8.4",
    procedure: "A sends a strict priority (`expected.strict`) to C at 30 % of the line, then at 90 %; B \
                sends all weighted ones at line rate together. At level quick with the first \
                strict priority that is lossless and the first that is lossy, at level full with each. Then A \
                and B send two strict lossy priorities, if there are two, at 70 % each.",
    pass: "No frame of the strict priority is lost, and no pause stops it. It and the weighted classes \
           have their shares of the bytes within {share}: the strict one what it sends, the others the rest by \
           their weights. Of two strict priorities the higher one has all that it sends, and the lower one the \
           rest.",
    source: "UNH 37.1.6, 37.1.7; featureprofiles DP-1.5, DP-1.10",
    run: strict_first,
    aliases: &["37.1.6", "37.1.7", "DP-1.5", "DP-1.10"],
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
};

/// Shares of the line that a strict priority sends.
const LOADS: [f64; 2] = [0.3, 0.9];

fn strict_first(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let weighted = weighted(cx)?;
    cx.ports::<3>()?;
    for priority in strict_priorities(cx)? {
        for load in LOADS {
            compete_with_strict(cx, &weighted, priority, load)?;
        }
    }
    judge_order(cx)
}

/// Share of the line that each of two strict priorities sends.
const EACH: f64 = 0.7;

/// Judges that the higher one of two strict priorities is served first (802.1Q 8.6.8.1). They are lossy, as a
/// lossless one would be paused.
fn judge_order(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let strict = cx.setup.expected.strict.unwrap_or_default();
    let mut lossy = cx.setup.lossy.iter().filter(|priority| strict.contains(*priority));
    // With fewer than two of them there is no order.
    let (Some(low), Some(high)) = (lossy.next(), lossy.next()) else { return Ok(()) };
    let mut trial = offered(cx, (b, c), &[], 1.0);
    let flow = |port, priority| {
        Flow::new((port, c), priority, Limit::Time(cx.setup.times.hold)).rate(Rate::Line(EACH))
    };
    let first = trial.flow(flow(a, high));
    trial.flow(flow(b, low));
    trial.name = format!("strict priority {high} above {low}");
    let observed = cx.observe(&trial)?;
    let span = steady(cx);
    let own = cx.setup.own_share(c, EACH, trial.flows[first.0].size);
    judge_shares(cx, &trial, &observed, &[(high, own), (low, 1.0 - own)], &span);
    let lost = observed.tally(first).lost();
    cx.count(format!("lost frames of {}", trial.name), lost, Limits::exactly(0.0));
    Ok(())
}

/// Returns the strict priorities to try.
fn strict_priorities(cx: &Context<'_>) -> Result<Vec<Priority>, TrialError> {
    let missing = "expected.strict is missing; add it to the file";
    let all = cx.setup.expected.strict.ok_or_else(|| TrialError::Missing(missing.to_owned()))?;
    // At level quick one lossless and one lossy priority.
    let most = cx.by_level(1, usize::MAX);
    let strict_of = |set: PrioritySet| set.iter().filter(|p| all.contains(*p)).take(most);
    let strict: Vec<Priority> =
        strict_of(cx.setup.lossless).chain(strict_of(cx.setup.lossy)).collect();
    if strict.is_empty() {
        let what = "expected.strict has no priority of `lossless` or `lossy`: no class is strict";
        return Err(TrialError::Missing(what.to_owned()));
    }
    Ok(strict)
}

fn compete_with_strict(
    cx: &mut Context<'_>,
    weighted: &[(Priority, f64)],
    priority: Priority,
    load: f64,
) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let mut trial = offered(cx, (b, c), weighted, 1.0);
    let flow = Flow::new((a, c), priority, Limit::Time(cx.setup.times.hold));
    let flow = trial.flow(flow.rate(Rate::Line(load)));
    trial.name = format!("strict priority {priority} at {:.0} %", load * 100.0);
    let observed = cx.observe(&trial)?;
    // Of the receiver's line, which takes more frames than the others if they have MACsec and it has not.
    let own = cx.setup.own_share(c, load, trial.flows[flow.0].size);
    let mut shares: Vec<_> = weighted.iter().map(|(p, share)| (*p, share * (1.0 - own))).collect();
    shares.push((priority, own));
    let span = steady(cx);
    judge_shares(cx, &trial, &observed, &shares, &span);
    judge_busy(cx, &trial, &observed, &span);
    let none = Limits::exactly(0.0);
    let lost = observed.tally(flow).lost();
    cx.count(format!("lost frames of strict priority {priority}"), lost, none);
    let pauses = observed.pauses(a).filter(|pause| pause.stops(priority)).count() as u64;
    cx.count(format!("pauses of strict priority {priority}"), pauses, none);
    Ok(())
}

pub(super) const IN_BYTES: Test = describe! {
    id: "V-S04",
    title: "shares are counted in bytes",
    purpose: "A class of long frames gets no more than one of short frames of the same weight.",
    clause: "802.1Q 8.6.8.4",
    procedure: "As V-S01, with frames of 128 bytes in every second class, and the longest in the others.",
    pass: "Each class has its share of the bytes, without preambles and gaps, within {share}.",
    source: "own; NetSys/bess issue 717",
    run: in_bytes,
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
};

fn in_bytes(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let shares = weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    let sizes = [128, cx.setup.max_frame];
    let (trial, observed) = compete(cx, [a, b], c, &shares, &sizes)?;
    let span = steady(cx);
    judge_shares(cx, &trial, &observed, &shares, &span);
    Ok(())
}

pub(super) const CHANGED_WEIGHTS: Test = describe! {
    id: "V-S05",
    title: "weights are changed under load",
    purpose: "New weights of the traffic classes take effect while they are over, and no frame of a lossless \
              priority is lost by the change.",
    clause: "802.1Q 8.6.8.4, 12.21; SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT",
    procedure: "As V-S01, with a lossless priority at 20 % of the line if none is weighted. In the middle of \
                the traffic all weights at C become the largest one of them; if all are equal, the \
                first becomes three times as large.",
    pass: "Before the change each class has its old share of the bytes within {share}, and from the time \
           `times.settle` after it its new one. No frame of a lossless priority is lost.",
    source: "SAI DwrrWeightChange; sonic-buildimage issue 29255",
    run: changed_weights,
    aliases: &["DwrrWeightChange"],
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
    scope: Scope::Device,
};

/// Share of the line of a lossless priority without a weight.
const LOSSLESS_SHARE: f64 = 0.2;

fn changed_weights(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let old = weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    if !cx.has(Capability::Changes) {
        let what = "adapter is missing: the device's settings cannot be changed under load";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let before = cx.setup.expected.weights.expect("`weighted` has checked it");
    let after = other_weights(before);
    let all: u32 = after.iter().sum();
    let share = |p: Priority| f64::from(after[p.index()]) / f64::from(all);
    let new: Vec<_> = old.iter().map(|(priority, _)| (*priority, share(*priority))).collect();
    let times = cx.setup.times;
    let (at, end) = (times.hold, times.hold.saturating_mul(2) + times.settle);
    // Each class is over with its old share and with its new one.
    let most = old.iter().zip(&new).map(|((p, old), (_, new))| (*p, old.max(*new)));
    let most: Vec<_> = most.collect();
    let sum: f64 = most.iter().map(|(_, share)| share).sum();
    let offered: Vec<_> = most.iter().map(|(p, share)| (*p, share / sum)).collect();
    let mut trial = overload(cx, [a, b], c, &offered, 1.0 - LOSSLESS_SHARE);
    let is_weighted = |p: &Priority| before[p.index()] > 0;
    let lossless: Vec<_> = cx.setup.lossless.iter().collect();
    if let Some(first) = lossless.first().filter(|_| !lossless.iter().any(is_weighted)) {
        trial.flow(Flow::new((a, c), *first, Limit::Time(end)).rate(Rate::Line(LOSSLESS_SHARE)));
    }
    trial.flows.iter_mut().for_each(|flow| flow.limit = Limit::Time(end));
    trial.length = end + times.drain;
    for (priority, _) in &old {
        let (value, restored) = (after[priority.index()], before[priority.index()]);
        let (value, restored) = (value.to_string(), restored.to_string());
        trial.changes.push(Change { at, port: c, name: weight(*priority), value, restored });
    }
    let observed = cx.observe(&trial)?;
    trial.name = "old weights".to_owned();
    judge_shares(cx, &trial, &observed, &old, &(at.div(2)..at));
    trial.name = "new weights".to_owned();
    judge_shares(cx, &trial, &observed, &new, &(at + times.settle..end));
    for priority in lossless {
        congestion::lossless(cx, &observed, &trial, priority);
    }
    Ok(())
}

/// Returns other weights of the same classes.
fn other_weights(before: [u32; PRIORITIES]) -> [u32; PRIORITIES] {
    let most = before.iter().copied().max().unwrap_or(1);
    let mut after = before.map(|weight| if weight > 0 { most } else { 0 });
    // Equal weights are the largest one already.
    if after == before
        && let Some(first) = after.iter_mut().find(|weight| **weight > 0)
    {
        *first *= 3;
    }
    after
}

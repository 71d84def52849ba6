//! Times of zero: they resume the paused priority that a frame names, and change nothing else.

use super::storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test};
use crate::trial::{Control, Flow, FlowId, Limit, Rate, Trial, pfc_frame};
use core::ops::Range;
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub(super) const ZERO_TIME: Test = describe! {
    id: "V-R04",
    title: "a pause time of zero resumes",
    purpose: "A port that is paused sends again when one PFC frame enables the priority with a time of \
              zero (XON).",
    clause: "802.1Q 36.1.3.2, 802.3 31B.3.2",
    procedure: "A flow on one lossless priority at half of the line from A to B. B pauses it without a gap, then \
                sends one frame with a time of zero. If there are two lossless priorities, B pauses both once, \
                resumes the second one, and then by one frame resumes the first and pauses the second. If there \
                are three ports, B and C pause the priority, and B resumes it.",
    pass: "The first frame of the priority begins within the resume time (1 ms), and before half of \
           the last pause is over, so that an expiry is not taken for XON. No frame is lost. Of two paused \
           priorities the one whose time is zero resumes, and the other one stays paused; so does C when B resumes.",
    source: "sonic-mgmt L03",
    run: zero_time,
    aliases: &["L03"],
    level: Level::Quick,
};

/// Share of the line.
const SHARE: f64 = 0.5;

pub(super) fn zero_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    for priority in cx.each_stopped() {
        let times = cx.setup.times;
        // Renewed after half of their time, no pause ends by itself before XON.
        let every = storm::longest(cx).at(cx.setup.rate).div(2);
        // A watchdog counts until XON, and not only until the last pause.
        let hold = times.hold.min(cx.setup.storm_max().saturating_sub(storm::until_xon(cx)));
        let pauses = (hold.as_picos() / every.as_picos().max(1)).max(1) as u32;
        let last = times.baseline + every.saturating_mul(u64::from(pauses) - 1);
        let xon = last + storm::until_xon(cx);
        let traffic = xon + times.settle;
        let mut trial = Trial::new("storm, then XON", traffic + times.drain);
        let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(SHARE));
        let flow = trial.flow(flow);
        let set = PrioritySet::of(priority);
        let octets = cx.pause(b, set, storm::longest(cx));
        let start = times.baseline;
        trial.control.push(Control { port: b, octets, start, every, frames: pauses });
        // One frame alone: a device that misses it stays paused until the expiry.
        trial.frame(b, cx.pause(b, set, Quanta(0)), xon);
        let observed = cx.observe(&trial)?;
        cx.at_rest(&observed, &trial, &(times.baseline.div(4)..times.baseline))?;
        judge_xon(cx, &observed, flow, priority)?;
    }
    one_of_two_priorities(cx)?;
    one_of_two_ports(cx)
}

/// Share of the line of flows to two ports: few frames are held for the port that stays paused.
const FEW: f64 = 0.05;

/// Returns the pauses of a trial that is about two of them; `None` if they are too short for it.
fn pause_of_two(cx: &Context<'_>) -> Option<Quanta> {
    let pause = cx.setup.storm_pause();
    // Flows of NICs stop and go by themselves.
    let is_short = pause.div(4) < cx.setup.stop_limit().saturating_mul(2);
    let quanta = pause.as_picos() / Quanta(1).at(cx.setup.rate).as_picos();
    (!cx.is_at_nic() && !is_short).then_some(Quanta(quanta as u16))
}

/// Returns the end of a pause that was sent by `end`, before which no frame may begin.
fn pause_end(end: Duration, pause: Duration) -> Duration {
    // 802.3 allows 100 ppm for each clock.
    end + pause.saturating_sub(pause.div(5_000))
}

/// Judges that XON at one port does not resume another one.
fn one_of_two_ports(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let (Some(quanta), Ok([a, b, c])) = (pause_of_two(cx), cx.ports()) else { return Ok(()) };
    let priority = cx.stopped()?;
    let (pause, start) = (quanta.at(cx.setup.rate), cx.setup.times.baseline);
    let traffic = start + pause.saturating_mul(2);
    let mut trial = Trial::new("XON at one of two ports", traffic + cx.setup.times.drain);
    for to in [b, c] {
        let flow = Flow::new((a, to), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(FEW)));
    }
    let set = PrioritySet::of(priority);
    trial.frame(b, cx.pause(b, set, quanta), start);
    trial.frame(c, cx.pause(c, set, quanta), start);
    // After a quarter of the pause: long after the reaction to it, and long before its end.
    trial.frame(b, cx.pause(b, set, Quanta(0)), start + pause.div(4));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let sent = |port| observed.control_sent(port).map(|(r, _)| r.end).collect::<Vec<Duration>>();
    let ([paused, xon], [other]) = (&sent(b)[..], &sent(c)[..]) else {
        return Err(TrialError::Error("the tester did not send three pauses".into()));
    };
    let limit = cx.setup.stop_limit();
    storm::none_began(cx, &observed, FlowId(0), priority, &(*paused + limit..*xon));
    judge_resumed(cx, &observed, FlowId(0), priority, &(*xon..*paused + pause));
    storm::none_began(
        cx,
        &observed,
        FlowId(1),
        priority,
        &(*other + limit..pause_end(*other, pause)),
    );
    (0..2).for_each(|n| cx.none_lost(&observed, FlowId(n), priority));
    Ok(())
}

/// Judges that XON of one priority does not resume another, also if one frame has the times of both.
fn one_of_two_priorities(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let mut lossless = cx.setup.lossless.iter();
    let (Some(first), Some(second)) = (lossless.next(), lossless.next()) else { return Ok(()) };
    let [a, b] = cx.ports()?;
    // V-N04 pauses one of two of a NIC.
    let Some(quanta) = pause_of_two(cx) else { return Ok(()) };
    let pause = quanta.at(cx.setup.rate);
    let start = cx.setup.times.baseline;
    let traffic = start + pause.saturating_mul(2);
    let mut trial = Trial::new("XON for one of two", traffic + cx.setup.times.drain);
    for priority in [first, second] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE / 2.0)));
    }
    let mac = cx.port(b).mac;
    trial.pfc(b, mac, &[(first, quanta), (second, quanta)], start);
    trial.pfc(b, mac, &[(second, Quanta(0))], start + pause.div(4));
    // One frame has both: XON for the first priority, and a pause for the second, which flows again.
    trial.pfc(b, mac, &[(first, Quanta(0)), (second, quanta)], start + pause.div(2));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let sent: Vec<Duration> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let [both, one, other] = sent[..] else {
        return Err(TrialError::Error("the tester did not send three pauses".into()));
    };
    let limit = cx.setup.stop_limit();
    storm::none_began(cx, &observed, FlowId(0), first, &(both + limit..other));
    judge_resumed(cx, &observed, FlowId(0), first, &(other..both + pause));
    storm::none_began(cx, &observed, FlowId(1), second, &(both + limit..one));
    judge_resumed(cx, &observed, FlowId(1), second, &(one..both + pause));
    storm::none_began(cx, &observed, FlowId(1), second, &(other + limit..pause_end(other, pause)));
    for (n, priority) in [first, second].into_iter().enumerate() {
        cx.none_lost(&observed, FlowId(n), priority);
    }
    Ok(())
}

fn judge_xon(
    cx: &mut Context<'_>,
    observed: &Observation,
    flow: FlowId,
    priority: Priority,
) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let sent: Vec<Duration> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let [.., last, xon] = sent[..] else {
        return Err(TrialError::Error("the tester sent no pause before XON".into()));
    };
    storm::none_began(cx, observed, flow, priority, &(last + cx.setup.stop_limit()..xon));
    let expiry = last + storm::longest(cx).at(cx.setup.rate);
    judge_resumed(cx, observed, flow, priority, &(xon..expiry));
    cx.none_lost(observed, flow, priority);
    Ok(())
}

/// Judges the time from XON to the next frame. `left` is the time from XON to the end of the pause, of which the
/// second half could be taken for an effect of XON.
pub(super) fn judge_resumed(
    cx: &mut Context<'_>,
    observed: &Observation,
    flow: FlowId,
    priority: Priority,
    left: &Range<Duration>,
) {
    let (xon, expiry) = (left.start, left.end);
    // Later than in the first half it could be the end of the pause.
    let most = cx.setup.limits.resume.min(expiry.saturating_sub(xon).div(2));
    let Some(first) = observed.of(flow, Way::Received).find(|record| record.begin >= xon) else {
        cx.count(format!("frames of priority {priority} after XON"), 0, Limits::at_least(1.0));
        return;
    };
    let taken = first.begin.saturating_sub(xon);
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.time(format!("time to resume priority {priority}"), taken, limits, observed.uncertainty);
}

pub(super) const ZERO_WITHOUT_EFFECT: Test = describe! {
    id: "V-R09",
    title: "zero times that change nothing",
    purpose: "A time of zero for a priority that is not paused has no effect, and neither has \
              one for a priority whose bit in the vector is not set.",
    clause: "802.3 31D.3, 802.1Q 36.1.3.2",
    procedure: "A flow on one lossless priority at line rate from A to B. B resumes it, and all \
                priorities, while it flows; then pauses it, and sends zero times without its \
                bit: with an empty vector, and with the bits of all others.",
    pass: "While it flows no distance of two frames grows by more than a frame. While it is \
           paused no frame begins. No frame is lost.",
    source: "HLK TimeVectorZeroQuanta",
    run: zero_without_effect,
};

fn zero_without_effect(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        zero_while_flowing(cx, priority)?;
        zero_while_paused(cx, priority)?;
    }
    Ok(())
}

/// Judges zero times for a priority that flows.
fn zero_while_flowing(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let (baseline, times) = (cx.setup.times.baseline, cx.by_level(20, 200));
    let frame = cx.setup.line_time(storm::SIZE);
    let every = frame.saturating_mul(20);
    let traffic = baseline + every.saturating_mul(times + 1);
    let mut trial = Trial::new("zero times while it flows", traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let mut rng = Rng::new(cx.setup.seed);
    let one = [(priority, Quanta(0))];
    let all = Priority::ALL.map(|p| (p, Quanta(0)));
    for n in 0..times {
        // By turns the priority alone, and all eight.
        let named: &[_] = if n % 2 == 0 { &one } else { &all };
        let phase = Duration::from_picos(rng.next_u64() % frame.as_picos().max(1));
        let at = baseline + every.saturating_mul(n) + phase;
        trial.pfc(b, cx.port(b).mac, named, at);
    }
    let observed = cx.observe(&trial)?;
    let rest = baseline.div(4)..baseline;
    cx.at_rest(&observed, &trial, &rest)?;
    let begins = observed.begins(flow);
    let before = largest_step(&begins, &rest);
    let largest = largest_step(&begins, &(baseline..traffic));
    let what = format!("largest distance of frames of priority {priority} beside zero times");
    let limits = Limits::at_most((before + frame).as_nanos_f64());
    cx.time(what, largest, limits, observed.uncertainty.saturating_mul(2));
    cx.none_lost(&observed, flow, priority);
    Ok(())
}

/// Returns the largest distance of two frames that begin one after the other in a span, and of the
/// last one from its end.
fn largest_step(begins: &[Duration], span: &Range<Duration>) -> Duration {
    let inside: Vec<Duration> = begins.iter().copied().filter(|b| span.contains(b)).collect();
    let steps = inside.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    // A flow that stops has its largest distance at the end.
    let last = inside.last().map_or(span.start, |last| *last);
    steps.chain([span.end.saturating_sub(last)]).max().unwrap_or_default()
}

/// Judges zero times without the bit of a priority that is paused.
fn zero_while_paused(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let baseline = cx.setup.times.baseline;
    let window = Quanta::MAX.at(cx.setup.rate);
    let traffic = baseline + window + cx.setup.times.settle;
    let mut trial = Trial::new("zero times while it is paused", traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let mac = cx.port(b).mac;
    trial.pfc(b, mac, &[(priority, Quanta::MAX)], baseline);
    let others: Vec<_> = Priority::ALL.into_iter().filter(|p| *p != priority).collect();
    let others: Vec<_> = others.into_iter().map(|p| (p, Quanta(0))).collect();
    // Neither an empty vector nor the bits of all others name the paused priority.
    trial.frame(b, pfc_frame(mac, &[]), baseline + window.div(4));
    trial.frame(b, pfc_frame(mac, &others), baseline + window.div(2));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
    let Some((first, _)) = observed.control_sent(b).next() else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    // 802.3 allows 100 ppm for each clock.
    let until = first.end + window.saturating_sub(window.div(5_000));
    let held = first.end + cx.setup.stop_limit()..until;
    storm::none_began(cx, &observed, flow, priority, &held);
    cx.none_lost(&observed, flow, priority);
    Ok(())
}

//! V-R04: a time of zero resumes.

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-R04",
    aliases: &["L03"],
    title: "a pause time of zero resumes",
    purpose: "A port that is paused sends again when one PFC frame enables the priority with a time of \
              zero (XON).",
    clause: "802.1Q 36.1.3.2, 802.3 31B.3.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at half of the line from A to B. B pauses it without a \
                gap, then sends one frame with a time of zero. If there are two lossless priorities, B pauses both \
                once, resumes the second one, and then by one frame resumes the first and pauses the second. If there are \
                three ports, B and C pause the priority, and B resumes it.",
    pass: "The first frame of the priority begins within the resume time (1 ms), and before half of \
           the last pause is over, so that an expiry is not taken for XON. No frame is lost. Of two paused \
           priorities the one whose time is zero resumes, and the other one stays paused; so does C when B resumes.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L03",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line.
const SHARE: f64 = 0.5;

pub(super) fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    for priority in cx.each_stopped() {
        let times = cx.setup.times;
        let every = stop::longest(cx).at(cx.setup.rate).div(2);
        let hold = times.hold.min(cx.setup.storm_max().saturating_sub(stop::until_xon(cx)));
        let pauses = (hold.as_picos() / every.as_picos().max(1)).max(1) as u32;
        let last = times.baseline + every.saturating_mul(u64::from(pauses) - 1);
        let xon = last + stop::until_xon(cx);
        let traffic = xon + times.settle;
        let mut trial = Trial::new("storm, then XON", traffic + times.drain);
        let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(SHARE));
        let flow = trial.flow(flow);
        let set = PrioritySet::of(priority);
        let octets = cx.pause(b, set, stop::longest(cx));
        let start = times.baseline;
        trial.control.push(Control { port: b, octets, start, every, frames: pauses });
        trial.frame(b, cx.pause(b, set, Quanta(0)), xon);
        let seen = cx.observe(&trial)?;
        cx.at_rest(&seen, &trial, &(times.baseline.div(4)..times.baseline))?;
        judge(cx, &seen, (flow, priority))?;
    }
    one_of_two(cx)?;
    one_port(cx)
}

/// Share of the line of flows to two ports: few frames are held for the port that stays paused.
const FEW: f64 = 0.05;

/// Returns the pauses of a trial that is about two of them; `None` if they are too short for it.
fn quanta(cx: &Context<'_>) -> Option<Quanta> {
    let pause = cx.setup.storm_pause();
    // Flows of NICs stop and go by themselves.
    let is_short = pause.div(4) < cx.setup.stop_limit().saturating_mul(2);
    let quanta = pause.as_picos() / Quanta(1).at(cx.setup.rate).as_picos();
    (!cx.is_at_nic() && !is_short).then_some(Quanta(quanta as u16))
}

/// Returns the end of a pause that was sent by `end`, before which no frame may begin.
fn until(end: Duration, pause: Duration) -> Duration {
    // 802.3 allows 100 ppm for each clock.
    end + pause.saturating_sub(pause.div(5_000))
}

/// Judges that XON at one port does not resume another one.
fn one_port(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let (Some(quanta), Ok([a, b, c])) = (quanta(cx), cx.ports()) else { return Ok(()) };
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
    trial.frame(b, cx.pause(b, set, Quanta(0)), start + pause.div(4));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let sent = |port| seen.control_sent(port).map(|(r, _)| r.end).collect::<Vec<Duration>>();
    let ([paused, xon], [other]) = (&sent(b)[..], &sent(c)[..]) else {
        return Err(Trouble::Error("the tester did not send three pauses".into()));
    };
    let limit = cx.setup.stop_limit();
    stop::none_began(cx, &seen, (FlowId(0), priority), &(*paused + limit..*xon));
    resumes(cx, &seen, (FlowId(0), priority), (*xon, *paused + pause));
    stop::none_began(cx, &seen, (FlowId(1), priority), &(*other + limit..until(*other, pause)));
    (0..2).for_each(|n| cx.none_lost(&seen, (FlowId(n), priority)));
    Ok(())
}

/// Judges that XON of one priority does not resume another, also if one frame has the times of both.
fn one_of_two(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let mut lossless = cx.setup.lossless.iter();
    let (Some(first), Some(second)) = (lossless.next(), lossless.next()) else { return Ok(()) };
    let [a, b] = cx.ports()?;
    // V-N04 pauses one of two of a NIC.
    let Some(quanta) = quanta(cx) else { return Ok(()) };
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
    trial.pfc(b, mac, &[(first, Quanta(0)), (second, quanta)], start + pause.div(2));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let sent: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let [both, one, other] = sent[..] else {
        return Err(Trouble::Error("the tester did not send three pauses".into()));
    };
    let limit = cx.setup.stop_limit();
    stop::none_began(cx, &seen, (FlowId(0), first), &(both + limit..other));
    resumes(cx, &seen, (FlowId(0), first), (other, both + pause));
    stop::none_began(cx, &seen, (FlowId(1), second), &(both + limit..one));
    resumes(cx, &seen, (FlowId(1), second), (one, both + pause));
    stop::none_began(cx, &seen, (FlowId(1), second), &(other + limit..until(other, pause)));
    for (n, priority) in [first, second].into_iter().enumerate() {
        cx.none_lost(&seen, (FlowId(n), priority));
    }
    Ok(())
}

fn judge(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    let sent: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let [.., last, xon] = sent[..] else {
        return Err(Trouble::Error("the tester sent no pause before XON".into()));
    };
    stop::none_began(cx, seen, (flow, priority), &(last + cx.setup.stop_limit()..xon));
    let expiry = last + stop::longest(cx).at(cx.setup.rate);
    resumes(cx, seen, (flow, priority), (xon, expiry));
    cx.none_lost(seen, (flow, priority));
    Ok(())
}

/// Judges the time from XON to the next frame, before the end of the pause could be taken for it.
pub(super) fn resumes(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
    (xon, expiry): (Duration, Duration),
) {
    let most = cx.setup.limits.resume.min(expiry.saturating_sub(xon).div(2));
    let Some(first) = seen.of(flow, Way::Received).find(|record| record.begin >= xon) else {
        cx.count(format!("frames of priority {priority} after XON"), 0, Limits::at_least(1.0));
        return;
    };
    let taken = first.begin.saturating_sub(xon);
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.time(format!("time to resume priority {priority}"), taken, limits, seen.uncertainty);
}

//! V-00: the tester's check of itself, on a cable without the DUT.

use super::storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way};
use crate::setup::FlowControl;
use crate::test::{Context, Level, Scope, Test};
use crate::trial::{Flow, FlowId, Limit, Obeys, Rate, Trial};
use ground::time::Duration;
use ground::units::PrioritySet;
use std::collections::HashMap;

pub const SELF_CHECK: Test = describe! {
    id: "V-00",
    title: "the tester's check of itself",
    purpose: "A tester whose storms have gaps, whose frames are wrong, that does not obey, or that sends \
              less than it says would blame the DUT.",
    clause: "802.1Q 36.1.2, 802.3 31B.3.7",
    procedure: "A cable joins A and B. A flow at 99.98 % of the line from A to B; then flows on all \
                priorities, and a storm at B.",
    pass: "The flow has its rate within 0.1 % and loses nothing. Pauses leave as they were configured, \
           without a gap, and A obeys them within the limit. The shortest delay is that of the cable. \
           Nothing else is on the wire.",
    source: "faults of public testers: gaps in storms, missing frames, ignored pauses",
    run: self_check,
    level: Level::Quick,
    scope: Scope::Device,
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

/// Share of the line of the rate check.
const SHARE: f64 = 0.9998;

fn self_check(cx: &mut Context<'_>) -> Result<(), TrialError> {
    judge_rate(cx)?;
    judge_storm(cx)
}

/// Checks that the offered rate is the intended one.
fn judge_rate(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let priority = cx.stopped()?;
    let mut trial = Trial::new("rate on a cable", times.hold + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(times.hold)).rate(Rate::Line(SHARE));
    let flow = trial.flow(flow.size(SIZE));
    trial.obeys.push((a, Obeys::Nothing));
    let observed = cx.observe_cable(&trial)?;
    let tally = observed.tally(flow);
    let wanted = cx.setup.share(SHARE, SIZE) * times.hold.as_secs_f64() / (f64::from(SIZE) * 8.0);
    let share = tally.sent as f64 / wanted * 100.0;
    cx.judge(
        "offered of the intended rate",
        share,
        Limits::around(100.0, 0.1),
        100.0 / wanted,
        "%",
    );
    cx.count("frames lost on the cable", tally.lost(), Limits::exactly(0.0));
    judge_stamps(cx, &observed, flow);
    Ok(())
}

/// Judges the time stamps by the shortest delay of a frame. The uncertainty of both stamps is part of
/// the limits: stamps are wrong only if they contradict what is said of them.
fn judge_stamps(cx: &mut Context<'_>, observed: &Observation, flow: FlowId) {
    let begin = |record: &Record| Some((record.what.sequence()?, record.begin.as_nanos_f64()));
    let sent: HashMap<u64, f64> = observed.of(flow, Way::Sent).filter_map(begin).collect();
    let received = observed.of(flow, Way::Received).filter_map(begin);
    let delays = received.filter_map(|(sequence, at)| Some(at - sent.get(&sequence)?));
    let shortest = delays.min_by(f64::total_cmp).unwrap_or(f64::NAN);
    let tolerance = cx.setup.line_time(SIZE).div(2) + observed.uncertainty.saturating_mul(2);
    let limits = Limits::around(cx.setup.cable.as_nanos_f64() / 2.0, tolerance.as_nanos_f64());
    cx.judge("shortest delay on the cable", shortest, limits, 0.0, "ns");
}

/// Checks the own storm, and the own reaction to it.
fn judge_storm(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let set = match cx.setup.flow_control {
        FlowControl::Pfc => PrioritySet::of(cx.lossless()?),
        FlowControl::Pause => cx.priorities(),
    };
    let storm = storm::for_set(cx, (a, b), set, SIZE);
    let observed = cx.observe_cable(&storm.trial)?;
    cx.at_rest(&observed, &storm.trial, &storm.rest)?;
    let sent: Vec<Duration> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let arrived: Vec<&[u8]> = observed.control(a).map(|(_, octets)| octets).collect();
    cx.count(
        "pauses lost on the cable",
        (sent.len() - arrived.len().min(sent.len())) as u64,
        Limits::exactly(0.0),
    );
    let own = cx.pause(b, set, storm::longest(cx));
    let other = arrived.iter().filter(|octets| octets[..] != own[..]).count() as u64;
    cx.count("pauses that are not as configured", other, Limits::exactly(0.0));
    let gap = sent.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    let window = storm::longest(cx).at(cx.setup.rate);
    // A pause must be renewed well before its end, also if a frame is sent first.
    let most = window.as_nanos_f64() * 0.9 - cx.setup.line_time(SIZE).as_nanos_f64();
    cx.time(
        "largest gap between two pauses",
        gap.unwrap_or_default(),
        Limits::at_most(most),
        observed.uncertainty,
    );
    let held = storm::held(cx, &observed, b)?;
    for (n, p) in storm.priorities.iter().enumerate().filter(|(_, p)| set.contains(**p)) {
        storm::none_began(cx, &observed, FlowId(n), *p, &held);
    }
    let own: Vec<_> = cx.setup.ports.iter().map(|port| port.mac).collect();
    // Frames of others would be taken for those of the DUT.
    let foreign = observed.foreign(&own).count() as u64;
    cx.count("frames of others on the wire", foreign, Limits::exactly(0.0));
    Ok(())
}

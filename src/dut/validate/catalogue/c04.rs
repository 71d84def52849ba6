//! V-C04: sums of counters.

use super::r16;
use crate::bench::Trouble;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, LEARNING, Limit, LinkChange, Port, Rate, Trial};

pub const TEST: Test = Test {
    id: "V-C04",
    aliases: &["conservation"],
    title: "every frame is counted, and a link failure clears nothing",
    purpose: "Each frame that a device receives is sent, or dropped under a reason that it counts.",
    clause: "RFC 2863 (ifInDiscards, ifOutDiscards): dropped frames are counted",
    topology: Topology::T3,
    procedure: "A and B send at 60 % of the line each to C on a lossy priority, and as much on a lossless one. \
                Then A sends 1,000 frames to B, its link fails for the settling time, and it sends 1,000 \
                more.",
    pass: "Of the overload: the sum of the device's drops by reason is the number of frames that were sent and \
           did not arrive; the frames received from A and B, with or without dropped ones, and those \
           sent to C are counted. The device still counts the frames from before the link failure. Where the \
           tester cannot take its link down, that part is skipped.",
    uncertainty: "None: counts. Copies of the frames by which the device learns addresses may be in those sent \
                  to C.",
    source: "sonic-mgmt issue 14205; conservation of frames",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each flow of the overload.
const SHARE: f64 = 0.6;

/// Frames before the link failure, and after it.
const FRAMES: u32 = 1000;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    overload(cx)?;
    match flap(cx) {
        Err(Trouble::Missing(why)) => {
            cx.skip("counters after a link failure", &why);
            Ok(())
        }
        other => other,
    }
}

/// Returns the frames that were sent and that arrived, of all flows from a port; of all ports if it is
/// `None`.
fn frames(seen: &Observation, trial: &Trial, from: Option<Port>) -> (u64, u64) {
    let of = |flow: &Flow| from.is_none_or(|from| flow.from == from);
    let ids = (0..trial.flows.len()).filter(|n| of(&trial.flows[*n])).map(FlowId);
    let count = |id, way| seen.of(id, way).count() as u64;
    ids.map(|id| (count(id, Way::Sent), count(id, Way::Received)))
        .fold((0, 0), |(s, r), (sent, received)| (s + sent, r + received))
}

/// Judges the sums of an overload.
fn overload(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let times = cx.setup.times;
    let mut trial = Trial::new("overload", times.hold + times.drain);
    for from in [a, b] {
        for priority in [cx.lossy()?, cx.lossless()?] {
            let flow = Flow::new((from, c), priority, Limit::Time(times.hold));
            trial.flow(flow.rate(Rate::Line(SHARE)));
        }
    }
    let (seen, counters) = cx.count_over(trial.clone())?;
    let (sent, received) = frames(&seen, &trial, None);
    let lost = sent - received;
    if lost == 0 {
        let what =
            "no frame of the overload is lost, so no drop can be counted; lengthen `times.hold`";
        return Err(Trouble::Error(what.to_owned()));
    }
    let last =
        seen.records.iter().filter(|r| r.way == Way::Received && r.what.sequence().is_some());
    if last.map(|record| record.end).max().is_some_and(|end| end > times.hold + times.drain.div(2))
    {
        let what = "times.drain: the device still sends what it held; lengthen it";
        return Err(Trouble::Error(what.to_owned()));
    }
    let what = "counted drops of all reasons";
    match counters.dropped() {
        Some(dropped) => cx.count(what, dropped, Limits::exactly(lost as f64)),
        None => cx.skip(what, "adapter: the device's counters of drops by reason are unknown"),
    }
    let learning = u64::from(LEARNING);
    for port in [a, b] {
        let (sent, received) = frames(&seen, &trial, Some(port));
        let limits = Limits {
            at_least: Some((received + learning) as f64),
            at_most: Some((sent + learning) as f64),
        };
        let what = format!("counted data frames from {}", cx.port(port).name);
        cx.judge_counter(what, &counters, ((port, None), Counter::RxOk), limits);
    }
    let copies = learning * (cx.setup.ports.len() as u64 - 1);
    let limits =
        Limits { at_least: Some(received as f64), at_most: Some((received + copies) as f64) };
    cx.judge_counter("counted data frames to C", &counters, ((c, None), Counter::TxOk), limits);
    Ok(())
}

/// Judges that counters survive a link failure.
fn flap(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let span = cx.setup.line_time(1024).saturating_mul(u64::from(FRAMES) * 5);
    let down = times.baseline + span + times.settle;
    let up = down + times.settle;
    let hello = up + times.settle;
    let again = hello + times.settle;
    let mut trial = Trial::new("link failure", again + span + times.drain);
    for start in [times.baseline, again] {
        let flow = Flow::new((a, b), priority, Limit::Frames(FRAMES)).rate(Rate::Line(0.2));
        trial.flow(flow.start(start));
    }
    trial.links.push(LinkChange { port: a, at: down, up: false });
    trial.links.push(LinkChange { port: a, at: up, up: true });
    trial.frame(a, r16::hello(cx.port(a).mac), hello);
    let (seen, counters) = cx.count_over(trial)?;
    // The learning frames and the frame after the failure are data too.
    let sent: u64 = [0, 1].map(|n| seen.tally(FlowId(n)).sent).iter().sum();
    let wanted = sent + u64::from(LEARNING) + 1;
    let limits = Limits::exactly(wanted as f64);
    let what = "counted data frames from A before and after a link failure";
    cx.judge_counter(what, &counters, ((a, None), Counter::RxOk), limits);
    Ok(())
}

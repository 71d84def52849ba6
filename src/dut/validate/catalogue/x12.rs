//! V-X12: ports of different rates.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::setup::line_time;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use core::ops::Range;
use ground::time::Duration;

pub const TEST: Test = Test {
    id: "V-X12",
    aliases: &[],
    title: "a fast port sends to a slow one",
    purpose: "A port that is faster than the one that its frames leave by is paused before a frame is lost.",
    clause: "802.1Q 36.1.3.1, 36.1.3.3",
    topology: Topology::Ts,
    procedure: "The fastest port sends to the slowest one: one lossy priority with 40 % of the slow line, or less \
                if the rates are close, and one lossless priority with all that the fast line has left.",
    pass: "No lossless frame is lost, and the fast port is paused. The lossless priority has at least what the \
           lossy one leaves, 60 % of the slow line, within {rate}. The loss of the lossy one is recorded.",
    uncertainty: "Time stamps of the tester, twice, and one frame, as a part of the span.",
    source: "SNAPPI 03 of sonic-mgmt: 400G to 100G",
    level: Level::Full,
    run,
    line: line!(),
};

/// Largest share of the slow line that the lossy priority is offered with.
const LOSSY: f64 = 0.4;

/// Least load of the slow line by the lossless priority, also where it is served first.
const LOAD: f64 = 1.05;

/// Largest ratio of the slow rate to the fast one.
const RATIO_MAX: f64 = 0.9;

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let (fast, slow) = ends(cx)?;
    cx.lossless()?;
    let lossy = cx.lossy()?;
    let times = cx.setup.times;
    // Shares of the sender's line.
    let ratio = cx.port(slow).rate.get() as f64 / cx.port(fast).rate.get() as f64;
    let part = (LOSSY * ratio).min(1.0 - LOAD * ratio);
    for priority in cx.each_lossless() {
        let mut trial = Trial::new("overload of a slow port", times.hold + times.drain);
        let flow = |of, share| {
            let flow = Flow::new((fast, slow), of, Limit::Time(times.hold)).size(SIZE);
            flow.rate(Rate::Line(share))
        };
        let held = trial.flow(flow(priority, 1.0 - part));
        let other = trial.flow(flow(lossy, part));
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        congestion::lossless(cx, &seen, &trial, priority);
        let name = cx.port(fast).name.clone();
        let stops = congestion::begins(&congestion::pauses(&seen, fast, priority), priority);
        let what = format!("pauses of priority {priority} at {name}");
        cx.count(what, stops, Limits::at_least(1.0));
        let span = times.hold.div(4)..times.hold;
        let (share, u) = share(cx, &seen, (held, slow), &span);
        let least = (1.0 - part / ratio - cx.setup.limits.rate) * 100.0;
        let what = format!("share of priority {priority} of the line of {}", cx.port(slow).name);
        cx.judge(what, share, Limits::at_least(least), u, "%");
        let lost = seen.tally(other).lost() as f64;
        let clause =
            "shares are the device's configuration; frames of a lossy priority may be lost";
        cx.policy(format!("lost frames of lossy priority {lossy}"), lost, "", clause);
    }
    Ok(())
}

/// Returns the fastest and the slowest port.
fn ends(cx: &Context<'_>) -> Result<(Port, Port), Trouble> {
    let rate = |port: &Port| cx.port(*port).rate.get();
    let ports = || (0..cx.setup.ports.len()).map(Port);
    // Of equal ones the first.
    let fast = ports().rev().max_by_key(rate);
    let slow = ports().min_by_key(rate);
    match (fast, slow) {
        (Some(fast), Some(slow)) if rate(&slow) as f64 <= RATIO_MAX * rate(&fast) as f64 => {
            Ok((fast, slow))
        }
        _ => {
            let what = "ports.rate: all ports have about the same rate; add a port of another one";
            Err(Trouble::Missing(what.to_owned()))
        }
    }
}

/// Returns the share of the line of a port that a flow has in a span, in percent, and its uncertainty.
fn share(
    cx: &Context<'_>,
    seen: &Observation,
    (flow, port): (FlowId, Port),
    span: &Range<Duration>,
) -> (f64, f64) {
    let line = line_time(cx.port(port).rate, SIZE).as_secs_f64();
    let time = span.end.saturating_sub(span.start).as_secs_f64();
    let frames = seen.of(flow, Way::Received).filter(|record| span.contains(&record.end)).count();
    let share = frames as f64 * line / time;
    let u = (line + seen.uncertainty.as_secs_f64() * 2.0 * share) / time;
    (share * 100.0, u * 100.0)
}

//! V-X04: a pause is renewed in time.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Record, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Port, Rate, Trial, VECTOR};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-X04",
    aliases: &[],
    title: "a pause is renewed before it ends",
    purpose: "A port that stays out of buffer renews its pauses before they expire at the peer.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B pauses it for longer than a \
                pause lasts, so that the device fills up and pauses A. A obeys. If there are two lossless \
                priorities, the same with both, while B pauses the other one by turns.",
    pass: "From the first pause on, A receives the next one within the time of a pause less the limit, \
           sends nothing of the priority meanwhile, and no frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "own; gaps in storms of public testers",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each of two flows.
const SHARE: f64 = 0.45;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ends = cx.ports()?;
    cx.lossless()?;
    let lossless = cx.setup.lossless;
    for priority in cx.each_lossless() {
        let mut trial = storm(cx, ends, &[priority], 1.0);
        judge(cx, &trial, ends, priority)?;
        if let Some(other) = lossless.iter().find(|other| *other != priority) {
            trial = storm(cx, ends, &[priority, other], SHARE);
            trial.name = format!("{} beside one that comes and goes", trial.name);
            by_turns(cx, &mut trial, ends, other);
            judge(cx, &trial, ends, priority)?;
        }
    }
    Ok(())
}

/// Returns flows on these priorities, and a storm for the first one.
fn storm(cx: &Context<'_>, [a, b]: [Port; 2], priorities: &[Priority], share: f64) -> Trial {
    let (times, hold) = (cx.setup.times, hold(cx));
    let traffic = times.baseline + hold + times.settle;
    let mut trial = Trial::new("storm until the device is full", traffic + times.drain);
    for priority in priorities {
        let flow = Flow::new((a, b), *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    let set = PrioritySet::of(priorities[0]);
    let from = times.baseline;
    trial.storm((b, cx.port(b).mac, cx.setup.rate), set, (from, from + hold));
    trial
}

/// Returns the time of a storm.
fn hold(cx: &Context<'_>) -> Duration {
    let window = congestion::window(cx);
    cx.setup.times.hold.max(window.saturating_mul(4)).min(cx.setup.storm_max())
}

/// Pauses a priority for three quarters of the time, so that the device pauses and resumes it all the time.
fn by_turns(cx: &Context<'_>, trial: &mut Trial, [_, b]: [Port; 2], priority: Priority) {
    let every = congestion::window(cx).div(8);
    let frames = (hold(cx).as_picos() / every.as_picos().max(1)) as u32;
    let octets = cx.pause(b, PrioritySet::of(priority), Quanta(Quanta::MAX.0 / 32 * 3));
    let start = cx.setup.times.baseline;
    trial.control.push(Control { port: b, octets, start, every, frames });
}

/// Judges the pauses of the first flow's priority.
fn judge(
    cx: &mut Context<'_>,
    trial: &Trial,
    [a, b]: [Port; 2],
    priority: Priority,
) -> Result<(), Trouble> {
    let baseline = cx.setup.times.baseline;
    let seen = cx.observe(trial)?;
    cx.at_rest(&seen, trial, &(baseline.div(4)..baseline))?;
    let stormed = |(_, octets): &(&Record, &[u8])| names(octets, priority);
    let sent: Vec<_> = seen.control_sent(b).filter(stormed).map(|(r, _)| r.end).collect();
    let Some(last) = sent.last() else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    let window = congestion::window(cx);
    // 802.3 allows 100 ppm for each clock.
    let end = *last + window.saturating_sub(window.div(5_000));
    let pauses = congestion::pauses(&seen, a, priority);
    let pauses: Vec<_> = pauses.into_iter().filter(|p| p.stops(priority)).collect();
    let name = &cx.port(a).name.clone();
    let count = pauses.iter().filter(|pause| pause.at < end).count() as u64;
    cx.count(format!("pauses of priority {priority} at {name}"), count, Limits::at_least(2.0));
    let Some(first) = pauses.first() else { return Ok(()) };
    let gap = congestion::largest_gap(&pauses, end).unwrap_or_default();
    let most = window.saturating_sub(cx.setup.stop_limit());
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.time(format!("largest gap between pauses at {name}"), gap, limits, seen.uncertainty);
    let after = first.at + cx.setup.stop_limit();
    let during = seen.of(FlowId(0), Way::Sent).filter(|r| r.begin > after && r.end < end);
    let sent = during.count() as u64;
    let what = format!("frames of priority {priority} sent by {name}");
    cx.count(what, sent, Limits::exactly(0.0));
    for flow in &trial.flows {
        congestion::lossless(cx, &seen, trial, flow.priority);
    }
    Ok(())
}

/// Returns true if a PFC frame names a priority.
fn names(octets: &[u8], priority: Priority) -> bool {
    octets.get(VECTOR + 1).is_some_and(|low| PrioritySet(*low).contains(priority))
}

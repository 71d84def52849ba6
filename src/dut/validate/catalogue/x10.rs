//! V-X10: no loss against a peer that stops late.

use super::{congestion, stop};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Obeys};
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-X10",
    aliases: &["PFC-pause-response-time"],
    title: "no loss against a peer that stops late",
    purpose: "The headroom of a port is enough for a peer that uses the time which it may take to stop.",
    clause: "802.1Q 36.1.3.3, Annex N; 802.3 31B.3.7",
    topology: Topology::T3,
    procedure: "Flows on one lossless priority from A and from B overload C, which pauses it for the first half: \
                the device drains nothing then. The tester stops 0, 25, 50, 75 and 100 % of the limit after a \
                pause; at level full also 2, 4, 8 and 16 times that.",
    pass: "No frame is lost up to the limit. The first loss beyond it is recorded.",
    uncertainty: "None: counts.",
    source: "Keysight ai-ml-testing PFC-pause-response-time; sonic-mgmt pfc_delay",
    level: Level::Full,
    run,
    line: line!(),
};

/// Delays in percent of the limit.
const WITHIN: [u32; 5] = [0, 25, 50, 75, 100];
const BEYOND: [u32; 4] = [200, 400, 800, 1600];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let priority = cx.lossless()?;
    for percent in WITHIN {
        let lost = lost(cx, percent)?;
        let what = format!("lost frames of priority {priority} at a delay of {percent} %");
        cx.count(what, lost, Limits::exactly(0.0));
    }
    if cx.level == Level::Full {
        for percent in BEYOND {
            if lost(cx, percent)? > 0 {
                let clause = "the limit of 802.3 31B.3.7 is all that a peer may take";
                cx.policy("first delay with a loss", f64::from(percent), "%", clause);
                break;
            }
        }
    }
    Ok(())
}

/// Returns the frames that are lost if the tester stops this late, in percent of the limit.
fn lost(cx: &mut Context<'_>, percent: u32) -> Result<u64, Trouble> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.lossless()?;
    let quanta = u32::from(cx.setup.limits.reaction.0) * percent / 100;
    let late = Obeys::Pfc(Quanta(quanta.min(u16::MAX.into()) as u16));
    let mut trial = congestion::to_one(cx, (&[a, b], c), &[priority], 1.0);
    trial.obeys.extend([(a, late), (b, late)]);
    // Frames that leave meanwhile would hide a part of a headroom that is too small.
    let stopped = cx.setup.times.hold.div(2).min(cx.setup.storm_max());
    stop::add(cx, &mut trial, (c, PrioritySet::of(priority)), (Duration::ZERO, stopped));
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    Ok((0..trial.flows.len()).map(|n| seen.tally(FlowId(n)).lost()).sum())
}

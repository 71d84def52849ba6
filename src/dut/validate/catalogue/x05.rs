//! V-X05: all congested priorities are paused.

use super::{congestion, stop};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;
use ground::time::Duration;
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-X05",
    aliases: &[],
    title: "all congested priorities are paused",
    purpose: "A port that runs out of buffer for several priorities pauses each of them.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows on two lossless priorities from A and from B to C, each at 40 % of the line. C pauses \
                both, so that both are over whatever the scheduling is.",
    pass: "No frame is lost, and none of either priority begins at C from the limit after the first pause to the \
           end of the last one. A and B receive pauses for both priorities, and until that end for neither \
           more than twice as many as for the other.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt issue 20075",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each of four flows.
const SHARE: f64 = 0.4;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let two: Vec<_> = cx.setup.lossless.iter().take(2).collect();
    if two.len() < 2 {
        return Err(Trouble::Missing("lossless: two priorities are needed".into()));
    }
    let mut trial = congestion::to_one(cx, (&[a, b], c), &two, SHARE);
    let mut set = PrioritySet::EMPTY;
    two.iter().for_each(|priority| set.insert(*priority));
    let hold = (Duration::ZERO, cx.setup.times.hold.min(cx.setup.storm_max()));
    trial.storm((c, cx.port(c).mac, cx.setup.rate), set, hold);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    let held = stop::held(cx, &seen, c)?;
    for (n, flow) in trial.flows.iter().enumerate() {
        stop::none_began(cx, &seen, (FlowId(n), flow.priority), &held);
    }
    let mut counts = Vec::new();
    for priority in two {
        congestion::lossless(cx, &seen, &trial, priority);
        for port in [a, b] {
            let stops: Vec<_> = seen.pauses(port).filter(|pause| pause.stops(priority)).collect();
            let what = format!("pauses of priority {priority} at {}", cx.port(port).name);
            cx.count(what, stops.len() as u64, Limits::at_least(1.0));
            // Later the scheduler decides which of them is relieved first.
            let alike = stops.iter().filter(|pause| pause.at < held.end).count() as u64;
            counts.push(alike.max(1));
        }
    }
    let (most, least) = (counts.iter().max(), counts.iter().min());
    if let (Some(most), Some(least)) = (most, least) {
        let ratio = *most as f64 / *least as f64;
        cx.judge("pauses of one for one of the other", ratio, Limits::at_most(2.0), 0.0, "");
    }
    Ok(())
}

//! V-I05: no deadlock.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-I05",
    aliases: &["L10"],
    title: "a ring of paused ports does not end in a deadlock",
    purpose: "Where pauses depend on each other in a ring, frames go on, or the watchdog frees them.",
    clause: "802.1Q 36.1.1, which leaves deadlocks to the operator; SONiC PFC watchdog",
    topology: Topology::Tr,
    procedure: "Each of the three ports of a ring (`expected.ring`) sends one lossless priority at line rate \
                to the port before it, so that its frames take two of the three links: for four \
                times `times.hold`, or eight times the watchdog's detection and restoration if that is \
                longer.",
    pass: "In each quarter of the traffic frames of each flow arrive. No frame is lost; with a watchdog the \
           lost ones are recorded instead.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt L10; draft-calabria-bmwg-ai-fabric-training-bench",
    level: Level::Full,
    run,
    line: line!(),
};

/// Load of each port: a little less than all, so that a sender in software keeps its rate.
const LOAD: f64 = 0.98;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    if !cx.setup.expected.ring {
        let what = "expected.ring is missing: the ports have to be at a ring of switches";
        return Err(Trouble::Missing(what.to_owned()));
    }
    for priority in cx.each_lossless() {
        around(cx, priority)?;
    }
    Ok(())
}

/// Returns the length of the traffic.
fn length(cx: &Context<'_>) -> Duration {
    let dog = cx.setup.expected.watchdog;
    let dog = dog.map_or(Duration::ZERO, |dog| dog.detection + dog.restoration + dog.poll);
    cx.setup.times.hold.saturating_mul(4).max(dog.saturating_mul(8))
}

fn around(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let ports @ [a, b, c] = cx.ports::<3>()?;
    let length = length(cx);
    let mut trial = Trial::new("a ring", length + cx.setup.times.drain);
    for ends in [(a, c), (b, a), (c, b)] {
        let flow = Flow::new(ends, priority, Limit::Time(length));
        trial.flow(flow.rate(Rate::Line(LOAD)));
    }
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    if ports.iter().any(|port| congestion::stops(&seen, *port, priority) == 0) {
        let what = "the device did not pause each port: these are not at a ring, or its frames go \
                    around in the other direction";
        return Err(Trouble::Error(what.to_owned()));
    }
    for (n, port) in ports.iter().enumerate() {
        let flow = FlowId(n);
        let name = cx.port(*port).name.clone();
        let quarter = |n: u64| length.div(4).saturating_mul(n)..length.div(4).saturating_mul(n + 1);
        let least = (0..4).map(|n| seen.began_in(flow, &quarter(n))).min().unwrap_or(0);
        let what = format!("frames of priority {priority} from {name} in a quarter of the time");
        cx.count(what, least, Limits::at_least(1.0));
        let what = format!("lost frames of priority {priority} from {name}");
        let lost = seen.tally(flow).lost();
        match cx.setup.expected.watchdog {
            None => cx.count(what, lost, Limits::exactly(0.0)),
            Some(_) => cx.policy(what, lost as f64, "", "a watchdog drops to end a deadlock"),
        }
    }
    Ok(())
}

//! V-X01: XOFF before any loss.

use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial};

pub const TEST: Test = Test {
    id: "V-X01",
    aliases: &["L08"],
    title: "pauses are sent before a frame is lost",
    purpose: "A port that runs out of buffer for a lossless priority pauses its peers in time.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows on one lossless priority from A and from B to C at line rate. The tester obeys.",
    pass: "No frame is lost, and A and B receive at least one pause for the priority each.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt L08",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let times = cx.setup.times;
    for priority in cx.each_lossless() {
        let mut trial = Trial::new("two to one", times.hold + times.drain);
        let flows =
            [a, b].map(|from| trial.flow(Flow::new((from, c), priority, Limit::Time(times.hold))));
        let seen = cx.observe(&trial)?;
        for (flow, from) in flows.into_iter().zip([a, b]) {
            let tally = seen.tally(flow);
            let name = &cx.port(from).name.clone();
            if tally.received == 0 {
                let what = format!("no frame from port {name} arrives; check the cables");
                return Err(Trouble::Error(what));
            }
            cx.count(format!("lost frames from {name}"), tally.lost(), Limits::exactly(0.0));
            let pauses = seen.pauses(from).filter(|pause| pause.stops(priority)).count();
            let what = format!("pauses of priority {priority} at {name}");
            cx.count(what, pauses as u64, Limits::at_least(1.0));
        }
    }
    Ok(())
}

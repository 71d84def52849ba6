//! V-X07: no pause without congestion.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};

pub const TEST: Test = Test {
    id: "V-X07",
    aliases: &[],
    title: "no pause without congestion",
    purpose: "A port that can send all that it receives pauses nobody and loses nothing.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "A flow on a lossless priority at 90 % and one on a lossy priority at 9 % of the line from \
                A to B; then a flow on the lossless priority at 45 % from A and from B to C.",
    pass: "No pause is received, no frame is lost, and all flows keep their rates within {rate}.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt SNAPPI 01, no_congestion",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let times = cx.setup.times;
    let flows = [
        vec![((a, b), lossless, 0.9), ((a, b), lossy, 0.09)],
        vec![((a, c), lossless, 0.45), ((b, c), lossless, 0.45)],
    ];
    for flows in flows {
        let mut trial = Trial::new("no congestion", times.hold + times.drain);
        for (ends, priority, share) in flows {
            let flow = Flow::new(ends, priority, Limit::Time(times.hold));
            trial.flow(flow.rate(Rate::Line(share)));
        }
        let seen = cx.observe(&trial)?;
        let pauses: usize = [a, b, c].map(|port| seen.control(port).count()).iter().sum();
        // A device that pauses a flow before its first frame fails; the cables are not to blame.
        if pauses == 0 {
            congestion::arrives(cx, &seen, &trial)?;
        }
        cx.count("MAC control frames of the device", pauses as u64, Limits::exactly(0.0));
        let span = times.hold.div(8)..times.hold;
        for (n, flow) in trial.flows.iter().enumerate() {
            cx.rate(&seen, &trial, FlowId(n), &span);
            let what = format!("lost frames of priority {}", flow.priority);
            cx.count(what, seen.tally(FlowId(n)).lost(), Limits::exactly(0.0));
        }
        if pauses > 0 {
            break;
        }
    }
    Ok(())
}

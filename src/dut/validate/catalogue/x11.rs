//! V-X11: a peer that ignores pauses harms itself only.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Obeys, Rate, Trial};

pub const TEST: Test = Test {
    id: "V-X11",
    aliases: &[],
    title: "a peer that ignores pauses harms itself only",
    purpose: "Frames of a peer that does not obey are dropped when its headroom is full, and those of \
              others are not.",
    clause: "802.1Q 36.1.3.3",
    topology: Topology::Th,
    procedure: "Flows on one lossless priority at line rate from A and from B to C; A ignores pauses, B \
                obeys. Flows on a lossy priority from A and from B to D at 10 %.",
    pass: "No frame of B is lost, and none of the lossy priority; these keep their rates within {rate}. Frames \
           of A are dropped.",
    uncertainty: "None: counts.",
    source: "own; storms of sonic-mgmt",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c, d] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let times = cx.setup.times;
    let mut trial = Trial::new("one peer ignores pauses", times.hold + times.drain);
    let limit = Limit::Time(times.hold);
    let flow = |ends, priority, share| Flow::new(ends, priority, limit).rate(Rate::Line(share));
    let ignoring = trial.flow(flow((a, c), lossless, 0.9));
    let obeying = trial.flow(flow((b, c), lossless, 0.9));
    let others = [a, b].map(|from| trial.flow(flow((from, d), lossy, 0.1)));
    trial.obeys.push((a, Obeys::Nothing));
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    let lost = |flow: FlowId| seen.tally(flow).lost();
    let names = [a, b].map(|port| cx.port(port).name.clone());
    let span = times.hold.div(4)..times.hold;
    cx.count(
        format!("lost frames of {}, which obeys", names[1]),
        lost(obeying),
        Limits::exactly(0.0),
    );
    for (flow, name) in others.into_iter().zip(&names) {
        let what = format!("lost frames of lossy priority {lossy} from {name}");
        cx.count(what, lost(flow), Limits::exactly(0.0));
        cx.rate(&seen, &trial, flow, &span);
    }
    let what = format!("dropped frames of {}, which ignores pauses", names[0]);
    cx.count(what, lost(ignoring), Limits::at_least(1.0));
    Ok(())
}

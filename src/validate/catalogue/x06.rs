//! V-X06: only lossless priorities are paused, and only at ports whose frames are held.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;

pub const TEST: Test = Test {
    id: "V-X06",
    aliases: &["Y04"],
    title: "nothing else is paused",
    purpose: "Congestion of lossy priorities pauses nobody, and ports that do not send to the congested \
              port are not paused.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows on a lossless and on a lossy priority from A and from B to C, each at half of the \
                line.",
    pass: "No lossless frame is lost. No pause names a priority without PFC, and C receives none. Lossy \
           frames are dropped.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt Y04",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line of each of four flows.
const SHARE: f64 = 0.5;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let trial = congestion::to_one(cx, (&[a, b], c), &[lossless, lossy], SHARE);
    let seen = cx.observe(&trial)?;
    congestion::lossless(cx, &seen, &trial, lossless);
    let others = !cx.setup.lossless.0;
    for port in [a, b] {
        let name = cx.port(port).name.clone();
        let wrong = seen.pauses(port).filter(|p| p.frame.enabled.0 & others != 0).count() as u64;
        let what = format!("pauses of priorities without PFC at {name}");
        cx.count(what, wrong, Limits::exactly(0.0));
    }
    let name = cx.port(c).name.clone();
    let at_c = seen.pauses(c).count() as u64;
    cx.count(format!("pauses at {name}, which sends nothing"), at_c, Limits::exactly(0.0));
    let flows = trial.flows.iter().enumerate().filter(|(_, flow)| flow.priority == lossy);
    let lost: u64 = flows.map(|(n, _)| seen.tally(FlowId(n)).lost()).sum();
    cx.count(format!("dropped frames of lossy priority {lossy}"), lost, Limits::at_least(1.0));
    Ok(())
}

//! V-X06: only lossless priorities are paused, and only at ports whose frames are held.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Rate};

pub const TEST: Test = Test {
    id: "V-X06",
    aliases: &["Y04"],
    title: "nothing else is paused",
    purpose: "Congestion of lossy priorities pauses nobody, and ports that do not send to the congested \
              port are not paused.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows from A and from B to C: each on a lossless priority at 60 % of the line, so that it \
                is congested alone, and on a lossy one at 40 %.",
    pass: "A or B is paused, and no lossless frame is lost. No pause names a priority without PFC, and C \
           receives none. Lossy frames are dropped.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt Y04",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line of each lossless flow: two are too much for the port, whatever the scheduler
/// gives to others.
const SHARE: f64 = 0.6;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let mut trial = congestion::to_one(cx, (&[a, b], c), &[lossless, lossy], SHARE);
    for flow in trial.flows.iter_mut().filter(|flow| flow.priority == lossy) {
        flow.rate = Rate::Line(1.0 - SHARE);
    }
    let seen = cx.observe(&trial)?;
    congestion::lossless(cx, &seen, &trial, lossless);
    let pauses = [a, b].map(|port| congestion::stops(&seen, port, lossless));
    let what = format!("pauses of priority {lossless} (see V-X01)");
    cx.count(what, pauses.iter().sum(), Limits::at_least(1.0));
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

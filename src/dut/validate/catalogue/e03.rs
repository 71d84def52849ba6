//! V-E03: frames without ECN are not marked.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E03",
    aliases: &["DP-1.12"],
    title: "frames without ECN are not marked",
    purpose: "A congested queue does not set CE on Not-ECT packets, and a lossless one does not drop them.",
    clause: "RFC 3168 5",
    topology: Topology::T3,
    procedure: "Not-ECT flows on a lossless and on a lossy priority from A and from B overload C.",
    pass: "No frame arrives with CE, and no lossless frame is lost.",
    uncertainty: "None: counts.",
    source: "OpenConfig DP-1.12; sonic-buildimage issue 27606",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line of each flow.
const SHARE: f64 = 0.5;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    for (priority, share) in [(lossless, 2.0 * SHARE), (lossy, 2.0 * SHARE)] {
        let trial = congestion::to_one(cx, (&[a, b], c), &[priority], share);
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        let all = (0..trial.flows.len()).flat_map(|n| seen.of(FlowId(n), Way::Received));
        let is_marked = |what: &What| !matches!(what, What::Data { ecn: Ecn::NotEct, .. });
        let marked = all.filter(|record| is_marked(&record.what)).count() as u64;
        let what = format!("Not-ECT frames of priority {priority} that arrive marked");
        cx.count(what, marked, Limits::exactly(0.0));
        if priority == lossless {
            congestion::lossless(cx, &seen, &trial, lossless);
        }
    }
    Ok(())
}

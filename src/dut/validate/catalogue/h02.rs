//! V-H02: point of the first drop, and headroom.

use super::fill;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;
use ground::units::Bytes;

pub const TEST: Test = Test {
    id: "V-H02",
    aliases: &["PFCtest", "ingress_drop"],
    title: "first drop, and the headroom before it",
    purpose: "A lossless priority group takes its headroom behind XOFF before it drops a frame.",
    clause: "802.1Q 36.1.3.3; the headroom is the device's configuration",
    topology: Topology::T2,
    procedure: "As V-H01, with a tester that ignores pauses: the least number of frames of which one is \
                lost is searched.",
    pass: "The bytes of these frames are at least the threshold and the headroom (`expected.xoff` or \
           `expected.dynamic_th`, `expected.headroom`) less 2 cells. The value is what the device does; it is never used to size \
           headroom.",
    uncertainty: "One frame, which is one cell.",
    source: "SAI PFCtest",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: f64 = 2.0;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let xoff = fill::threshold(cx, 1)?;
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let all = Bytes(xoff.0 + headroom.0);
    let (cell, most) = (f64::from(fill::cell(cx)?), fill::bound(cx, all, cx.setup.shortest())?);
    for priority in cx.each_lossless() {
        let found = fill::least(most, |frames| {
            let seen = fill::fill(cx, (&[a], b), priority, (frames, cx.setup.shortest()))?;
            Ok(seen.tally(FlowId(0)).lost() > 0)
        })?;
        // Frames of which none was lost are a lower bound of the point.
        let bytes = f64::from(found.unwrap_or(most)) * cell;
        let limits = Limits::at_least(all.0 as f64 - MARGIN * cell);
        cx.judge(format!("bytes of priority {priority} until a drop"), bytes, limits, 0.0, "bytes");
        let clause = "the bytes behind XOFF";
        cx.policy(
            format!("headroom of priority {priority}"),
            bytes - xoff.0 as f64,
            "bytes",
            clause,
        );
    }
    Ok(())
}

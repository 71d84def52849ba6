//! V-H01: threshold of XOFF.

use super::fill;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-H01",
    aliases: &["PFCtest"],
    title: "threshold of XOFF",
    purpose: "A lossless priority group sends XOFF at the configured number of bytes.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    topology: Topology::T2,
    procedure: "B pauses one lossless priority all the time. A sends a number of the shortest frames, of \
                64 bytes or with a tag of 68; the least \
                number that causes a pause at A is searched.",
    pass: "It is the configured threshold (`expected.xoff` or `expected.dynamic_th`) within 2 cells (`expected.cell`). The value is \
           what the device does; it is never used to size headroom.",
    uncertainty: "One frame, which is one cell.",
    source: "SAI PFCtest, margin 2",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: f64 = 2.0;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let xoff = fill::threshold(cx, 1)?;
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let (cell, most) = (f64::from(fill::cell(cx)?), fill::bound(cx, xoff, cx.setup.shortest())?);
    for priority in cx.each_lossless() {
        let found = fill::xoff(cx, (&[a], b), priority, (most, cx.setup.shortest()))?;
        let limits = Limits::around(xoff.0 as f64, MARGIN * cell);
        let what = format!("bytes of priority {priority} that cause XOFF");
        match found {
            Some(frames) => cx.judge(what, f64::from(frames) * cell, limits, 0.0, "bytes"),
            None => {
                let what = format!("pauses of priority {priority} for {most} frames");
                cx.count(what, 0, Limits::at_least(1.0));
            }
        }
    }
    Ok(())
}

//! V-H05: shared pool and dynamic threshold.

use super::fill;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-H05",
    aliases: &["SharedResSize"],
    title: "dynamic thresholds share the pool",
    purpose: "A group with a dynamic threshold sends XOFF at alpha times the free part of the shared pool.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    topology: Topology::Tn,
    procedure: "The last port pauses one lossless priority. The first k ports send it the same number of \
                shortest frames; the least number that causes a pause of any of them is searched, for k from \
                one to all.",
    pass: "It is shared alpha / (1 + k alpha) bytes within 2 cells (`expected.shared`, `expected.cell`), where \
           alpha is 2 to the power of `expected.dynamic_th`. The value is what the device does; it is never \
           used to size headroom.",
    uncertainty: "One frame, which is one cell.",
    source: "SAI SharedResSizeTest",
    level: Level::Full,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: f64 = 2.0;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.setup.expected.dynamic_th.ok_or_else(|| fill::missing("dynamic_th"))?;
    cx.lossless()?;
    let cell = f64::from(fill::cell(cx)?);
    let (to, from) = cx.to_last()?;
    for priority in cx.each_lossless() {
        for groups in 1..=from.len() {
            let threshold = fill::threshold(cx, groups)?;
            let most = fill::bound(cx, threshold, cx.setup.shortest())?;
            let ends = (&from[..groups], to);
            let found = fill::xoff(cx, ends, priority, (most, cx.setup.shortest()))?;
            let what =
                format!("bytes of priority {priority} that cause XOFF, from {groups} ports each");
            let limits = Limits::around(threshold.0 as f64, MARGIN * cell);
            match found {
                Some(frames) => cx.judge(what, f64::from(frames) * cell, limits, 0.0, "bytes"),
                None => {
                    let what = format!("pauses for {most} frames from {groups} ports each");
                    cx.count(what, 0, Limits::at_least(1.0));
                }
            }
        }
    }
    Ok(())
}

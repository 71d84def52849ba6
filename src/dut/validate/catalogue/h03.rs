//! V-H03: threshold of XON.

use super::{fill, xon};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-H03",
    aliases: &["pfc_xon"],
    title: "threshold of XON",
    purpose: "A lossless priority group sends XON at the configured number of bytes below XOFF, and at no \
              other.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    topology: Topology::T3,
    procedure: "B and C pause one lossless priority. A sends shortest frames to both until two more than cause \
                XOFF are buffered. C is resumed, so that the frames to C leave, and B later. The least number \
                of frames to C that causes XON before B is resumed is searched, and tried again 10 times \
                (level full: 100 times) with and without its last frame. At level full it is searched again with \
                frames in half of the headroom (`expected.headroom`).",
    pass: "XON is sent at the configured number of bytes (`expected.xon_offset`) below XOFF within 1 cell \
           (`expected.cell`), for a dynamic threshold at that number / (1 + alpha); in all runs at the same number of frames. The value is what the device does; it \
           is never used to size headroom.",
    uncertainty: "One frame, which is one cell. XON within the tester's time stamps of the time at which B is \
                  resumed counts as none.",
    source: "SAI PFCXonTest; sonic-mgmt probe pfc_xon",
    level: Level::Full,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: f64 = 1.0;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let offset = cx.setup.expected.xon_offset.ok_or_else(|| fill::missing("xon_offset"))?;
    let ports = cx.ports()?;
    cx.lossless()?;
    let cell = f64::from(fill::cell(cx)?);
    // A dynamic threshold rises by alpha for each byte that leaves.
    let rise = cx.setup.expected.alpha().unwrap_or(0.0);
    for priority in cx.each_lossless() {
        let Some(point) = xon::point(cx, ports, priority)? else { continue };
        let limits = Limits::around(offset.0 as f64 / (1.0 + rise), MARGIN * cell);
        let what = format!("bytes of priority {priority} from XOFF down to XON");
        cx.judge(what, point.offset() * cell, limits, 0.0, "bytes");
        let runs = cx.by_level(10, 100);
        let deviations = xon::deviations(cx, ports, priority, (point, runs))?;
        let what = format!("runs of {runs} with XON of priority {priority} at another number");
        cx.judge(what, deviations as f64, Limits::exactly(0.0), 0.0, "runs");
        let what = format!("bytes of priority {priority} from XOFF down to XON, after headroom");
        let Some(headroom) = cx.by_level(None, Some(cx.setup.expected.headroom)) else { continue };
        let Some(headroom) = headroom else {
            cx.skip(what, "expected.headroom is missing; add it to the file");
            continue;
        };
        let behind = (headroom.0 as f64 / cell / 2.0) as u32;
        match xon::behind(cx, ports, priority, (point.xoff, behind)) {
            Ok(Some(point)) => cx.judge(what, point.offset() * cell, limits, 0.0, "bytes"),
            Ok(None) => {}
            Err(Trouble::Missing(why)) => cx.skip(what, &why),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

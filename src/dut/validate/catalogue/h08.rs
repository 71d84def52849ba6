//! V-H08: watermarks.

use super::fill;
use crate::bench::Trouble;
use crate::counters::{Counter, Counters};
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;
use ground::units::{Bytes, Priority};

pub const TEST: Test = Test {
    id: "V-H08",
    aliases: &["PGSharedWatermark", "PGHeadroomWatermark"],
    title: "watermarks are true",
    purpose: "The highest fill of a priority group that a device reports is the one that it had.",
    clause: "none: the counters are SAI's watermarks of priority groups",
    topology: Topology::T2,
    procedure: "As V-H01 with numbers of frames that fill 25, 50, 75 and 100 % of the threshold \
                (`expected.xoff`), then with 25, 50, 75 and 100 % of the headroom (`expected.headroom`) as well. \
                The tester ignores pauses.",
    pass: "The device's maximum of the buffer, or of its shared part, and that of the headroom are the bytes of \
           the frames held, in cells (`expected.cell`), within 2 cells.",
    uncertainty: "None: counts.",
    source: "SAI PGSharedWatermark, PGHeadroomWatermark, margin 2",
    level: Level::Full,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: f64 = 2.0;

/// Parts of a space in percent.
const PARTS: [u64; 4] = [25, 50, 75, 100];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let xoff = cx.setup.expected.xoff.ok_or_else(|| fill::missing("xoff"))?;
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        for part in PARTS {
            judge(cx, priority, (Bytes(xoff.0 * part / 100), xoff))?;
        }
        for part in PARTS {
            judge(cx, priority, (Bytes(xoff.0 + headroom.0 * part / 100), xoff))?;
        }
    }
    Ok(())
}

/// Fills a group with some bytes, and judges the maxima.
fn judge(
    cx: &mut Context<'_>,
    priority: Priority,
    (bytes, xoff): (Bytes, Bytes),
) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let cell = u64::from(fill::cell(cx)?);
    fill::bound(cx, bytes, cx.setup.shortest())?;
    let frames = (bytes.0 / cell).max(1) as u32;
    let trial = fill::trial(cx, (&[a], b), priority, (frames, cx.setup.shortest()))?;
    let (seen, counters) = cx.count_over(trial)?;
    // The storm lasts longer than the frames, so all that arrive were held at once.
    let held = seen.tally(FlowId(0)).received * cell;
    let shared = held.min(xoff.0 / cell * cell);
    let known = |counter| counters.get(a, Some(priority), counter).is_some();
    let (counter, wanted) = match known(Counter::SharedPeak) && !known(Counter::BufferPeak) {
        true => (Counter::SharedPeak, shared),
        false => (Counter::BufferPeak, held),
    };
    let place = (a, priority);
    maximum(cx, &counters, place, (counter, wanted, held));
    maximum(cx, &counters, place, (Counter::HeadroomPeak, held - shared, held));
    Ok(())
}

fn maximum(
    cx: &mut Context<'_>,
    counters: &Counters,
    (port, priority): (crate::trial::Port, Priority),
    (counter, wanted, held): (Counter, u64, u64),
) {
    let margin = MARGIN * cx.setup.expected.cell.map_or(0.0, |cell| cell.0 as f64);
    let limits = Limits::around(wanted as f64, margin);
    let what = format!("{} of priority {priority} with {held} bytes held", counter.name());
    cx.judge_counter(what, counters, ((port, Some(priority)), counter), limits);
}

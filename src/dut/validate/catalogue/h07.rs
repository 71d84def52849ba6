//! V-H07: cells.

use super::{congestion, fill};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Limit, Obeys};
use ground::units::Priority;
use std::collections::BTreeSet;

pub const TEST: Test = Test {
    id: "V-H07",
    aliases: &[],
    title: "frames of all sizes use whole cells",
    purpose: "The threshold of XOFF is the same in cells for frames of all sizes, and the headroom is enough \
              for the size that uses most cells.",
    clause: "802.1Q 36.1.3.3; cells are the device's configuration",
    topology: Topology::T3,
    procedure: "V-H01 with the shortest frames and those a byte longer, with frames of a cell and of a byte more, \
                of 1,518 bytes, and with the longest. Then A and B overload C with the size that uses most cells \
                in its time on the line, and stop at the limit after a pause.",
    pass: "The cells of the frames that cause XOFF, in bytes of `expected.cell`, are the configured threshold \
           within 2 cells and the rest of a frame. No frame is lost, and A and B are paused.",
    uncertainty: "One frame.",
    source: "SAI PFCtest; sizes of HPCC and SimAI, whose headroom has no term for the longest frame",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the shortest frame without a tag.
const UNTAGGED: u32 = 64;

/// Margin in cells.
const MARGIN: u32 = 2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let threshold = fill::threshold(cx, 1)?;
    let [a, b, _] = cx.ports()?;
    cx.lossless()?;
    let sizes = sizes(cx)?;
    let cell = fill::used(cx, 1)?;
    for priority in cx.each_lossless() {
        for size in &sizes {
            let (used, most) = (fill::used(cx, *size)?, fill::bound(cx, threshold, *size)?);
            let found = fill::xoff(cx, (&[a], b), priority, (most, *size))?;
            let what =
                format!("bytes of cells of {size}-byte frames of priority {priority} until XOFF");
            let Some(frames) = found else {
                cx.count(
                    format!("pauses for {most} frames of {size} bytes"),
                    0,
                    Limits::at_least(1.0),
                );
                continue;
            };
            let (xoff, margin) = (threshold.0 as f64, f64::from(MARGIN * cell));
            let limits = Limits {
                at_least: Some(xoff - margin),
                at_most: Some(xoff + margin + f64::from(used - cell)),
            };
            cx.judge(what, f64::from(frames) * f64::from(used), limits, 0.0, "bytes");
        }
        worst(cx, priority, &sizes)?;
    }
    Ok(())
}

/// Returns the sizes to try that the device takes, once each. A device may remove a tag before or after
/// it stores a frame, so only those that use the same number of cells with and without it.
fn sizes(cx: &Context<'_>) -> Result<BTreeSet<u32>, Trouble> {
    let (cell, shortest) = (fill::used(cx, 1)?, cx.setup.shortest());
    let tag = shortest - UNTAGGED;
    let all = [shortest, shortest + 1, cell, cell + tag + 1, 1518, cx.setup.max_frame];
    let mut sizes = BTreeSet::new();
    for size in all {
        let is_taken = (shortest..=cx.setup.max_frame).contains(&size);
        if is_taken && fill::used(cx, size)? == fill::used(cx, size - tag)? {
            sizes.insert(size);
        }
    }
    Ok(sizes)
}

/// Judges that no frame is lost of the size that uses most cells in its time on the line.
fn worst(cx: &mut Context<'_>, priority: Priority, sizes: &BTreeSet<u32>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let mut size = cx.setup.shortest();
    let density = |size: u32, used: u32| f64::from(used) / f64::from(size + 20);
    for next in sizes {
        if density(*next, fill::used(cx, *next)?) > density(size, fill::used(cx, size)?) {
            size = *next;
        }
    }
    let frames = fill::bound(cx, fill::threshold(cx, 2)?, size)?.saturating_mul(4);
    let late = Obeys::Pfc(cx.setup.limits.reaction);
    let mut trial = congestion::to_one(cx, (&[a, b], c), &[priority], 1.0);
    trial.name = format!("overload with {size}-byte frames");
    for flow in &mut trial.flows {
        flow.size = size;
        flow.limit = Limit::Frames(frames);
    }
    trial.obeys.extend([(a, late), (b, late)]);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    for (n, port) in [a, b].into_iter().enumerate() {
        let name = cx.port(port).name.clone();
        let stops = seen.pauses(port).filter(|pause| pause.stops(priority)).count() as u64;
        let what = format!("pauses of priority {priority} at {name} for {size}-byte frames");
        cx.count(what, stops, Limits::at_least(1.0));
        let what = format!("lost {size}-byte frames of priority {priority} from {name}");
        cx.count(what, seen.tally(FlowId(n)).lost(), Limits::exactly(0.0));
    }
    Ok(())
}

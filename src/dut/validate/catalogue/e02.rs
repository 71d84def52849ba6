//! V-E02: frames are marked when they leave.

use super::marks;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit};
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E02",
    aliases: &["dequeue_ecn"],
    title: "frames are marked when they leave the queue",
    purpose: "A mark tells of the queue behind a frame when it leaves, so that the sender hears of the \
              congestion one queuing time sooner than by a mark of its arrival.",
    clause: "RFC 3168 5; the place is the device's configuration",
    topology: Topology::T2,
    procedure: "B pauses one lossless priority, A fills its queue beyond Kmax (`expected.ecn`) with ECT(0) \
                frames, and B lets them out.",
    pass: "The first frames arrive with CE and the last ones without. The other way round is marking at \
           enqueuing, which is recorded as policy.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt dequeue_ecn, SAI",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

/// Number of the first frames, and of the last, at most.
const ENDS: u64 = 5;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE).ecn(Ecn::Ect0);
    let frames = marks::frames(ecn, SIZE);
    let trial = marks::held(cx, (a, b), [flow], frames)?;
    let seen = marks::observe(cx, &trial)?;
    // A frame with Kmin behind it, or before it, may be marked.
    let ends = (ecn.kmin.0 / u64::from(SIZE)).clamp(1, ENDS);
    let (mut first, mut last) = (0, 0);
    for record in seen.of(FlowId(0), Way::Received).filter(|record| marks::is_marked(record)) {
        let What::Data { sequence, .. } = record.what else { continue };
        first += u64::from(sequence < ends);
        last += u64::from(sequence >= frames - ends);
    }
    if first == 0 && last == ends {
        cx.policy("marks at enqueuing", last as f64, "", "RFC 3168 5 names no place");
        return Ok(());
    }
    let exactly = |wanted: u64| Limits::exactly(wanted as f64);
    cx.count(format!("marks of the first {ends} frames"), first, exactly(ends));
    cx.count(format!("marks of the last {ends} frames"), last, exactly(0));
    Ok(())
}

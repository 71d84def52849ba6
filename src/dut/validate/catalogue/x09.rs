//! V-X09: rate of pauses, and hysteresis.

use super::{congestion, fill, xon};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-X09",
    aliases: &["XonHysteresis"],
    title: "rate of pauses, and hysteresis",
    purpose: "XON is sent at least a frame below XOFF, so that pauses do not come frame by frame.",
    clause: "802.1Q 36.1.3.1; the distance is left to the device",
    topology: Topology::T3,
    procedure: "Flows on one lossless priority from A and from B load C with 60 % each, and the pauses of A \
                and B are counted. Then the bytes from XOFF down to XON are searched as in V-H03.",
    pass: "Both are paused, and no frame is lost. XON is sent at least one frame of 1,024 bytes, in whole cells \
           (`expected.cell`), below XOFF. The pauses per second are recorded.",
    uncertainty: "One frame, which is one cell.",
    source: "SAI XonHysteresis; sonic-mgmt issue 7058",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each sender.
const SHARE: f64 = 0.6;

/// Bytes of the frame that the hysteresis is compared with.
const FRAME: u32 = 1024;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    let cell = fill::cell(cx)?;
    for priority in cx.each_lossless() {
        rate(cx, priority)?;
        let ports = cx.ports()?;
        let Some(point) = xon::point(cx, ports, priority)? else { continue };
        let limits = Limits::at_least(f64::from(FRAME.div_ceil(cell) * cell));
        let what = format!("bytes of priority {priority} from XOFF down to XON");
        cx.judge(what, point.offset() * f64::from(cell), limits, 0.0, "bytes");
    }
    Ok(())
}

/// Counts the pauses of two senders that overload a port by a fifth.
fn rate(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let trial = congestion::to_one(cx, (&[a, b], c), &[priority], SHARE);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    for port in [a, b] {
        let name = cx.port(port).name.clone();
        let pauses = congestion::pauses(&seen, port, priority);
        let count = congestion::begins(&pauses, priority);
        let what = format!("pauses of priority {priority} at {name}");
        cx.count(what, count, Limits::at_least(1.0));
        let what = format!("rate of the pauses of priority {priority} at {name}");
        let rate = count as f64 / cx.setup.times.hold.as_secs_f64();
        cx.policy(what, rate, "1/s", "802.1Q leaves the thresholds to the device");
    }
    congestion::lossless(cx, &seen, &trial, priority);
    Ok(())
}

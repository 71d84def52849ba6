//! V-I01: head-of-line blocking within a priority.

use super::{congestion, isolation};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-I01",
    aliases: &["RFC 8239 5"],
    title: "head-of-line blocking within a priority",
    purpose: "With PFC a congested port holds back frames to other ports as well, and loses none.",
    clause: "802.1Q 36.1.1; RFC 2889 5.5, RFC 8239 5",
    topology: Topology::Th,
    procedure: "A sends one lossless priority to C and to D, 49 % of the line each, and B to D at line rate.",
    pass: "No frame is lost. The rate from A to C is recorded: back-pressure reduces it, which is no failure.",
    uncertainty: "None: counts.",
    source: "RFC 2889 5.5, RFC 8239 5",
    level: Level::Full,
    run,
    line: line!(),
};

/// Shares of the line from A to C and to D.
const SHARES: [f64; 2] = [0.49, 0.49];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ports @ [a, b, ..] = cx.ports::<4>()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let trial = isolation::congested(cx, ports, priority, SHARES);
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        isolation::was_congested(cx, &seen, &trial, (&[a, b], priority))?;
        congestion::lossless(cx, &seen, &trial, priority);
        let hold = cx.setup.times.hold;
        let rate = cx.rate_of(&seen, &trial, isolation::TO_C, &(hold.div(2)..hold));
        let what = format!("rate of priority {priority} to the port without congestion");
        cx.policy(what, rate, "% of the intended", "802.1Q pauses a priority, not a flow");
    }
    Ok(())
}

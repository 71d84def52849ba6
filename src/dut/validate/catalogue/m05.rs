//! V-M05: PAUSE where PFC is on.

use super::mac_control::{self, Wanted};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-M05",
    aliases: &["Y03"],
    title: "PAUSE stops nothing where PFC is on",
    purpose: "A port with PFC ignores 802.3x PAUSE, and does not forward it.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PAUSE of the longest time without a gap.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of \
           the frames.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt Y03",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    let case = mac_control::pause(cx, b);
    mac_control::judge(cx, &case, Wanted::Ignored)
}

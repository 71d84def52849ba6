//! V-M01: MAC control of unknown opcodes.

use super::mac_control::{self, Wanted};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-M01",
    aliases: &["Y02"],
    title: "unknown opcodes pause nothing",
    purpose: "MAC control frames whose opcode is not PFC's are ignored where PFC is on, and are not \
              forwarded.",
    clause: "802.3 31.4.1.3",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends PFC frames \
                whose opcode is another one.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of the \
           frames.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt Y02",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    for case in mac_control::unknown_opcodes(cx, b) {
        mac_control::judge(cx, &case, Wanted::Ignored)?;
    }
    Ok(())
}

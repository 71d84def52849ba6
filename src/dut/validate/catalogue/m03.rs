//! V-M03: the reserved half of the enable vector.

use super::mac_control::{self, Wanted};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-M03",
    aliases: &["Y02"],
    title: "reserved bits of the vector name no priority",
    purpose: "The high octet of the priority enable vector is reserved. A port ignores its bits, \
              or the frame.",
    clause: "802.3 31D.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC whose vector has all bits of its high octet and one lossless priority, with \
                the longest time for all.",
    pass: "The other priorities keep their rates within {rate}, and no frame is lost. The rate of \
           the named priority is reported.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt Y02",
    level: Level::Full,
    run,
    line: line!(),
};

/// Reason why both reactions are right.
const OPEN: &str = "802.3 31D.2 has the bits sent as zero, and says nothing of frames with others";

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let case = mac_control::reserved_bits(cx, b, priority);
        mac_control::judge(cx, &case, Wanted::Open(priority, OPEN))?;
    }
    Ok(())
}

//! V-R17: the source address of PFC.

use super::mac_control::{self, Case, Wanted};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::units::Mac;

pub const TEST: Test = Test {
    id: "V-R17",
    aliases: &[],
    title: "the source address of PFC does not matter",
    purpose: "A port obeys PFC of its peer whatever its source address is.",
    clause: "802.3 31.4.1.2, 31D.3",
    topology: Topology::T2,
    procedure: "V-R01 with PFC whose source is the address of B, another one, zero, and a \
                multicast address.",
    pass: "PFC of the first two is obeyed, as in V-R01, and no port receives it. The reaction to \
           the others is reported. Counters of the DUT are not read.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt 6172, 8239; SONiC 418",
    level: Level::Full,
    run,
    line: line!(),
};

/// Reason why both reactions are right.
const OPEN: &str = "802.3 31.4.1.2 has an individual address sent, and says nothing of others";

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    let own = cx.port(b).mac;
    let sources = [
        ("its own", own, true),
        ("another", Mac([0x02, 0x53, 0x4c, 0xff, 0xfe, 0xfd]), true),
        ("the zero", Mac([0; 6]), false),
        ("a multicast", Mac([0x03, 0x53, 0x4c, 0xff, 0xfe, 0xfd]), false),
    ];
    for priority in cx.each_lossless() {
        for (name, src, is_valid) in sources {
            let octets = mac_control::for_one(cx, src, priority);
            let case = Case { name: format!("PFC from {name} address {src}"), octets };
            let wanted = match is_valid {
                true => Wanted::Obeyed(priority),
                false => Wanted::Open(priority, OPEN),
            };
            mac_control::judge(cx, &case, wanted)?;
        }
    }
    Ok(())
}

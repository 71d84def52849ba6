//! V-N01: a NIC obeys PFC.

use super::{nic, r01, r04, r05, r06, r07, r08, r09, r10, r11};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;

pub const TEST: Test = Test {
    id: "V-N01",
    aliases: &[],
    title: "a NIC obeys PFC",
    purpose: "A NIC that sends by itself reacts to PFC as V-R01 and V-R04 to V-R11 ask of a switch.",
    clause: "802.1Q 36.1.2; 802.3 31B.3",
    topology: Topology::T1,
    procedure: "The host of the NIC sends its traffic all the time. At each port the tests V-R01 and V-R04 \
                to V-R11 are run, with this traffic in the place of the tester's.",
    pass: "As in those tests, with the rates at rest in the place of the intended ones. Loss within the \
           NIC is not judged: its frames have no numbers.",
    uncertainty: "Time stamps of the tester, and the distance of the NIC's frames: traffic that fills the \
                  line shows most.",
    source: "HLK QosPriorityFlowControl",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Tests of obeying, of which each is a part.
const PARTS: &[Test] = &[
    r01::TEST,
    r04::TEST,
    r05::TEST,
    r06::TEST,
    r07::TEST,
    r08::TEST,
    r09::TEST,
    r10::TEST,
    r11::TEST,
];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        nic::wait(cx, port)?;
        let level = cx.level;
        for part in PARTS.iter().filter(|part| part.level <= level) {
            cx.at_nic(port, part)?;
        }
    }
    Ok(())
}

//! V-R01: one priority stops, the others flow.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-R01",
    aliases: &["L01"],
    title: "one paused priority stops, others flow",
    purpose: "A port obeys PFC for one priority and keeps sending the others.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. After a time \
                at rest B pauses one lossless priority without a gap.",
    pass: "From the limit after the first pause to the end of the last one no frame of the paused \
           priority begins. The others keep their rates within {rate}. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L01",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let set = PrioritySet::of(priority);
        let storm = stop::storm(cx, (a, b), set, SIZE);
        let seen = cx.observe(&storm.trial)?;
        stop::judge(cx, &storm, &seen, (b, set))?;
    }
    Ok(())
}

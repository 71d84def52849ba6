//! V-R11: PFC for a priority without it.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-R11",
    aliases: &["Y01"],
    title: "PFC for lossy priorities is ignored",
    purpose: "A port does not stop a priority for which PFC is off.",
    clause: "802.1Q 36.1.2, 12.22",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B pauses \
                all lossy priorities without a gap; at level full also each alone.",
    pass: "All flows keep their rates within {rate}. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt Y01; HLK TestPfcDisabled",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossy()?;
    let lossy = cx.setup.lossy;
    let sets = [lossy].into_iter().chain(lossy.iter().map(PrioritySet::of));
    for set in sets.take(cx.by_level(1, usize::MAX)) {
        let storm = stop::storm(cx, (a, b), set, stop::SIZE);
        let seen = cx.observe(&storm.trial)?;
        stop::judge(cx, &storm, &seen, (b, PrioritySet::EMPTY))?;
    }
    Ok(())
}

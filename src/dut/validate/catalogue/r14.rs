//! V-R14: frame sizes.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-R14",
    aliases: &["L06", "L07"],
    title: "pauses are obeyed with frames of all sizes",
    purpose: "A port obeys PFC with frames of any size, from the shortest to the longest that it \
              forwards.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "V-R01 with frames of 64, 65, 512 and 1518 bytes, of the longest of the DUT file, \
                and of three sizes together; at level quick with the last two.",
    pass: "As V-R01, for each size.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L06, L07",
    level: Level::Full,
    run,
    line: line!(),
};

/// Sizes of one flow each.
const SIZES: [u32; 4] = [64, 65, 512, 1518];

/// Sizes of the flows of a mix, in turn.
const MIX: [u32; 3] = [64, 570, 1518];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    let longest = cx.setup.max_frame;
    let mut sizes: Vec<Vec<u32>> = vec![MIX.to_vec(), vec![longest]];
    sizes.extend(SIZES.iter().filter(|size| **size < longest).map(|size| vec![*size]));
    for priority in cx.each_lossless() {
        for mix in sizes.iter().take(cx.by_level(2, usize::MAX)) {
            judge(cx, priority, mix)?;
        }
    }
    Ok(())
}

fn judge(cx: &mut Context<'_>, priority: Priority, mix: &[u32]) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let set = PrioritySet::of(priority);
    let mut storm = stop::storm(cx, (a, b), set, stop::SIZE);
    let least = cx.setup.shortest();
    for (flow, size) in storm.trial.flows.iter_mut().zip(mix.iter().cycle()) {
        flow.size = (*size).clamp(least, cx.setup.max_frame);
    }
    storm.trial.name = format!("{} with frames of {mix:?} bytes", storm.trial.name);
    let seen = cx.observe(&storm.trial)?;
    stop::judge(cx, &storm, &seen, (b, set))
}

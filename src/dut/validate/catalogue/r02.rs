//! V-R02: several priorities stop at once.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-R02",
    aliases: &["L02"],
    title: "all lossless priorities stop at once",
    purpose: "A port obeys PFC for any set of priorities, up to all eight if PFC is on for them.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B pauses \
                all lossless priorities without a gap; at level full also their subsets: all of \
                them for up to four priorities, else each alone and each left out.",
    pass: "As V-R01, for each set.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L02; UNH-IOL: devices that stop not all eight classes",
    level: Level::Full,
    run,
    line: line!(),
};

/// Number of priorities up to which all subsets are tried.
const ALL_UP_TO: u32 = 4;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    for set in sets(cx.setup.lossless).into_iter().take(cx.by_level(1, usize::MAX)) {
        let storm = stop::storm(cx, (a, b), set, stop::SIZE);
        let seen = cx.observe(&storm.trial)?;
        stop::judge(cx, &storm, &seen, (b, set))?;
    }
    Ok(())
}

/// Returns the sets to try, all priorities first.
fn sets(all: PrioritySet) -> Vec<PrioritySet> {
    let mut sets = vec![all];
    if all.0.count_ones() <= ALL_UP_TO {
        let within = |set: &PrioritySet| set.0 & !all.0 == 0;
        sets.extend((1..all.0).map(PrioritySet).filter(within));
    } else {
        sets.extend(all.iter().map(PrioritySet::of));
        let without = |p: Priority| PrioritySet(all.0 & !PrioritySet::of(p).0);
        sets.extend(all.iter().map(without));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_subsets_of_few_priorities_are_tried() {
        let of = |set| sets(PrioritySet(set)).iter().map(|set| set.0).collect::<Vec<_>>();
        assert_eq!(of(0x18), [0x18, 0x08, 0x10]);
        assert_eq!(of(0x0f).len(), 15);
        let eight = of(0xff);
        assert!(eight.len() == 17 && eight.contains(&0x80) && eight.contains(&0x7f));
    }
}

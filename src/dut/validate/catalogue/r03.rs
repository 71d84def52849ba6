//! V-R03: each port obeys each lossless priority.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-R03",
    aliases: &["L05"],
    title: "each port obeys each lossless priority",
    purpose: "PFC works at every port of the DUT and for every lossless priority.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "V-R01 with each port in the place of B, from the port before it, and each \
                lossless priority. Of more than 64 combinations each port has one priority, and \
                each priority one port.",
    pass: "As V-R01, for each.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L05",
    level: Level::Full,
    run,
    line: line!(),
};

/// Largest number of combinations that are all tried.
const ALL_UP_TO: usize = 64;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.ports::<2>()?;
    cx.lossless()?;
    let ports = cx.setup.alike();
    for (to, priority) in pairs(ports, &cx.each_lossless()) {
        let (from, to) = (Port((to + ports - 1) % ports), Port(to));
        let set = PrioritySet::of(priority);
        let mut storm = stop::storm(cx, (from, to), set, stop::SIZE);
        storm.trial.name = format!("{} at {}", storm.trial.name, cx.port(to).name);
        let seen = cx.observe(&storm.trial)?;
        stop::judge(cx, &storm, &seen, (to, set))?;
    }
    Ok(())
}

/// Returns the ports and priorities to try.
fn pairs(ports: usize, priorities: &[Priority]) -> Vec<(usize, Priority)> {
    let each = |port| priorities.iter().map(move |p| (port, *p));
    if ports * priorities.len() <= ALL_UP_TO {
        return (0..ports).flat_map(each).collect();
    }
    let number = ports.max(priorities.len());
    (0..number).map(|n| (n % ports, priorities[n % priorities.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_and_every_priority_is_tried() {
        assert_eq!(pairs(3, &Priority::ALL[3..5]).len(), 6);
        let many = pairs(64, &Priority::ALL);
        assert_eq!(many.len(), 64);
        assert!(Priority::ALL.iter().all(|p| many.iter().any(|(_, q)| p == q)));
    }
}

//! The tester's counters of a virtual network, as behind real ports.

use ground::time::Instant;
use host::StationSnapshot;
use lab::LabTester;
use sim::{Node, ObservedNetwork};
use tester::report::Report;
use tester::figures::Seen;
use tester::standing;
use tester::tally::report;
use tester::virtual_run::exact;

/// Returns the report of a lab's generator at `now`.
pub(super) fn read(network: &mut ObservedNetwork<'_>, tester: &LabTester, now: Instant) -> Report {
    let snapshot = |host| match network.nodes_mut().get_mut(host) {
        Node::Host(station) => Some(station.snapshot(now)),
        Node::Switch(_) => None,
    };
    let stations: Vec<StationSnapshot> =
        tester.hosts.iter().copied().filter_map(snapshot).collect();
    report(Seen {
        plan: &tester.plan.ports,
        world: "virtual",
        stamps: exact(),
        elapsed: Some(now.total_since(Instant::ZERO)),
        stations: &stations,
        counted: None,
        ports: &standing::ports(&stations, &tester.rates, Instant::ZERO, now),
        flows: &standing::flows(&tester.plan, &stations, Instant::ZERO, now),
        warnings: Vec::new(),
        machine: None,
    })
}

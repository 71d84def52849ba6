//! Connections with acknowledgements between the tester's ports of a virtual network.

use ground::time::{Duration, Instant};
use host::{FlowId, StationPlan, StationSnapshot};
use lab::LabTester;
use sim::{NetworkPlan, Node, NodeKind, ObservedNetwork};

use crate::bench::{Acknowledged, Trouble};
use crate::connection;
use crate::otg;
use crate::setup::Setup;
use crate::trial::Trial;

/// Number of the first connection. Flows and connections share 65,536 numbers, and flows begin at 0.
const FIRST: u32 = 0xf000;

/// Shortest retransmission timeout: as a data centre's hosts have it, whose round trips are this short.
const TIMEOUT: Duration = Duration::from_millis(1);

/// Adds the connections of a trial to a network.
pub(super) fn add(network: &mut NetworkPlan, tester: &LabTester, (trial, setup): (&Trial, &Setup)) {
    for (n, wanted) in trial.stateful.iter().enumerate() {
        let (id, start) = (FlowId(FIRST + n as u32), Instant::ZERO + otg::lead(setup));
        let plan = connection::transport(wanted, setup, (n, id), (start, TIMEOUT));
        station(network, tester, wanted.ends.0.0, setup).senders.push(plan.clone());
        station(network, tester, wanted.ends.1.0, setup).receivers.push(plan);
    }
}

/// Returns the station of a port of the tester, which has the port's address.
fn station<'n>(
    network: &'n mut NetworkPlan,
    tester: &LabTester,
    port: usize,
    setup: &Setup,
) -> &'n mut StationPlan {
    let host = tester.hosts[port];
    let NodeKind::Host(station) = &mut network.nodes[host.index()].kind else {
        unreachable!("a port of the tester is a host")
    };
    station.mac = setup.ports[port].mac;
    station
}

/// Reads the counters of the connections.
pub(super) fn read(
    network: &mut ObservedNetwork<'_>,
    tester: &LabTester,
    trial: &Trial,
    now: Instant,
) -> Result<Vec<Acknowledged>, Trouble> {
    let mut snapshot = |port: usize| -> Option<StationSnapshot> {
        match network.nodes_mut().get_mut(tester.hosts[port]) {
            Node::Host(station) => Some(station.snapshot(now)),
            Node::Switch(_) => None,
        }
    };
    let one = |(n, wanted): (usize, &crate::trial::Stateful)| {
        let of = snapshot(wanted.ends.0.0);
        let sender = of.as_ref().and_then(|of| of.sender(FlowId(FIRST + n as u32)));
        let sender =
            sender.ok_or_else(|| Trouble::Error("a connection has no sender".to_owned()))?;
        Ok(connection::result(sender))
    };
    trial.stateful.iter().enumerate().map(one).collect()
}

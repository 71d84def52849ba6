//! Connections with acknowledgements between the tester's ports of a virtual network.

use ground::time::Instant;
use host::plan::Tag;
use host::{FlowId, StationPlan, StationSnapshot, TcpPlan, Transport, TransportPlan};
use lab::LabTester;
use sim::{Network, NetworkPlan, Node, NodeKind};

use crate::bench::{Acknowledged, Trouble};
use crate::otg;
use crate::setup::{Marking, Setup};
use crate::trial::Trial;
use ground::units::{Dscp, Pcp};
use wire::ip::Ecn;

/// Port of the receivers (iperf's); senders have a port each, from the first dynamic one on (RFC 6335).
const RECEIVER: u16 = 5_001;
const SENDERS: u16 = 0xc000;

/// Number of the first connection: above those of all flows of a trial, of which there are at most 65,536 numbers.
const FIRST: u32 = 0xf000;

/// Adds the connections of a trial to a network.
pub(super) fn add(network: &mut NetworkPlan, tester: &LabTester, (trial, setup): (&Trial, &Setup)) {
    for (n, wanted) in trial.stateful.iter().enumerate() {
        let [src, dst] = [wanted.ends.0, wanted.ends.1].map(|port| setup.port(port));
        let (dscp, tag) = match &setup.marking {
            Marking::Dscp(map) => (map[wanted.priority.index()], None),
            Marking::Pcp(map, vid) => {
                let pcp: Pcp = map[wanted.priority.index()];
                (Dscp::MIN, Some(Tag { vid: Some(*vid), pcp }))
            }
        };
        let start = Instant::ZERO + otg::lead(setup);
        let plan = TransportPlan {
            id: FlowId(FIRST + n as u32),
            src: src.mac,
            dst: dst.mac,
            src_ip: src.ip,
            dst_ip: dst.ip,
            tag,
            priority: wanted.priority,
            dscp,
            ecn: Ecn::NotEct,
            size: wanted.size,
            rate: None,
            start,
            stop: start + wanted.length,
            message: None,
            kind: Transport::TcpLike(TcpPlan::new(SENDERS + n as u16, RECEIVER)),
        };
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
    network: &mut Network<()>,
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
        Ok(Acknowledged {
            bytes: sender.acknowledged,
            frames: sender.frames,
            retransmitted: sender.retransmitted,
            timeouts: sender.timeouts,
        })
    };
    trial.stateful.iter().enumerate().map(one).collect()
}

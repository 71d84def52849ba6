//! Congestion settings of switches that depend on the topology: the peer of each port, and
//! isolation peers.

use super::graph::{Graph, Kind};
use super::profiles::Switches;
use super::reactions;
use crate::raw;
use config::raw::AttachedName;
use config::{Cx, Place, seed_congestion};
use congestion::isolation::{CimType, Peer};
use ground::rand::Rng;
use ground::units::{Mac, PortId};
use sim::FRAME_KEPT;
use switch::{AttachedKind, CongestionIsolationPlan, CongestionPlan, SfcmForm};

/// Largest payload that a message can quote in the virtual world, in bytes: what is kept of an untagged frame,
/// less the two addresses.
const MSDU_AT_HAND: u16 = FRAME_KEPT as u16 - 12;

/// Sets the type of each port's peer and the seed of a switch.
pub(super) fn of_switch(
    congestion: &mut CongestionPlan,
    (graph, node): (&Graph<'_>, usize),
    hosts: &raw::Host,
    said: Option<AttachedName>,
    seed: u64,
) {
    for (port, attached) in congestion.ports.iter_mut().enumerate() {
        let (peer, _) = graph.peer(node, port);
        attached.kind = match &graph.nodes[peer].kind {
            Kind::Switch(_) => AttachedKind::Switch,
            Kind::Host(host, _) => match said {
                None if reactions::obeys_sfc(&host.over(hosts)) => AttachedKind::SfcHost,
                None | Some(AttachedName::Host) => AttachedKind::Host,
                Some(AttachedName::SfcHost) => AttachedKind::SfcHost,
                Some(AttachedName::Auto) => AttachedKind::Discovered,
                Some(AttachedName::Switch) => AttachedKind::Switch,
            },
        };
    }
    seed_congestion(congestion, Rng::nth(seed, 1));
}

/// Warns of messages that are configured to quote more of a frame than the virtual world keeps.
pub(super) fn check_profile(cx: &mut Cx, at: &Place<'_>, congestion: &CongestionPlan) {
    let sfc = congestion.sfc.as_ref().and_then(|sfc| match sfc.form {
        SfcmForm::Encapsulated => Some(sfc.min_header_octets),
        SfcmForm::Simplified => None,
    });
    let cim = congestion.isolation.as_ref().map(|isolation| isolation.min_header_octets);
    for (section, field, octets) in
        [("sfc", "sfcMinHeaderOctets", sfc), ("congestion_isolation", "min-header-octets", cim)]
    {
        if let Some(octets) = octets.filter(|octets| *octets > MSDU_AT_HAND) {
            let what = format!(
                "the virtual world keeps {MSDU_AT_HAND} bytes of a frame, not {octets}: messages \
                 quote as many"
            );
            cx.warn(&at.key(section).key(field), what);
        }
    }
}

/// Makes isolating switches known to each other, unless LLDP finds them.
pub(super) fn peers(graph: &Graph<'_>, switches: &mut Switches) {
    for node in 0..graph.nodes.len() {
        let Some(own) = switches.plans[node].as_ref() else { continue };
        if isolates(&own.congestion).is_none() {
            continue;
        }
        let of_port = |port: usize| {
            let found = own.ports[port].agents.as_ref().and_then(|agents| agents.dcbx.as_ref());
            if found.is_some_and(|dcbx| dcbx.isolation.is_some()) {
                return None;
            }
            let (peer, far) = graph.peer(node, port);
            let plan = switches.plans[peer].as_ref()?;
            let theirs = isolates(&plan.congestion)?;
            Some((PortId::new(port as u16)?, peer_of(theirs, far, plan.ports[far].mac)))
        };
        let mut found: Vec<_> = (0..own.ports.len()).filter_map(of_port).collect();
        let isolation = switches.plans[node].as_mut().and_then(|s| s.congestion.isolation.as_mut());
        if let Some(isolation) = isolation {
            found.truncate(isolation.machine.peers_max);
            isolation.peers = found;
        }
    }
}

fn isolates(plan: &CongestionPlan) -> Option<&CongestionIsolationPlan> {
    plan.isolation.as_ref().filter(|isolation| isolation.machine.enabled)
}

fn peer_of(theirs: &CongestionIsolationPlan, port: usize, mac: Mac) -> Peer {
    Peer {
        cim_type: CimType::L2,
        mac: theirs.points.get(port).and_then(|point| point.mac).unwrap_or(mac),
        ipv4: None,
        ipv6: None,
        udp_port: 0,
        encap_len: theirs.min_header_octets,
    }
}

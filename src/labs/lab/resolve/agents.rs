//! Link protocols of a lab's ports: hosts as configured, switches from their profile. The peer of a
//! port with `auto` headroom answers its measurements.

use std::collections::BTreeSet;

use super::graph::{Graph, Kind, Node, mac, switch_port_mac};
use super::links::LinkSpec;
use super::switches::{Profiles, Switches};
use crate::raw;
use config::{Context, Cx, ProtocolSections, UNNAMED, advertised_name, agents, late_host};
use discovery::{EtsTable, PfcForm, Role};
use ground::time::Duration;
use ground::units::Mac;
use headroom::measure::MeasurePlan;
use headroom::peer_delay::PeerDelayPlan;
use link::{AgentsPlan, Method};
use pfc::FlowControl;
use secure::SecyPlan;
use switch::PortPlan;
use wire::headroom::Adjustment;

/// Port number in the address that stands for the whole switch; above every real port number.
const CHASSIS: usize = 0xffff;

/// Sets the names and addresses of a switch port, which its template does not have.
pub(super) fn name_port(port: &mut PortPlan, switch: &str, number: usize) {
    let (mac, name) = (port.mac, port.name.as_str());
    let Some(agents) = &mut port.agents else { return };
    name_agents(agents, (name, switch), (mac, switch_port_mac(number, CHASSIS)));
}

fn name_agents(agents: &mut AgentsPlan, names: (&str, &str), macs: (Mac, Mac)) {
    agents.mac = macs.0;
    if let Some(lldp) = &mut agents.lldp {
        (lldp.mac, lldp.chassis) = macs;
        for (advertised, name) in [(&mut lldp.port_id, names.0), (&mut lldp.system_name, names.1)] {
            // Names that the file gives are advertised as they are.
            if advertised == UNNAMED {
                advertised_name(name).clone_into(advertised);
            }
        }
    }
    if let Some(dcbx) = &mut agents.dcbx {
        dcbx.mac = macs.0;
        if let Some(isolation) = &mut dcbx.isolation {
            isolation.mac = macs.0;
        }
    }
}

/// The only port of a host, with the switch at its other end.
pub(super) struct HostPort<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub node: usize,
    pub spec: &'r LinkSpec,
    pub switches: &'r Switches,
}

/// Returns the link protocols of a host: those configured, and the answers that its peer needs.
pub(super) fn of_host(
    cx: &mut Cx,
    host: &HostPort<'_, '_>,
    secy: Option<&SecyPlan>,
    raw: &raw::Host,
    flow_control: FlowControl,
) -> Option<AgentsPlan> {
    let HostPort { graph, node, spec, switches } = *host;
    let n: &Node<'_> = &graph.nodes[node];
    let Kind::Host(_, number) = &n.kind else { return None };
    let (mac, link) = (mac(*number as usize), *n.ports.first()?);
    let reaction = spec.round_trip[usize::from(graph.links[link].a.0 == node)].higher_layer;
    let context = Context {
        names: (&graph.links[link].name, &n.name),
        macs: (mac, mac),
        rate: spec.rate,
        pfc: flow_control,
        ets: EtsTable {
            // A station has a queue for each priority and promises no shares.
            class: core::array::from_fn(|n| n as u8),
            bandwidth: [0; 8],
            algorithm: [0; 8],
        },
        role: Role::Station,
        internal: reaction,
        reaction,
        link: None,
        stated: None,
        secy,
    };
    let says = ProtocolSections {
        headroom: None,
        measurement: raw.measurement.as_ref(),
        ptp: raw.ptp.as_ref(),
        lldp: raw.lldp.as_ref(),
        dcbx: raw.dcbx.as_ref(),
    };
    // The place of errors is where the fields were written: at the host, or in the defaults of all hosts.
    let stands = ["measurement", "ptp", "lldp", "dcbx"].iter().any(|key| n.source.own.has(key));
    let place = if stands { &n.source.own } else { &n.source.defaults };
    let own = agents(cx, place, says, &context);
    let (peer, port) = graph.peer(node, 0);
    let peer = switches.plans[peer].as_ref().and_then(|s| s.ports[port].agents.as_ref());
    let unset = (raw.measurement.is_none(), raw.ptp.is_none());
    let all = match peer {
        Some(peer) => answering(own, peer, unset, mac, reaction),
        None => own,
    };
    if let (Some(all), Some(peer)) = (&all, peer) {
        same_dialect(cx, n, all, peer);
    }
    all
}

/// Warns if the two ends use different message formats and so measure nothing.
fn same_dialect(cx: &mut Cx, host: &Node<'_>, own: &AgentsPlan, peer: &AgentsPlan) {
    let (Some(own), Some(peer)) = (&own.measure, &peer.measure) else { return };
    if own.dialect != peer.dialect {
        let what = format!(
            "{} and the other end of its link write messages differently, so they measure nothing: \
             say the same `times`, `kinds`, `length`, `rides`, `pdu` and `compensation` on both",
            host.name
        );
        cx.warn(&host.source.key("measurement"), what);
    }
}

/// Warns of host ports with `auto` headroom, once for each profile.
pub(super) fn warn_of_hosts(
    cx: &mut Cx,
    graph: &Graph<'_>,
    profiles: &Profiles<'_>,
    switches: &Switches,
) {
    let mut reported = BTreeSet::new();
    for node in 0..graph.nodes.len() {
        let (Some(profile), Some(plan)) = (switches.profile_of[node], &switches.plans[node]) else {
            continue;
        };
        let to_host =
            |port: &usize| matches!(graph.nodes[graph.peer(node, *port).0].kind, Kind::Host(..));
        let ports =
            (0..graph.nodes[node].ports.len()).filter(to_host).map(|port| &plan.ports[port]);
        let auto = |port: &PortPlan| port.agents.as_ref()?.auto.clone();
        let Some((port, auto)) = ports.filter_map(|port| Some((port, auto(port)?))).next() else {
            continue;
        };
        if reported.insert(profile) {
            let place = profiles.buffer(profile).1.key("defaults").key("headroom");
            let name = format!("port {} of {}", port.name, graph.nodes[node].name);
            cx.warn(&place, late_host(&auto, &name));
        }
    }
}

/// Makes switch ports answer peers that measure their headroom.
pub(super) fn answer(
    graph: &Graph<'_>,
    specs: &[LinkSpec],
    profiles: &Profiles<'_>,
    switches: &mut Switches,
) {
    for node in 0..graph.nodes.len() {
        let Some(profile) = switches.profile_of[node] else { continue };
        for port in 0..graph.nodes[node].ports.len() {
            let (peer, far) = graph.peer(node, port);
            let Some(peer) = &switches.plans[peer] else { continue };
            let Some(peer) = peer.ports[far].agents.clone() else { continue };
            let Some(plan) = &mut switches.plans[node] else { continue };
            // The peer's plan is a copy, so both ends of one link may change in this loop in either order.
            let (own, mac) = (plan.ports[port].agents.take(), plan.ports[port].mac);
            let link = &graph.links[graph.nodes[node].ports[port]];
            // The peer waits for the response time of this end.
            let is_a = link.a == (node, port);
            let reaction = specs[link.kind].round_trip[usize::from(is_a)].higher_layer;
            let unset = profiles.unset(profile);
            plan.ports[port].agents = answering(own, &peer, unset, mac, reaction);
        }
    }
}

/// Adds the answers to the peer's headroom measurements, unless configured otherwise. They tell the
/// reaction of this end, if the peer's dialect has it. `unset` is true each if this end's configuration says nothing
/// about the round trip, and about the peer delay.
fn answering(
    own: Option<AgentsPlan>,
    peer: &AgentsPlan,
    unset: (bool, bool),
    mac: Mac,
    reaction: Duration,
) -> Option<AgentsPlan> {
    let measure = peer.measure.as_ref().filter(|_| unset.0).map(|theirs| MeasurePlan {
        respond: true,
        initiate: None,
        dialect: theirs.dialect,
        compensation: Adjustment::at_least(reaction),
    });
    let peer_delay = peer.peer_delay.filter(|_| unset.1).map(|theirs| PeerDelayPlan {
        interval: None,
        respond: true,
        ..theirs
    });
    // A peer that does not calculate its headroom from measurements needs no answers.
    let Some(methods) = peer.auto.as_ref().map(|auto| auto.methods) else { return own };
    let measure = measure.filter(|_| methods.has(Method::RoundTrip));
    let peer_delay = peer_delay.filter(|_| methods.has(Method::PeerDelay));
    let mut all = own.unwrap_or(AgentsPlan {
        mac,
        rate: peer.rate,
        lldp: None,
        dcbx: None,
        measure: None,
        peer_delay: None,
        auto: None,
    });
    all.measure = all.measure.or(measure);
    all.peer_delay = all.peer_delay.or(peer_delay);
    let can = (
        all.measure.as_ref().is_some_and(|m| m.respond),
        all.peer_delay.is_some_and(|p| p.respond),
    );
    // The proposed PFC TLV of Qdt advertises what this end answers, so it follows what was just added (S4).
    let pfc = all.dcbx.as_mut().and_then(|dcbx| dcbx.pfc.as_mut());
    if let Some(PfcForm::Proposed { round_trip, ptp, .. }) = pfc.map(|pfc| &mut pfc.form) {
        (*round_trip, *ptp) = can;
    }
    // An end without any protocol has no plan at all: a plan would make it poll timers.
    let any = all.lldp.is_some() || all.auto.is_some() || can.0 || can.1;
    any.then_some(all)
}

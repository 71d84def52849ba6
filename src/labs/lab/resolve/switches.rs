//! Plans each switch from its profile and its links. Switches with the same profile and the same links are resolved
//! once. Congestion settings depend on the topology: the peer of each port, and isolation peers.

use std::collections::HashMap;

use super::graph::{Graph, Kind, Node, switch_port_mac};
use super::links::{self, LinkSpec};
use super::{CONTROL_FRAME, CONTROL_FRAME_MOST, agents, hosts};
use crate::raw;
use config::quantity::Size;
use config::raw::Port;
use config::{
    Cx, HeadroomCheck, Place, VirtualPort, VirtualSections, VirtualSwitch, seed_congestion,
    unknown_name, virtual_switch,
};
use congestion::isolation::{CimType, Peer};
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{Bytes, Mac, PortId};
use sim::FRAME_KEPT;
use switch::{
    AttachedKind, BridgePlan, CongestionIsolationPlan, CongestionPlan, RoutingPlan, SfcmForm,
    SwitchPlan,
};

/// Address ageing time of 100 days, longer than any run, where no addresses are learnt.
const AGEING: Duration = Duration::from_secs(100 * 86_400);
/// Number of switch ports in a lab above which ports cache fewer routes, to save memory.
const MANY_PORTS: usize = 64;
/// Limits of the routes that a port caches in such a lab, and the routes of all ports together: a port of
/// a network with many ports sees few of its flows.
const SHORTCUTS_FEW: (usize, usize) = (64, 256);
const SHORTCUTS_OF_ALL: usize = 1 << 21;

/// Key of identical switches: the profile, the length of their pauses, and the kind and end of each link.
type Shape = (usize, Bytes, Vec<(usize, bool)>);

/// Returns the routes that each port of a lab caches that has `ports` ports of switches.
fn shortcuts(ports: usize) -> usize {
    let (least, most) = SHORTCUTS_FEW;
    if ports <= MANY_PORTS {
        return BridgePlan::SHORTCUTS;
    }
    (SHORTCUTS_OF_ALL / ports).next_power_of_two().clamp(least, most)
}

/// Plans all switches, without static addresses.
pub(super) fn switches(
    cx: &mut Cx,
    graph: &Graph<'_>,
    specs: &[LinkSpec],
    profiles: &Profiles<'_>,
    lab: &raw::Lab,
) -> Switches {
    let nodes = graph.nodes.len();
    let mut out = Switches {
        plans: vec![None; nodes],
        shape_of: vec![None; nodes],
        profile_of: vec![None; nodes],
        learns: vec![false; nodes],
        ..Switches::default()
    };
    let mut shapes: HashMap<Shape, usize> = HashMap::new();
    let mut templates: Vec<VirtualSwitch> = Vec::new();
    let all = || graph.nodes.iter().filter(|n| matches!(n.kind, Kind::Switch(_)));
    let switches = all().count();
    let ports: usize = all().map(|n| n.ports.len()).sum();
    let shortcuts = shortcuts(ports);
    for (n, node) in graph.nodes.iter().enumerate() {
        let Kind::Switch(raw) = &node.kind else { continue };
        let raw = raw.over(&lab.defaults.switches);
        let profile = profiles.of(cx, node, raw.profile.as_ref());
        let ends = node.ports.iter().map(|l| {
            let link = &graph.links[*l];
            (link.kind, link.a.0 == n)
        });
        let shape = (profile, pause_counted(raw.control_frame), ends.collect());
        let names = port_names(graph, n);
        // A fat tree has hundreds of equal switches: buffer and headroom are calculated once for each shape.
        let index = *shapes.entry(shape).or_insert_with_key(|(_, pause, ends)| {
            let profile = &profiles.list[profile];
            let mut ports = virtual_ports(graph, specs, profile, ends, &names);
            ports.iter_mut().for_each(|port| port.link.pfc_frame = *pause);
            let template = template(cx, profile, &ports);
            out.headroom.push(template.headroom.clone());
            templates.push(template);
            templates.len() - 1
        });
        out.learns[n] = profiles.list[profile].raw.bridge.is_some();
        // Frames are flooded only where addresses are learnt, and only a single switch has no loops for sure.
        if out.learns[n] && switches > 1 {
            let what = format!(
                "the lab has {switches} switches, and flooded frames could go round; leave it out"
            );
            cx.error(&profiles.list[profile].place.key("bridge"), what);
        }
        let bridge = bridge(cx, &profiles.list[profile], graph.hosts.len(), shortcuts);
        let mut plan = plan(n, node, &templates[index], names, bridge, lab.seed);
        let attached = profiles.list[profile].ports.attached;
        let hosts = &lab.defaults.hosts;
        attach(&mut plan.congestion, graph, n, hosts, attached);
        seed_congestion(&mut plan.congestion, Rng::nth(plan.seed, 1));
        out.plans[n] = Some(plan);
        (out.shape_of[n], out.profile_of[n]) = (Some(index), Some(profile));
    }
    for (n, node) in graph.nodes.iter().enumerate() {
        let Kind::Switch(raw) = &node.kind else { continue };
        let pause =
            raw.over(&lab.defaults.switches).control_frame.map_or(CONTROL_FRAME, |own| own.0);
        let peers = (0..node.ports.len()).map(|port| graph.peer(n, port).0);
        let too_long = |peer: &usize| {
            out.plans[*peer].as_ref().is_some_and(|peer| u64::from(peer.max_frame) < pause)
        };
        // A pause that its receiver drops stops nothing.
        if let Some(peer) = peers.into_iter().find(too_long) {
            let (peer, most) =
                (&graph.nodes[peer].name, out.plans[peer].as_ref().map_or(0, |p| p.max_frame));
            let what = format!(
                "{peer} drops frames longer than its `max_frame` of {most} bytes, pauses too"
            );
            cx.error(&node.source.key("control_frame"), what);
        }
    }
    out
}

/// Returns the length of a switch's pauses that headroom counts. A lab with shorter pauses than those of the
/// standard has the headroom of the network that it stands for; one out of range is an error elsewhere.
fn pause_counted(own: Option<Size>) -> Bytes {
    let own = own.map_or(CONTROL_FRAME, |own| own.0);
    Bytes(own.clamp(CONTROL_FRAME, CONTROL_FRAME_MOST))
}

/// Plans the bridge of a switch: one that learns addresses, or one that is given those of all hosts.
fn bridge(cx: &mut Cx, profile: &Profile<'_>, hosts: usize, shortcuts: usize) -> BridgePlan {
    match profile.raw.bridge {
        Some(raw) => config::learning(cx, &profile.place.key("bridge"), raw),
        None => BridgePlan {
            table_size: hosts.max(1),
            port_limit: BridgePlan::NO_LIMIT,
            ageing: AGEING,
            shortcuts,
            statics: Vec::new(),
            spread: Vec::new(),
        },
    }
}

/// Returns port names: `to_h1`, and `to_h1_2` for a second link.
fn port_names(graph: &Graph<'_>, node: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut counts: HashMap<usize, u32> = HashMap::new();
    for port in 0..graph.nodes[node].ports.len() {
        let (peer, _) = graph.peer(node, port);
        let times = counts.entry(peer).or_default();
        *times += 1;
        let base = format!("to_{}", graph.nodes[peer].name);
        names.push(if *times == 1 { base } else { format!("{base}_{times}") });
    }
    names
}

/// Returns the ports of a switch: the kind and the end of each of its links, with the port's name.
fn virtual_ports<'r>(
    graph: &'r Graph<'_>,
    specs: &[LinkSpec],
    profile: &'r Profile<'_>,
    ends: &[(usize, bool)],
    names: &'r [String],
) -> Vec<VirtualPort<'r>> {
    let own = profile.ports.macsec.as_deref();
    let own = own.map(|raw| (raw, profile.place.key("defaults").key("macsec")));
    let port = |(name, (kind, is_a)): (&'r String, &(usize, bool))| {
        let spec = &specs[*kind];
        VirtualPort {
            name,
            line: spec.line,
            link: spec.round_trip[usize::from(!is_a)],
            // The peer waits for the response time of this end.
            response: spec.round_trip[usize::from(*is_a)].higher_layer,
            macsec: links::link_macsec(&graph.kinds[*kind]).or_else(|| own.clone()),
        }
    };
    names.iter().zip(ends).map(port).collect()
}

/// Resolves a profile for these ports.
fn template(cx: &mut Cx, profile: &Profile<'_>, ports: &[VirtualPort<'_>]) -> VirtualSwitch {
    let rule = profile.raw.headroom_check.unwrap_or_default();
    let raw = VirtualSections {
        max_frame: profile.raw.max_frame,
        buffer: &profile.raw.buffer,
        defaults: &profile.ports,
        congestion: profile.raw.congestion(),
    };
    let switch = virtual_switch(cx, &profile.place, &raw, ports, rule);
    check_profile(cx, &profile.place, &switch.congestion);
    switch
}

/// Plans one switch of a shape.
fn plan(
    number: usize,
    node: &Node<'_>,
    template: &VirtualSwitch,
    names: Vec<String>,
    bridge: BridgePlan,
    seed: u64,
) -> SwitchPlan {
    let mut ports = template.ports.clone();
    for ((i, port), name) in ports.iter_mut().enumerate().zip(names) {
        port.name = name;
        port.mac = switch_port_mac(number, i);
        agents::name_port(port, &node.name, number);
    }
    SwitchPlan {
        name: node.name.clone(),
        ports,
        buffer: template.buffer.clone(),
        bridge,
        routing: RoutingPlan::default(),
        congestion: template.congestion.clone(),
        max_frame: template.max_frame,
        // Each switch draws from a stream of its own, so adding one changes no other.
        seed: Rng::nth(seed, number as u64),
    }
}

/// A profile, and its place in the file.
pub(super) struct Profile<'a> {
    pub raw: raw::Profile,
    pub ports: Port,
    pub place: Place<'a>,
}

pub(super) struct Profiles<'a> {
    pub list: Vec<Profile<'a>>,
    names: Vec<String>,
    /// Profile of switches that name none.
    default: usize,
}

#[derive(Default)]
pub(super) struct Switches {
    /// By node; `None` for hosts.
    pub plans: Vec<Option<SwitchPlan>>,
    /// Headroom of each shape, and the shape of each node.
    pub headroom: Vec<Vec<HeadroomCheck>>,
    pub shape_of: Vec<Option<usize>>,
    /// Profile of each node.
    pub profile_of: Vec<Option<usize>>,
    /// True for switches that learn addresses.
    pub learns: Vec<bool>,
}

impl Switches {
    /// Returns true if every switch learns addresses.
    pub fn learn(&self) -> bool {
        self.plans.iter().zip(&self.learns).all(|(plan, learns)| plan.is_none() || *learns)
    }
}

impl<'a> Profiles<'a> {
    pub fn new(place: &Place<'a>, lab: &raw::Lab) -> Self {
        let place = place.key("profiles");
        let profile =
            |raw: raw::Profile, place| Profile { ports: raw.defaults.as_port(), raw, place };
        let mut list: Vec<_> =
            lab.profiles.iter().map(|(name, raw)| profile(raw.clone(), place.key(name))).collect();
        let names: Vec<String> = lab.profiles.keys().cloned().collect();
        // One profile is for all switches; with several each switch has to name its own.
        let default = if list.len() == 1 { 0 } else { list.len() };
        // The built-in profile comes last. If the file has several, it is never used.
        let mut built_in = raw::Profile::default();
        // An empty `pfc` section is PFC with its defaults, lossless for priorities 3 and 4.
        built_in.defaults.pfc = Some(config::raw::Pfc::default());
        list.push(profile(built_in, place));
        Self { list, names, default }
    }

    /// Returns the profile of a switch.
    pub fn of(&self, cx: &mut Cx, node: &Node<'_>, raw: Option<&String>) -> usize {
        let place = node.source.key("profile");
        match raw {
            Some(name) => self.names.iter().position(|n| n == name).unwrap_or_else(|| {
                let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                cx.error(&place, unknown_name("profile", name, &names));
                self.list.len() - 1
            }),
            None => {
                if self.names.len() > 1 {
                    let what = format!(
                        "the file has several profiles; say which one `{}` has, in `profile` or in \
                         `defaults.switches`: {}",
                        node.name,
                        self.names.join(", ")
                    );
                    cx.error(&node.source.own, what);
                }
                self.default
            }
        }
    }

    /// True each if a profile does not configure the measurement, and PTP.
    pub fn unset(&self, profile: usize) -> (bool, bool) {
        let ports = &self.list[profile].ports;
        (ports.measurement.is_none(), ports.ptp.is_none())
    }

    /// Returns the buffer section of a profile, and the place of the profile.
    pub fn buffer(&self, profile: usize) -> (&config::raw::Buffer, &Place<'a>) {
        (&self.list[profile].raw.buffer, &self.list[profile].place)
    }
}

/// Largest payload that a message can quote in the virtual world, in bytes: what is kept of an untagged frame,
/// less the two addresses.
const MSDU_AT_HAND: u16 = FRAME_KEPT as u16 - 12;

/// Sets the type of each port's peer: that of the profile, or that of the node at the other end.
fn attach(
    congestion: &mut CongestionPlan,
    graph: &Graph<'_>,
    node: usize,
    hosts: &raw::Host,
    raw: Option<AttachedKind>,
) {
    for (port, attached) in congestion.ports.iter_mut().enumerate() {
        let (peer, _) = graph.peer(node, port);
        attached.kind = match &graph.nodes[peer].kind {
            Kind::Switch(_) => AttachedKind::Switch,
            Kind::Host(host, _) => match raw {
                // Without a name the lab knows what the host obeys; a profile that names a type may be wrong on
                // purpose.
                None if hosts::obeys_sfc(&host.over(hosts)) => AttachedKind::SfcHost,
                raw => raw.unwrap_or(AttachedKind::Host),
            },
        };
    }
}

/// Warns of messages that are configured to quote more of a frame than the virtual world keeps.
fn check_profile(cx: &mut Cx, place: &Place<'_>, congestion: &CongestionPlan) {
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
            cx.warn(&place.key(section).key(field), what);
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
            // LLDP tells such a port its peer during the run; a configured peer would hide that it did not.
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
            // The table has as many entries as the profile says, as a real one.
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

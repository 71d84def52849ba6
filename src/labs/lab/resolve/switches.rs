//! Plans each switch from its profile and its links. Switches with the same profile and the same
//! links are resolved once.

use std::collections::HashMap;

use super::addresses::switch_port_mac;
use super::graph::{Graph, Kind, Node};
use super::links::LinkSpec;
use super::profiles::{Profile, Profiles, Switches};
use super::{agents, congested, macsec};
use crate::raw::{self, HeadroomCheckName};
use config::{Cx, HeadroomRule, VirtualPort, VirtualSaid, VirtualSwitch, virtual_switch};
use ground::rand::Rng;
use ground::time::Duration;
use switch::{BridgePlan, RoutingPlan, SwitchPlan};

/// Address ageing time of 100 days, longer than any run, where no addresses are learnt.
const AGEING: Duration = Duration::from_secs(100 * 86_400);
/// Number of switch ports in a lab above which ports cache fewer routes, to save memory.
const MANY_PORTS: usize = 64;
/// Limits of the routes that a port caches in such a lab, and the routes of all ports together: a port of
/// a network with many ports sees few of its flows.
const SHORTCUTS_FEW: (usize, usize) = (64, 256);
const SHORTCUTS_OF_ALL: usize = 1 << 21;

/// Key of identical switches: the profile, and the kind and end of each link.
type Shape = (usize, Vec<(usize, bool)>);

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
        let shape = (profile, ends.collect());
        let names = port_names(graph, n);
        let index = *shapes.entry(shape).or_insert_with_key(|(_, ends)| {
            let template = template(cx, &profiles.list[profile], ends, &names, (graph, specs));
            out.headroom.push(template.headroom.clone());
            templates.push(template);
            templates.len() - 1
        });
        let bridge = match profiles.list[profile].raw.bridge {
            Some(raw) => {
                let at = profiles.list[profile].at.key("bridge");
                if switches > 1 {
                    let what = format!(
                        "the lab has {switches} switches, and flooded frames could go round; leave it out"
                    );
                    cx.error(&at, what);
                }
                out.learns[n] = true;
                config::learning(cx, &at, raw)
            }
            None => BridgePlan {
                table_size: graph.hosts.len().max(1),
                port_limit: BridgePlan::NO_LIMIT,
                ageing: AGEING,
                shortcuts,
                statics: Vec::new(),
                spread: Vec::new(),
            },
        };
        let mut plan = plan(n, node, &templates[index], names, bridge, lab.seed);
        let attached = profiles.list[profile].ports.attached;
        let hosts = &lab.defaults.hosts;
        congested::of_switch(&mut plan.congestion, (graph, n), hosts, attached, plan.seed);
        out.plans[n] = Some(plan);
        (out.shape_of[n], out.profile_of[n]) = (Some(index), Some(profile));
    }
    out
}

/// Returns port names: `to_h1`, and `to_h1_2` for a second link.
fn port_names(graph: &Graph<'_>, node: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen: HashMap<usize, u32> = HashMap::new();
    for port in 0..graph.nodes[node].ports.len() {
        let (peer, _) = graph.peer(node, port);
        let times = seen.entry(peer).or_default();
        *times += 1;
        let base = format!("to_{}", graph.nodes[peer].name);
        names.push(if *times == 1 { base } else { format!("{base}_{times}") });
    }
    names
}

fn template(
    cx: &mut Cx,
    profile: &Profile<'_>,
    ends: &[(usize, bool)],
    names: &[String],
    (graph, specs): (&Graph<'_>, &[LinkSpec]),
) -> VirtualSwitch {
    let own = profile.ports.macsec.as_deref();
    let own = own.map(|said| (said, profile.at.key("defaults").key("macsec")));
    let port = |(name, (kind, is_a)): (&'_ String, &(usize, bool))| {
        let spec = &specs[*kind];
        let link = spec.round_trip[usize::from(!is_a)];
        // The peer waits for the response time of this end.
        let response = spec.round_trip[usize::from(*is_a)].higher_layer;
        let macsec = macsec::of_link(&graph.kinds[*kind]).or_else(|| own.clone());
        (name.clone(), spec.line, link, response, macsec)
    };
    let ports: Vec<_> = names.iter().zip(ends).map(port).collect();
    let ports: Vec<VirtualPort<'_>> = ports
        .iter()
        .map(|(name, line, link, response, macsec)| VirtualPort {
            name,
            line: *line,
            link: *link,
            response: *response,
            macsec: macsec.clone(),
        })
        .collect();
    let rule = match profile.raw.headroom_check.unwrap_or_default() {
        HeadroomCheckName::Refuse => HeadroomRule::Refuse,
        HeadroomCheckName::Warn => HeadroomRule::Warn,
        HeadroomCheckName::Off => HeadroomRule::Off,
    };
    let said = VirtualSaid {
        max_frame: profile.raw.max_frame,
        buffer: &profile.raw.buffer,
        defaults: &profile.ports,
        congestion: profile.raw.congestion(),
    };
    let switch = virtual_switch(cx, &profile.at, &said, &ports, rule);
    congested::check_profile(cx, &profile.at, &switch.congestion);
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
        seed: Rng::nth(seed, number as u64),
    }
}

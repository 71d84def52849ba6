//! Routes from every switch to every host: shortest paths, or forced ones. They become static
//! addresses, because flooding in a network with loops would never end.

use std::collections::{BTreeMap, VecDeque};

use super::graph::{self, Graph};
use crate::raw;
use config::{Cx, Place};
use ground::rand::Rng;

/// No route.
const NONE: u16 = u16::MAX;
/// Most static addresses of all switches together: 160 MiB of plan.
const STATICS_MAX: usize = 16 << 20;

/// Egress port towards each host, by switch and host number.
pub(super) struct Routes {
    hosts: usize,
    ports: Vec<u16>,
    /// Row of each node; `None` for hosts.
    row_of: Vec<Option<usize>>,
    /// By switch and host number: the ports of all shortest paths, where there are several and flows
    /// are spread over them.
    equal: BTreeMap<(usize, usize), Vec<u16>>,
}

impl Routes {
    /// Returns the egress port of a switch towards a host.
    pub fn port(&self, node: usize, host: usize) -> Option<usize> {
        let row = self.row_of[node]?;
        let port = self.ports[row * self.hosts + host];
        (port != NONE).then_some(usize::from(port))
    }

    /// Returns the egress ports of a switch over which flows to a host are spread.
    pub fn equal(&self, node: usize, host: usize) -> Option<&[u16]> {
        self.equal.get(&(node, host)).map(Vec::as_slice)
    }

    fn set(&mut self, node: usize, host: usize, port: usize) {
        // A forced route is one route: its traffic is not spread any more.
        self.equal.remove(&(node, host));
        if let Some(row) = self.row_of[node] {
            self.ports[row * self.hosts + host] = port as u16;
        }
    }

    /// Returns the switches on the path between two hosts, each with ingress and egress port, or
    /// `None` if there is no path.
    pub fn path(&self, graph: &Graph<'_>, from: usize, to: usize) -> Option<Vec<Hop>> {
        let (source, target) = (*graph.hosts.get(from)?, *graph.hosts.get(to)?);
        let mut hops = Vec::new();
        if graph.nodes[source].ports.is_empty() {
            return None;
        }
        let (mut node, mut input) = graph.peer(source, 0);
        while node != target {
            let output = self.port(node, to)?;
            hops.push(Hop { node, input, output });
            // Forced routes may form a circle; it is reported elsewhere, and must not hang this walk.
            if hops.len() > graph.nodes.len() {
                return None;
            }
            (node, input) = graph.peer(node, output);
        }
        Some(hops)
    }
}

/// A switch on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub node: usize,
    pub input: usize,
    pub output: usize,
}

/// Calculates all routes.
pub(super) fn routes(cx: &mut Cx, place: &Place<'_>, graph: &Graph<'_>, lab: &raw::Lab) -> Routes {
    let mut row_of = vec![None; graph.nodes.len()];
    let switches: Vec<usize> = (0..graph.nodes.len()).filter(|n| !graph.is_host(*n)).collect();
    for (row, node) in switches.iter().enumerate() {
        row_of[*node] = Some(row);
    }
    let hosts = graph.hosts.len();
    let mut routes = Routes { hosts, ports: Vec::new(), row_of, equal: BTreeMap::new() };
    let entries = switches.len() * hosts;
    if entries > STATICS_MAX {
        let what = format!(
            "{} switches would have {entries} addresses of {hosts} hosts; {STATICS_MAX} is as much \
             as a lab can have",
            switches.len()
        );
        cx.error(place, what);
        routes.row_of.fill(None);
        return routes;
    }
    routes.ports = vec![NONE; entries];
    let mut by_switch: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (number, host) in graph.hosts.iter().enumerate() {
        if !graph.nodes[*host].ports.is_empty() {
            by_switch[graph.peer(*host, 0).0].push(number);
        }
    }
    // All hosts of a switch have the same paths to it, so there is one search for each switch with hosts.
    let spread = lab.equal_cost == Some(raw::EqualCost::Flow);
    let distance = vec![u32::MAX; graph.nodes.len()];
    let mut paths = Paths { graph, switches, spread, distance };
    for (target, hosts) in by_switch.iter().enumerate() {
        if !graph.is_host(target) && !hosts.is_empty() {
            paths.shortest(target, hosts, &mut routes);
        }
    }
    one_way(graph, &by_switch, &mut routes);
    // Shortest paths have no circles, so only a ring and forced routes are searched for them.
    let forced = lab.routes.iter().enumerate().fold(!graph.one_way.is_empty(), |_, (i, raw)| {
        force(cx, &place.key("routes").index(i), raw, graph, &mut routes);
        true
    });
    if forced {
        find_circles(cx, place, graph, &routes);
    }
    routes
}

/// The searches for shortest paths in one graph.
struct Paths<'r, 'g> {
    graph: &'r Graph<'g>,
    switches: Vec<usize>,
    /// True if the ports of all shortest paths are kept.
    spread: bool,
    /// Links from each node to the target of the latest search.
    distance: Vec<u32>,
}

impl Paths<'_, '_> {
    /// Finds the shortest paths to the hosts of one switch; a hash of host and switch chooses among
    /// equals, which are all kept if flows are spread over them.
    fn shortest(&mut self, target: usize, hosts: &[usize], routes: &mut Routes) {
        let Self { graph, distance, .. } = self;
        distance.fill(u32::MAX);
        distance[target] = 0;
        let mut queue = VecDeque::from([target]);
        while let Some(node) = queue.pop_front() {
            for port in 0..graph.nodes[node].ports.len() {
                let (peer, _) = graph.peer(node, port);
                // Hosts forward nothing, so no path leads through one.
                if !graph.is_host(peer) && distance[peer] == u32::MAX {
                    distance[peer] = distance[node] + 1;
                    queue.push_back(peer);
                }
            }
        }
        for host in hosts {
            let node = graph.hosts[*host];
            routes.set(target, *host, graph.peer(node, 0).1);
        }
        let mut nearer: Vec<usize> = Vec::new();
        for node in self.switches.iter().filter(|n| **n != target && distance[**n] != u32::MAX) {
            nearer.clear();
            nearer.extend((0..graph.nodes[*node].ports.len()).filter(|port| {
                let (peer, _) = graph.peer(*node, *port);
                !graph.is_host(peer) && distance[peer] + 1 == distance[*node]
            }));
            for host in hosts {
                // A hash and no seed: a route belongs to the topology, and stays when the seed changes.
                let drawn = Rng::nth(*host as u64, *node as u64) >> 32;
                routes.set(*node, *host, nearer[drawn as usize % nearer.len()]);
                if self.spread && nearer.len() > 1 {
                    let ports = nearer.iter().map(|port| *port as u16).collect();
                    routes.equal.insert((*node, *host), ports);
                }
            }
        }
    }
}

/// Routes all traffic of a ring in its one direction.
fn one_way(graph: &Graph<'_>, by_switch: &[Vec<usize>], routes: &mut Routes) {
    for (node, link) in &graph.one_way {
        let Some(port) = graph.nodes[*node].ports.iter().position(|l| l == link) else { continue };
        let others = graph.one_way.iter().filter(|(other, _)| other != node);
        for host in others.flat_map(|(other, _)| &by_switch[*other]) {
            routes.set(*node, *host, port);
        }
    }
}

/// Applies a route of the file.
fn force(cx: &mut Cx, place: &Place<'_>, raw: &raw::Route, graph: &Graph<'_>, routes: &mut Routes) {
    if let Some(path) = &raw.path {
        if raw.at.is_some() || raw.to.is_some() || raw.via.is_some() {
            cx.error(place, "a route is a `path`, or has `at`, `to` and `via`; take one out");
        }
        return force_path(cx, &place.key("path"), path, graph, routes);
    }
    let (Some(switch), Some(to), Some(via)) = (&raw.at, &raw.to, &raw.via) else {
        return cx.error(place, "needs `path`, or all of `at`, `to` and `via`");
    };
    let Some(switch) = graph.find_switch(cx, &place.key("at"), switch) else { return };
    let Some(port) = port_via(cx, &place.key("via"), graph, switch, via) else { return };
    for (i, text) in to.0.iter().enumerate() {
        let to_at = if to.0.len() == 1 { place.key("to") } else { place.key("to").index(i) };
        if text == "all" {
            for host in 0..graph.hosts.len() {
                let of_switch = graph.peer_of_host(host) == Some(switch);
                // `all` is all hosts elsewhere: those of this switch stay at their own ports.
                if !of_switch {
                    routes.set(switch, host, port);
                }
            }
            continue;
        }
        for name in graph::expand(cx, &to_at, text) {
            // The first unknown name of a range stands for those behind it.
            let Some(host) = graph.find_host(cx, &to_at, &name) else { break };
            routes.set(switch, graph.host_number(host), port);
        }
    }
}

/// Applies a route that is given node by node.
fn force_path(
    cx: &mut Cx,
    place: &Place<'_>,
    path: &[String],
    graph: &Graph<'_>,
    routes: &mut Routes,
) {
    let Some((last, nodes)) = path.split_last().filter(|(_, nodes)| !nodes.is_empty()) else {
        return cx.error(place, "a path has at least two nodes, and ends at a host");
    };
    let Some(target) = graph.find_host(cx, &place.index(nodes.len()), last) else { return };
    for (i, name) in nodes.iter().enumerate() {
        let here = place.index(i);
        let Some(node) = graph.find(cx, &here, name) else { continue };
        if graph.is_host(node) {
            if i > 0 {
                cx.error(&here, format!("`{name}` is a host, through which nothing goes"));
            } else if graph.ports_to(node, &path[1]).is_empty() {
                cx.error(&here, format!("`{name}` has no link to `{}`", path[1]));
            }
            continue;
        }
        if let Some(port) = port_via(cx, &place.index(i + 1), graph, node, &path[i + 1]) {
            routes.set(node, graph.host_number(target), port);
        }
    }
}

/// Returns the port of a switch that leads to a node, or over a link.
fn port_via(
    cx: &mut Cx,
    place: &Place<'_>,
    graph: &Graph<'_>,
    switch: usize,
    via: &str,
) -> Option<usize> {
    let port = graph.ports_to(switch, via).first().copied();
    if port.is_none() {
        let name = &graph.nodes[switch].name;
        cx.error(place, format!("`{name}` has no link to `{via}`"));
    }
    port
}

/// Reports switches from which frames to a host loop instead of arriving.
fn find_circles(cx: &mut Cx, place: &Place<'_>, graph: &Graph<'_>, routes: &Routes) {
    const SEEN: usize = usize::MAX;
    let mut good = vec![SEEN; graph.nodes.len()];
    for (host, target) in graph.hosts.iter().enumerate() {
        for start in 0..graph.nodes.len() {
            let mut walked = Vec::new();
            let mut node = start;
            // Each node is walked once for a host: a walk ends where an earlier one has passed without a circle.
            while node != *target && good[node] != host {
                if walked.contains(&node) {
                    let from = walked.iter().position(|n| *n == node).unwrap_or(0);
                    let circle: Vec<&str> =
                        walked[from..].iter().map(|n| graph.nodes[*n].name.as_str()).collect();
                    let what = format!(
                        "frames to `{}` would go in a circle: {} -> {}",
                        graph.nodes[*target].name,
                        circle.join(" -> "),
                        circle[0]
                    );
                    return cx.error(&place.key("routes"), what);
                }
                walked.push(node);
                match routes.port(node, host) {
                    Some(port) => node = graph.peer(node, port).0,
                    None => break,
                }
                if graph.is_host(node) && node != *target {
                    break;
                }
            }
            for node in walked {
                good[node] = host;
            }
        }
    }
}

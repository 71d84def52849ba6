//! Topologies: numbers of nodes and links, full reachability, and no path that turns back up.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use ground::units::Mac;
use sim::{NetworkPlan, NodeId, NodeKind, NodePlan};
use switch::SwitchPlan;

fn lab(topology: &str) -> NetworkPlan {
    good(&format!("topology: {topology}")).0.plan.network
}

fn switch(node: &NodePlan) -> Option<&SwitchPlan> {
    match &node.kind {
        NodeKind::Switch(plan) => Some(plan),
        NodeKind::Host(_) => None,
    }
}

/// The network as frames see it: the peer of each port, and the address table of each switch.
struct Map<'a> {
    plan: &'a NetworkPlan,
    peers: HashMap<(NodeId, usize), NodeId>,
    tables: Vec<HashMap<Mac, usize>>,
    hosts: Vec<(NodeId, Mac)>,
}

impl<'a> Map<'a> {
    fn new(plan: &'a NetworkPlan) -> Self {
        let mut peers = HashMap::new();
        for link in &plan.links {
            peers.insert((link.a.node, link.a.port.index()), link.b.node);
            peers.insert((link.b.node, link.b.port.index()), link.a.node);
        }
        let table = |n: &NodePlan| {
            let statics = switch(n).map(|s| s.bridge.statics.as_slice()).unwrap_or_default();
            statics.iter().map(|s| (s.mac, s.port.index())).collect()
        };
        let host = |(i, n): (usize, &NodePlan)| match &n.kind {
            NodeKind::Host(h) => Some((NodeId(i as u32), h.mac)),
            NodeKind::Switch(_) => None,
        };
        Self {
            plan,
            peers,
            tables: plan.nodes.iter().map(table).collect(),
            hosts: plan.nodes.iter().enumerate().filter_map(host).collect(),
        }
    }

    /// Returns the names of the switches on the path from one host to another.
    fn way(&self, from: NodeId, to: (NodeId, Mac)) -> Vec<&str> {
        let mut names = Vec::new();
        let mut at = self.peers[&(from, 0)];
        while at != to.0 {
            names.push(self.plan.nodes[at.index()].name());
            assert!(names.len() <= self.plan.nodes.len(), "a circle: {names:?}");
            let port = self.tables[at.index()].get(&to.1).unwrap_or_else(|| panic!("{names:?}"));
            at = self.peers[&(at, *port)];
        }
        names
    }

    /// Returns the paths between all pairs of hosts.
    fn ways(&self) -> Vec<Vec<&str>> {
        let pairs = self.hosts.iter().flat_map(|a| self.hosts.iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| self.way(a.0, *b)).collect()
    }
}

/// Returns the number of hosts, switches and links.
fn counts(plan: &NetworkPlan) -> (usize, usize, usize) {
    let switches = plan.nodes.iter().filter(|n| switch(n).is_some()).count();
    (plan.nodes.len() - switches, switches, plan.links.len())
}

#[test]
fn topologies_have_the_nodes_and_links_that_they_are_named_for() {
    for (text, hosts, switches, links) in [
        ("{star: {hosts: 5}}", 5, 1, 5),
        ("{parking_lot: {switches: 3, hosts_per_switch: 2}}", 7, 3, 9),
        ("{parking_lot: {switches: 2, hosts_per_switch: [3, 1]}}", 5, 2, 6),
        ("{leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 3}}", 12, 6, 20),
        ("{fat_tree: {k: 4}}", 16, 20, 48),
        ("{fat_tree: {k: 2}}", 2, 5, 6),
        ("{ring: {switches: 3, hosts_per_switch: 2}}", 6, 3, 9),
    ] {
        let plan = lab(text);
        assert_eq!(counts(&plan), (hosts, switches, links), "{text}");
        assert_eq!(Map::new(&plan).ways().len(), hosts * (hosts - 1), "{text}");
    }
}

#[test]
fn ways_in_trees_go_up_and_then_down() {
    // Level of a switch in the tree, by the first letter of its name.
    let height = |name: &str| match &name[..1] {
        "l" | "e" => 1,
        "s" | "a" => 2,
        _ => 3,
    };
    for text in ["{leaf_spine: {leaves: 5, spines: 3, hosts_per_leaf: 2}}", "{fat_tree: {k: 6}}"] {
        let plan = lab(text);
        let map = Map::new(&plan);
        let mut tops: HashMap<&str, usize> = HashMap::new();
        for way in map.ways() {
            let heights: Vec<i32> = way.iter().map(|n| height(n)).collect();
            let top = heights.iter().position(|h| Some(h) == heights.iter().max()).unwrap();
            assert!(heights[..=top].windows(2).all(|w| w[0] < w[1]), "{way:?}");
            assert!(heights[top..].windows(2).all(|w| w[0] > w[1]), "{way:?}");
            *tops.entry(way[top]).or_default() += 1;
        }
        // Paths use all switches of the highest level.
        let highest = tops.keys().map(|n| height(n)).max().unwrap();
        let all = plan.nodes.iter().filter(|n| switch(n).is_some() && height(n.name()) == highest);
        assert!(all.into_iter().all(|n| tops.contains_key(n.name())), "{tops:?}");
    }
}

#[test]
fn a_ring_goes_round_in_one_direction() {
    let plan = lab("{ring: {switches: 4, hosts_per_switch: 1}}");
    let map = Map::new(&plan);
    let way = |a: usize, b: usize| map.way(map.hosts[a].0, map.hosts[b]);
    assert_eq!(way(0, 1), ["s1", "s2"]);
    assert_eq!(way(1, 0), ["s2", "s3", "s4", "s1"]);
}

#[test]
fn routes_of_the_file_go_before_the_shortest() {
    let text = "
topology: {ring: {switches: 4}}
nodes: {switches: [x], hosts: [h9]}
links: [{from: s1, to: x}, {from: s3, to: x}, {from: h9, to: x}]
routes:
  - {path: [h1, s1, x, s3, h3]}
  - {at: s4, to: h3, via: s3}
";
    let plan = good(text).0.plan.network;
    let map = Map::new(&plan);
    let host = |name: &str| {
        let of = |(n, _): &&(NodeId, Mac)| plan.nodes[n.index()].name() == name;
        *map.hosts.iter().find(of).unwrap()
    };
    assert_eq!(map.way(host("h1").0, host("h3")), ["s1", "x", "s3"]);
    assert_eq!(map.way(host("h4").0, host("h3")), ["s4", "s3"]);
    assert_eq!(map.way(host("h2").0, host("h9")), ["s2", "s1", "x"]);
    assert_eq!(map.way(host("h9").0, host("h2")), ["x", "s1", "s2"]);
}

#[test]
fn flows_are_spread_over_shortest_paths_on_request_but_not_where_a_route_is_given() {
    let text = "
topology: {leaf_spine: {leaves: 2, spines: 3, hosts_per_leaf: 2}}
equal_cost: flow
routes: [{at: leaf1, to: h4, via: spine2}]
";
    let spread = |text: &str| -> Vec<(String, Vec<usize>)> {
        let plan = good(text).0.plan.network;
        let of = |node: &NodePlan| {
            let spread = &switch(node)?.bridge.spread;
            let ports = spread.iter().map(|e| e.ports.len()).collect();
            Some((node.name().to_owned(), ports))
        };
        plan.nodes.iter().filter_map(of).collect()
    };
    let expected = [("leaf1", &[3][..]), ("leaf2", &[3, 3]), ("spine1", &[]), ("spine2", &[])];
    let found = spread(text);
    for (name, ports) in expected {
        assert!(found.contains(&(name.to_owned(), ports.to_vec())), "{name}: {found:?}");
    }
    let none = spread(&text.replace("equal_cost: flow", "equal_cost: host"));
    assert!(none.iter().all(|(_, ports)| ports.is_empty()));
}

#[test]
fn more_can_be_said_of_nodes_and_links_of_a_topology() {
    let text = "
topology: {star: {hosts: 3}}
defaults: {links: {rate: 25G, length: 10m}}
nodes:
  hosts: [{name: h2, clock: {drift: -20ppm}}]
links:
  - {from: h1, to: s1, length: 300m}
  - {from: s1, to: h2, rate: 10G, phy: none}
";
    let plan = good(text).0.plan.network;
    assert_eq!(counts(&plan), (3, 1, 3));
    let ns = |n: usize| plan.links[n].ab.delay.as_picos() / 1000;
    // 25GBASE-R: 16384 bit times at each end.
    assert_eq!((ns(0), ns(1), ns(2)), (1500 + 655, 50, 50 + 655));
    assert_eq!(plan.nodes[2].clock.drift_ppb, -20_000);
}

#[test]
fn a_thousand_hosts_are_planned_with_little_memory() {
    let plan = lab("{fat_tree: {k: 16}}");
    assert_eq!(counts(&plan), (1024, 320, 3072));
    let shortcuts = switch(&plan.nodes[0]).unwrap().bridge.shortcuts;
    assert!(shortcuts <= 256);
    assert!(plan.nodes.iter().filter_map(switch).all(|s| s.bridge.statics.len() == 1024));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_connected_graph_has_ways_without_circles(
        switches in 1_usize..8,
        extra in prop::collection::vec((0_usize..8, 0_usize..8), 0..8),
        at in prop::collection::vec(0_usize..8, 2..6),
    ) {
        let mut links = String::new();
        for n in 1..switches {
            links += &format!("  - {{from: s{}, to: s{n}}}\n", n + 1);
        }
        for (a, b) in extra {
            let (a, b) = (a % switches + 1, b % switches + 1);
            if a != b {
                links += &format!("  - {{from: s{a}, to: s{b}}}\n");
            }
        }
        for (n, s) in at.iter().enumerate() {
            links += &format!("  - {{from: h{}, to: s{}}}\n", n + 1, s % switches + 1);
        }
        let used: Vec<bool> = (1..=switches).map(|n| links.contains(&format!("s{n}}}"))).collect();
        prop_assume!(switches > 1 || used[0]);
        let text = format!(
            "nodes: {{switches: {switches}, hosts: {}}}\nlinks:\n{links}",
            at.len()
        );
        let plan = good(&text).0.plan.network;
        prop_assert_eq!(Map::new(&plan).ways().len(), at.len() * (at.len() - 1));
        prop_assert!(sim::Network::new(&plan, ()).is_ok());
    }
}

/// A switch that learns has no addresses of hosts in its table.
#[test]
fn a_single_switch_may_learn_its_addresses() {
    let lab = "topology: {star: {hosts: 3}}\nprofiles: {p: {BRIDGE}}\n";
    let bridge = |text: &str| {
        let plan = good(&lab.replace("BRIDGE", text)).0.plan;
        let mut switches = plan.network.nodes.iter().filter_map(|node| match &node.kind {
            sim::NodeKind::Switch(plan) => Some(plan.bridge.clone()),
            sim::NodeKind::Host(_) => None,
        });
        switches.next().unwrap()
    };
    assert_eq!(bridge("").statics.len(), 3);
    let learning = bridge("bridge: {}");
    assert_eq!((learning.statics.len(), learning.table_size), (0, 16_384));
    assert_eq!((learning.port_limit, learning.ageing), (8_192, Duration::from_secs(300)));
    let small = bridge("bridge: {table_size: 8, addresses_per_port: 3, ageing: 2s}");
    assert_eq!((small.table_size, small.port_limit), (8, 3));
    assert_eq!(small.ageing, Duration::from_secs(2));
    let two =
        lab.replace("star: {hosts: 3}", "ring: {switches: 3}").replace("BRIDGE", "bridge: {}");
    let error = crate::file::parse("two.yaml", &two).unwrap_err().to_string();
    assert!(error.contains("profiles.p.bridge") && error.contains("could go round"), "{error}");
}

#[test]
fn flows_that_arrive_in_one_order_for_the_whole_run_are_told() {
    let warned = |flow: &str, profile: &str, rest: &str| {
        let text = format!(
            "profiles: {{tor: {{{profile}}}}}\n\
             topology: {{star: {{hosts: 3}}}}\n\
             defaults: {{links: {{rate: 100G, length: 10m}}, flows: {{size: 1500, priority: 0}}}}\n\
             flows: [{{name: a, from: h1, to: h3}}, {{{flow}}}]\n{rest}"
        );
        let (_, warnings) = good(&text);
        warnings.iter().any(|warning| warning.contains("`a` and `b` have one rate"))
    };
    let queue = "defaults: {queues: {0: {limit: {static_th: 200KB}}}}";
    let flow = "name: b, from: h2, to: h3";
    assert!(warned(flow, queue, ""));
    // Half of the line each, another size, one sender, another receiver, another host's clock.
    assert!(!warned("name: b, from: h2, to: h3, rate: 50%", queue, ""));
    assert!(!warned("name: b, from: h2, to: h3, size: 1000", queue, ""));
    assert!(!warned("name: b, from: h1, to: h3", queue, ""));
    assert!(!warned("name: b, from: h2, to: h1", queue, ""));
    assert!(!warned(flow, queue, "nodes: {hosts: [{name: h2, clock: {drift: 20ppm}}]}"));
    // A threshold of each ingress port and a lossless priority divide the buffer; a pool that is full does not.
    assert!(!warned(flow, "", ""));
    assert!(!warned(flow, "defaults: {pfc: {enable: [0]}}", ""));
    for (limit, is_warned) in
        [("unlimited: true", true), ("static_th: 1500KB", true), ("static_th: 200KB", false)]
    {
        let profile =
            format!("buffer: {{total: 2MiB, profiles: {{lossy: {{shared: {{{limit}}}}}}}}}");
        assert_eq!(warned(flow, &profile, ""), is_warned, "{limit}");
    }
}

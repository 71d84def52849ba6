//! Common topologies: nodes, links, and the routes of the ring.

use super::graph::{Graph, NODES_MAX, Source};
use crate::raw::{self, Defaults, Many};
use config::quantity::{Length, LinkRate};
use config::raw::PhyName;
use config::{Cx, Place};
use ground::units::PortId;

/// Most ports of a switch.
const PORTS_MAX: u32 = PortId::MAX.get() as u32 + 1;

/// Adds nodes and links to the graph.
struct Builder<'g, 'a> {
    graph: &'g mut Graph<'a>,
    /// Place of the topology, which is also the place of its nodes.
    place: Place<'a>,
    defaults_at: Place<'a>,
    edge: usize,
    uplink: usize,
}

impl<'a> Builder<'_, 'a> {
    fn source(&self, key: &str) -> Source<'a> {
        Source { own: self.place.clone(), defaults: self.defaults_at.key(key) }
    }

    fn switch(&mut self, name: String) -> usize {
        let source = self.source("switches");
        self.graph.add_switch(name, raw::Switch::default(), source)
    }

    /// Adds the next `n` hosts to a switch.
    fn hosts(&mut self, switch: usize, n: u32) {
        for _ in 0..n {
            let name = format!("h{}", self.graph.hosts.len() + 1);
            self.host(name, switch);
        }
    }

    fn host(&mut self, name: String, switch: usize) {
        let source = self.source("hosts");
        let host = self.graph.add_host(name, raw::Host::default(), source);
        self.graph.add_link(None, host, switch, self.edge);
    }

    fn link(&mut self, a: usize, b: usize) -> usize {
        self.graph.add_link(None, a, b, self.uplink)
    }
}

/// Rate, length and PHY of links between switches.
type Uplink = (Option<LinkRate>, Option<Length>, Option<PhyName>);

/// Adds the nodes and links of a topology, if it is valid.
pub(super) fn generate<'a>(
    cx: &mut Cx,
    root: &Place<'a>,
    raw: &raw::Topology,
    defaults: &Defaults,
    graph: &mut Graph<'a>,
) {
    let place = root.key("topology");
    let named: [(&str, Option<Uplink>); 5] = [
        ("star", raw.star.as_ref().map(|_| (None, None, None))),
        (
            "parking_lot",
            raw.parking_lot.as_ref().map(|t| (t.uplink_rate, t.uplink_length, t.uplink_phy)),
        ),
        (
            "leaf_spine",
            raw.leaf_spine.as_ref().map(|t| (t.uplink_rate, t.uplink_length, t.uplink_phy)),
        ),
        ("fat_tree", raw.fat_tree.as_ref().map(|t| (t.uplink_rate, t.uplink_length, t.uplink_phy))),
        ("ring", raw.ring.as_ref().map(|t| (t.uplink_rate, t.uplink_length, t.uplink_phy))),
    ];
    // Two topologies would share names of nodes, such as `s1`.
    let mut given = named.iter().filter_map(|(name, uplink)| uplink.map(|u| (*name, u)));
    let (Some((name, (rate, length, phy))), None) = (given.next(), given.next()) else {
        let what = "needs exactly one of `star`, `parking_lot`, `leaf_spine`, `fat_tree` and \
                    `ring`; nodes and links beside it go to `nodes` and `links`";
        return cx.error(&place, what);
    };
    let (place, defaults_at) = (place.key(name), root.key("defaults"));
    let source = Source { own: place.clone(), defaults: defaults_at.key("links") };
    let mut uplink = defaults.links.clone();
    uplink.rate = rate.or(uplink.rate);
    uplink.phy = phy.or(uplink.phy);
    // A default delay would win over the length that the topology gives its uplinks.
    if length.is_some() {
        (uplink.length, uplink.delay) = (length, None);
    }
    let edge = graph.add_kind(defaults.links.clone(), source.clone());
    let uplink = graph.add_kind(uplink, source);
    let mut b = Builder { graph, place: place.clone(), defaults_at, edge, uplink };
    match raw {
        raw::Topology { star: Some(t), .. } => make_star(cx, &place, t, &mut b),
        raw::Topology { parking_lot: Some(t), .. } => make_parking_lot(cx, &place, t, &mut b),
        raw::Topology { leaf_spine: Some(t), .. } => make_leaf_spine(cx, &place, t, &mut b),
        raw::Topology { fat_tree: Some(t), .. } => make_fat_tree(cx, &place, t, &mut b),
        raw::Topology { ring: Some(t), .. } => make_ring(cx, &place, t, &mut b),
        // Exactly one is there, as was checked above.
        _ => {}
    }
}

/// True if a number is in range; else reports it.
fn within(cx: &mut Cx, place: &Place<'_>, field: &str, n: u32, range: (u32, u32)) -> bool {
    // `ranged` returns its default after an error; no 32-bit number can be this one.
    cx.ranged(&place.key(field), u64::from(n), (range.0.into(), range.1.into()), u64::MAX)
        != u64::MAX
}

/// True if the number of nodes is allowed; else reports it.
fn room(cx: &mut Cx, place: &Place<'_>, nodes: u64) -> bool {
    let fits = nodes <= u64::from(NODES_MAX);
    if !fits {
        cx.error(place, format!("makes {nodes} nodes; a lab has up to {NODES_MAX}"));
    }
    fits
}

fn make_star(cx: &mut Cx, place: &Place<'_>, t: &raw::Star, b: &mut Builder<'_, '_>) {
    if within(cx, place, "hosts", t.hosts, (1, PORTS_MAX)) {
        let switch = b.switch("s1".into());
        b.hosts(switch, t.hosts);
    }
}

fn make_parking_lot(cx: &mut Cx, place: &Place<'_>, t: &raw::ParkingLot, b: &mut Builder<'_, '_>) {
    if !within(cx, place, "switches", t.switches, (1, 1024)) {
        return;
    }
    let raw = t.hosts_per_switch.clone().unwrap_or(Many(vec![1])).0;
    let hosts: Vec<u32> = match raw.as_slice() {
        [n] => vec![*n; t.switches as usize],
        list => list.to_vec(),
    };
    let hosts_at = place.key("hosts_per_switch");
    if hosts.len() != t.switches as usize {
        let what = format!("{} numbers for {} switches", hosts.len(), t.switches);
        return cx.error(&hosts_at, what);
    }
    // Two ports lead to the neighbours, one to the receiver.
    let all: u64 = hosts.iter().map(|n| u64::from(*n)).sum();
    let fits = hosts.iter().all(|n| within(cx, place, "hosts_per_switch", *n, (0, PORTS_MAX - 3)));
    if !fits || !room(cx, &hosts_at, all + u64::from(t.switches) + 1) {
        return;
    }
    let mut last = None;
    for (i, n) in (1..).zip(hosts) {
        let switch = b.switch(format!("s{i}"));
        b.hosts(switch, n);
        if let Some(last) = last {
            b.link(last, switch);
        }
        last = Some(switch);
    }
    if let Some(last) = last {
        // The receiver is at the last switch, so flows of earlier switches share more links with others.
        b.host("r".into(), last);
    }
}

fn make_leaf_spine(cx: &mut Cx, place: &Place<'_>, t: &raw::LeafSpine, b: &mut Builder<'_, '_>) {
    let ranges = [
        within(cx, place, "leaves", t.leaves, (1, PORTS_MAX)),
        within(cx, place, "spines", t.spines, (1, PORTS_MAX)),
        within(cx, place, "hosts_per_leaf", t.hosts_per_leaf, (1, PORTS_MAX)),
    ];
    if ranges.contains(&false) {
        return;
    }
    if t.hosts_per_leaf + t.spines > PORTS_MAX {
        let ports = t.hosts_per_leaf + t.spines;
        return cx.error(place, format!("a leaf would have {ports} ports; there are {PORTS_MAX}"));
    }
    let hosts = u64::from(t.leaves) * u64::from(t.hosts_per_leaf);
    if !room(cx, place, hosts + u64::from(t.leaves + t.spines)) {
        return;
    }
    let spines: Vec<usize> = (1..=t.spines).map(|i| b.switch(format!("spine{i}"))).collect();
    for i in 1..=t.leaves {
        let leaf = b.switch(format!("leaf{i}"));
        b.hosts(leaf, t.hosts_per_leaf);
        for spine in &spines {
            b.link(leaf, *spine);
        }
    }
}

fn make_fat_tree(cx: &mut Cx, place: &Place<'_>, t: &raw::FatTree, b: &mut Builder<'_, '_>) {
    if !within(cx, place, "k", t.k, (2, 32)) {
        return;
    }
    if t.k % 2 != 0 {
        return cx.error(&place.key("k"), format!("{} is odd; half of the ports lead up", t.k));
    }
    // Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts.
    let half = t.k / 2;
    let cores: Vec<usize> = (1..=half * half).map(|i| b.switch(format!("c{i}"))).collect();
    for pod in 1..=t.k {
        let aggregation: Vec<usize> = (1..=half).map(|i| b.switch(format!("a{pod}_{i}"))).collect();
        for i in 1..=half {
            let edge = b.switch(format!("e{pod}_{i}"));
            b.hosts(edge, half);
            for a in &aggregation {
                b.link(edge, *a);
            }
        }
        // The i-th aggregation switch of every pod has the same k/2 cores, so two pods are joined by every core.
        for (a, cores) in aggregation.iter().zip(cores.chunks(half as usize)) {
            for core in cores {
                b.link(*a, *core);
            }
        }
    }
}

fn make_ring(cx: &mut Cx, place: &Place<'_>, t: &raw::Ring, b: &mut Builder<'_, '_>) {
    let hosts = t.hosts_per_switch.unwrap_or(1);
    let ranges = [
        within(cx, place, "switches", t.switches, (3, 1024)),
        within(cx, place, "hosts_per_switch", hosts, (1, PORTS_MAX - 2)),
    ];
    let nodes = u64::from(t.switches) * (u64::from(hosts) + 1);
    if ranges.contains(&false) || !room(cx, place, nodes) {
        return;
    }
    let mut switches = Vec::new();
    for i in 1..=t.switches {
        let switch = b.switch(format!("s{i}"));
        b.hosts(switch, hosts);
        switches.push(switch);
    }
    for (i, switch) in switches.iter().enumerate() {
        let next = switches[(i + 1) % switches.len()];
        let link = b.link(*switch, next);
        // All traffic of the ring goes one way: that is the cyclic buffer dependency that the ring is for.
        b.graph.one_way.push((*switch, link));
    }
}

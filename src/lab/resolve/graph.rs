//! Nodes and links: those of the topology, those that are written, and what is written about those
//! of the topology.

use std::collections::HashMap;

use super::raw::{self, Members, Short};
use super::topology;
use crate::config::{Cx, Place, unknown_name};
use crate::units::PortId;

/// The most nodes of a lab. A choice: far above what a laptop runs, far below what would hurt.
pub(super) const NODES_MAX: u32 = 16_384;
/// The most links of a lab.
const LINKS_MAX: usize = 65_536;

/// Where something stands, and where the defaults for it do.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub own: Place<'a>,
    pub defaults: Place<'a>,
}

impl<'a> Source<'a> {
    /// The place of a field: where it is written, or where it would be.
    pub fn key(&self, name: &str) -> Place<'a> {
        if !self.own.has(name) && self.defaults.has(name) {
            return self.defaults.key(name);
        }
        self.own.key(name)
    }
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    Switch(raw::Switch),
    /// With its number among the hosts.
    Host(Box<raw::Host>, u32),
}

/// A node.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub name: String,
    pub at: Source<'a>,
    pub kind: Kind,
    /// The links at its ports.
    pub ports: Vec<usize>,
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub name: String,
    /// The nodes at its ends, and their ports.
    pub a: (usize, usize),
    pub b: (usize, usize),
    /// What kind of link it is: a place in [`Graph::kinds`].
    pub kind: usize,
}

/// A kind of link: those of a topology share one.
#[derive(Debug)]
pub(super) struct LinkKind<'a> {
    pub raw: raw::Link,
    pub at: Source<'a>,
}

/// All nodes and links.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub nodes: Vec<Node<'a>>,
    pub links: Vec<Link>,
    pub kinds: Vec<LinkKind<'a>>,
    /// The nodes that are hosts, by number.
    pub hosts: Vec<usize>,
    /// Switches whose way to everything in the topology is over one link: the ring's.
    pub one_way: Vec<(usize, usize)>,
    by_name: HashMap<String, usize>,
    link_by_name: HashMap<String, usize>,
}

impl<'a> Graph<'a> {
    /// The node of a name.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The link of a name.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.link_by_name.get(name).copied()
    }

    /// The node of a name, or an error.
    pub fn find(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name);
        if found.is_none() {
            let names = self.nodes.iter().map(|n| n.name.as_str());
            cx.error(at, no_such("node", name, names));
        }
        found
    }

    /// The host of a name, or an error.
    pub fn find_host(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        match self.node(name) {
            Some(node) if self.is_host(node) => Some(node),
            Some(_) => {
                cx.error(at, format!("`{name}` is a switch; a host is needed here"));
                None
            }
            None => {
                let names = self.hosts.iter().map(|h| self.nodes[*h].name.as_str());
                cx.error(at, no_such("host", name, names));
                None
            }
        }
    }

    /// The switch of a name, or an error.
    pub fn find_switch(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name).filter(|n| !self.is_host(*n));
        if found.is_none() {
            let all = self.nodes.iter().filter(|n| matches!(n.kind, Kind::Switch(_)));
            cx.error(at, no_such("switch", name, all.map(|n| n.name.as_str())));
        }
        found
    }

    /// The link of a name, or an error.
    pub fn find_link(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.link(name);
        if found.is_none() {
            cx.error(at, no_such("link", name, self.links.iter().map(|l| l.name.as_str())));
        }
        found
    }

    pub fn is_host(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, Kind::Host(..))
    }

    /// The number of a node that is a host.
    pub fn host_number(&self, node: usize) -> usize {
        match self.nodes[node].kind {
            Kind::Host(_, number) => number as usize,
            Kind::Switch(_) => unreachable!("only asked of hosts"),
        }
    }

    /// The node at the other end of a host's link, by the host's number.
    pub fn peer_of_host(&self, number: usize) -> Option<usize> {
        let node = self.hosts[number];
        (!self.nodes[node].ports.is_empty()).then(|| self.peer(node, 0).0)
    }

    /// What is at the other end of a node's port, and its port there.
    pub fn peer(&self, node: usize, port: usize) -> (usize, usize) {
        let link = &self.links[self.nodes[node].ports[port]];
        if link.a == (node, port) { link.b } else { link.a }
    }

    /// The ports of a node that lead to a node or over a link of that name.
    pub fn ports_to(&self, node: usize, name: &str) -> Vec<usize> {
        let (peer, link) = (self.node(name), self.link(name));
        let ports = &self.nodes[node].ports;
        let of_link = ports.iter().position(|l| Some(*l) == link);
        if let Some(port) = of_link {
            return vec![port];
        }
        (0..ports.len()).filter(|p| Some(self.peer(node, *p).0) == peer).collect()
    }

    pub fn add_switch(&mut self, name: String, raw: raw::Switch, at: Source<'a>) -> usize {
        self.add(name, Kind::Switch(raw), at)
    }

    pub fn add_host(&mut self, name: String, raw: raw::Host, at: Source<'a>) -> usize {
        let number = self.hosts.len() as u32;
        self.hosts.push(self.nodes.len());
        self.add(name, Kind::Host(Box::new(raw), number), at)
    }

    fn add(&mut self, name: String, kind: Kind, at: Source<'a>) -> usize {
        let index = self.nodes.len();
        self.by_name.insert(name.clone(), index);
        self.nodes.push(Node { name, at, kind, ports: Vec::new() });
        index
    }

    /// Adds a kind of link.
    pub fn add_kind(&mut self, raw: raw::Link, at: Source<'a>) -> usize {
        self.kinds.push(LinkKind { raw, at });
        self.kinds.len() - 1
    }

    /// Links two nodes; without a name the link is called after them.
    pub fn add_link(&mut self, name: Option<&str>, a: usize, b: usize, kind: usize) -> usize {
        let name = name.map_or_else(|| self.free_name(a, b), str::to_owned);
        let index = self.links.len();
        let mut end = |node: usize| {
            let ports = &mut self.nodes[node].ports;
            ports.push(index);
            (node, ports.len() - 1)
        };
        let (a, b) = (end(a), end(b));
        self.link_by_name.insert(name.clone(), index);
        self.links.push(Link { name, a, b, kind });
        index
    }

    /// `h1-s1`, or `h1-s1_2` if that is taken.
    fn free_name(&self, a: usize, b: usize) -> String {
        let base = format!("{}-{}", self.nodes[a].name, self.nodes[b].name);
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        names.find(|n| !self.link_by_name.contains_key(n)).unwrap_or(base)
    }
}

/// What to say about a name that is none of these. Of many only the first are listed.
fn no_such<'n>(what: &str, name: &str, all: impl Iterator<Item = &'n str> + Clone) -> String {
    const SHOWN: usize = 12;
    let known: Vec<&str> = all.clone().collect();
    if known.len() <= SHOWN {
        return unknown_name(what, name, &known);
    }
    let text = unknown_name(what, name, &known);
    let (head, _) = text.rsplit_once("there are: ").unwrap_or((&text, ""));
    format!("{head}there are {}: {}, ...", known.len(), known[..SHOWN].join(", "))
}

/// Whether a name can be one: paths into results are split at dots, and links join names by `-`.
pub(super) fn check_name(cx: &mut Cx, at: &Place<'_>, name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = !name.is_empty() && name.len() <= 64 && name.chars().all(good) && name != "all";
    if !fits {
        let what = format!(
            "`{name}` cannot be a name; take letters, digits, `_` and `-`, at most 64 (and not \
             `all`, which means every host)"
        );
        cx.error(at, what);
    }
    fits
}

/// Puts nodes and links together.
pub(super) fn build<'a>(cx: &mut Cx, at: &Place<'a>, lab: &raw::Lab) -> Graph<'a> {
    let mut graph = Graph::default();
    if let Some(said) = &lab.topology {
        topology::generate(cx, at, said, &lab.defaults, &mut graph);
    }
    let (generated, linked) = (graph.nodes.len(), graph.links.len());
    let nodes_at = at.key("nodes");
    members(cx, &mut graph, &nodes_at.key("switches"), at, &lab.nodes.switches, generated);
    members(cx, &mut graph, &nodes_at.key("hosts"), at, &lab.nodes.hosts, generated);
    let mut told = vec![false; linked];
    for (i, said) in lab.links.iter().enumerate().take(LINKS_MAX) {
        let own = at.key("links").index(i);
        let source = Source { own, defaults: at.key("defaults").key("links") };
        link(cx, &mut graph, source, said, &lab.defaults.links, &mut told);
    }
    check_ports(cx, at, &graph, lab.topology.is_some());
    graph
}

/// A kind of node, for what is the same for both.
trait Member: Clone + Default {
    /// The first letter of names that are not given, and where its defaults are.
    const LETTER: char;
    const KEY: &'static str;
    fn name(&self) -> Option<&str>;
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, at: Source<'a>);
    /// Takes the place of what the topology said of a node of this kind.
    fn replace(self, kind: &mut Kind) -> bool;
}

impl Member for raw::Switch {
    const LETTER: char = 's';
    const KEY: &'static str = "switches";
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, at: Source<'a>) {
        graph.add_switch(name, self, at);
    }
    fn replace(self, kind: &mut Kind) -> bool {
        let Kind::Switch(raw) = kind else { return false };
        *raw = self;
        true
    }
}

impl Member for raw::Host {
    const LETTER: char = 'h';
    const KEY: &'static str = "hosts";
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, at: Source<'a>) {
        graph.add_host(name, self, at);
    }
    fn replace(self, kind: &mut Kind) -> bool {
        let Kind::Host(raw, _) = kind else { return false };
        **raw = self;
        true
    }
}

/// Adds the nodes of one kind, or what is said of those of the topology.
fn members<'a, M: Member>(
    cx: &mut Cx,
    graph: &mut Graph<'a>,
    here: &Place<'a>,
    root: &Place<'a>,
    said: &Members<Short<String, M>>,
    generated: usize,
) {
    let defaults = root.key("defaults").key(M::KEY);
    let mut room = (NODES_MAX as usize).saturating_sub(graph.nodes.len());
    let mut full = |cx: &mut Cx, at: &Place<'_>| {
        room = room.saturating_sub(1);
        if room == 0 {
            cx.error(at, format!("more than {NODES_MAX} nodes; that is as many as a lab can have"));
        }
        room == 0
    };
    let list = match said {
        Members::List(list) => list,
        Members::Count(n) => {
            let source = Source { own: here.clone(), defaults };
            for name in (1..=*n).map(|i| format!("{}{i}", M::LETTER)) {
                if full(cx, here) {
                    return;
                }
                if graph.node(&name).is_none() {
                    M::default().add(graph, name, source.clone());
                } else {
                    let what = format!("the topology has a node `{name}` already; list names");
                    return cx.error(here, what);
                }
            }
            return;
        }
    };
    for (i, entry) in list.iter().enumerate() {
        let at = here.index(i);
        let source = Source { own: at.clone(), defaults: defaults.clone() };
        let (name, member) = match entry {
            Short::Short(name) => (Some(name.as_str()), M::default()),
            Short::Long(member) => (member.name(), member.clone()),
        };
        let Some(name) = name else {
            cx.error(&at, "a node needs a name: `name: ...`");
            continue;
        };
        if !check_name(cx, &at.key("name"), name) {
            continue;
        }
        match graph.node(name) {
            Some(node) if node < generated => {
                let node = &mut graph.nodes[node];
                node.at = source;
                if !member.replace(&mut node.kind) {
                    let what = format!("`{name}` of the topology is of the other kind");
                    cx.error(&at.key("name"), what);
                }
            }
            Some(_) => cx.error(&at.key("name"), format!("there are two nodes called `{name}`")),
            None if full(cx, &at) => return,
            None => member.add(graph, name.to_owned(), source),
        }
    }
}

/// Adds a link, or tells more about one of the topology.
fn link<'a>(
    cx: &mut Cx,
    graph: &mut Graph<'a>,
    at: Source<'a>,
    said: &raw::Link,
    defaults: &raw::Link,
    told: &mut [bool],
) {
    let mut end = |field: &str, name: &Option<String>| match name {
        Some(name) => graph.find(cx, &at.own.key(field), name),
        None => {
            cx.error(&at.own, format!("a link needs both ends: `{field}` is missing"));
            None
        }
    };
    let (from, to) = (end("from", &said.from), end("to", &said.to));
    let (Some(a), Some(b)) = (from, to) else { return };
    if a == b {
        return cx.error(&at.own.key("to"), "a link from a node to itself");
    }
    let of_topology = (0..told.len()).find(|l| {
        let link = &graph.links[*l];
        let ends = [link.a.0, link.b.0];
        !told[*l] && (ends == [a, b] || ends == [b, a])
    });
    let same_name = |l: &usize| said.name.as_ref().is_none_or(|n| *n == graph.links[*l].name);
    if let Some(l) = of_topology.filter(same_name) {
        told[l] = true;
        let backwards = graph.links[l].a.0 != a;
        let base = graph.kinds[graph.links[l].kind].raw.clone();
        if backwards && said.back.is_some() {
            let what = "this link of the topology goes the other way; swap `from` and `to`";
            cx.error(&at.own.key("back"), what);
        }
        let kind = graph.add_kind(said.over(&base), at);
        graph.links[l].kind = kind;
        return;
    }
    if let Some(name) = &said.name {
        if !check_name(cx, &at.own.key("name"), name) {
            return;
        }
        if graph.link(name).is_some() {
            cx.error(&at.own.key("name"), format!("there are two links called `{name}`"));
            return;
        }
    }
    let kind = graph.add_kind(said.over(defaults), at);
    graph.add_link(said.name.as_deref(), a, b, kind);
}

/// A host has one link, a switch as many as it has ports.
fn check_ports(cx: &mut Cx, at: &Place<'_>, graph: &Graph<'_>, has_topology: bool) {
    // A topology that came to nothing was reported.
    if graph.nodes.is_empty() && !has_topology {
        let what = "a lab needs nodes: write a `topology`, or `nodes` and `links`";
        cx.error(at, what);
    }
    let most = usize::from(PortId::MAX.get()) + 1;
    for (i, node) in graph.nodes.iter().enumerate() {
        let name = &node.name;
        match (graph.is_host(i), node.ports.len()) {
            (_, 0) => {
                cx.error(&node.at.own, format!("`{name}` has no link; add one to `links`"));
            }
            (true, n) if n > 1 => {
                let what = format!("host `{name}` has {n} links; a host has one");
                cx.error(&node.at.own, what);
            }
            (false, n) if n > most => {
                let what = format!("switch `{name}` has {n} links; a switch has up to {most}");
                cx.error(&node.at.own, what);
            }
            _ => {}
        }
    }
    if graph.hosts.is_empty() && !graph.nodes.is_empty() {
        cx.error(&at.key("nodes"), "a lab needs hosts; switches alone send nothing");
    }
}

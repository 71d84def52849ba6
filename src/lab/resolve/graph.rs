//! Nodes and links: those of the topology, those of the file, and the file's changes to those of
//! the topology.

use std::collections::HashMap;

use super::raw::{self, Members, Short};
use super::topology;
use config::{Cx, Place, unknown_name};
use ground::units::PortId;

/// Most nodes of a lab. A choice: far above what a laptop can run, far below what memory limits.
pub(super) const NODES_MAX: u32 = 16_384;
/// Most links of a lab.
const LINKS_MAX: usize = 65_536;

/// Place of an object in the file, and of its defaults.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub own: Place<'a>,
    pub defaults: Place<'a>,
}

impl<'a> Source<'a> {
    /// Returns the place of a field: that of its value, or where it would be written.
    pub fn key(&self, name: &str) -> Place<'a> {
        if !self.own.has(name) && self.defaults.has(name) {
            return self.defaults.key(name);
        }
        self.own.key(name)
    }
}

/// Type of a node.
#[derive(Debug)]
pub(super) enum Kind {
    Switch(raw::Switch),
    /// A host, with its number among the hosts.
    Host(Box<raw::Host>, u32),
}

#[derive(Debug)]
pub(super) struct Node<'a> {
    pub name: String,
    pub at: Source<'a>,
    pub kind: Kind,
    /// Links of its ports, by port number.
    pub ports: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Link {
    pub name: String,
    /// Node and port at either end.
    pub a: (usize, usize),
    pub b: (usize, usize),
    /// Link kind, an index of [`Graph::kinds`].
    pub kind: usize,
}

/// Parameters of links. All links of a topology share one kind.
#[derive(Debug)]
pub(super) struct LinkKind<'a> {
    pub raw: raw::Link,
    pub at: Source<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub nodes: Vec<Node<'a>>,
    pub links: Vec<Link>,
    pub kinds: Vec<LinkKind<'a>>,
    /// Nodes that are hosts, by host number.
    pub hosts: Vec<usize>,
    /// Switches of a ring, each with its only link towards all others.
    pub one_way: Vec<(usize, usize)>,
    by_name: HashMap<String, usize>,
    link_by_name: HashMap<String, usize>,
}

impl<'a> Graph<'a> {
    pub fn node(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn link(&self, name: &str) -> Option<usize> {
        self.link_by_name.get(name).copied()
    }

    /// Returns the node of a name, or reports an error.
    pub fn find(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name);
        if found.is_none() {
            let names = self.nodes.iter().map(|n| n.name.as_str());
            cx.error(at, no_such("node", name, names));
        }
        found
    }

    /// Returns the host of a name, or reports an error.
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

    /// Returns the switch of a name, or reports an error.
    pub fn find_switch(&self, cx: &mut Cx, at: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name).filter(|n| !self.is_host(*n));
        if found.is_none() {
            let all = self.nodes.iter().filter(|n| matches!(n.kind, Kind::Switch(_)));
            cx.error(at, no_such("switch", name, all.map(|n| n.name.as_str())));
        }
        found
    }

    /// Returns the link of a name, or reports an error.
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

    /// Returns the host number of a node, which must be a host.
    pub fn host_number(&self, node: usize) -> usize {
        match self.nodes[node].kind {
            Kind::Host(_, number) => number as usize,
            Kind::Switch(_) => unreachable!("only asked of hosts"),
        }
    }

    /// Returns the node at the other end of a host's link, by the host number.
    pub fn peer_of_host(&self, number: usize) -> Option<usize> {
        let node = self.hosts[number];
        (!self.nodes[node].ports.is_empty()).then(|| self.peer(node, 0).0)
    }

    /// Returns the node at the other end of a port, and its port there.
    pub fn peer(&self, node: usize, port: usize) -> (usize, usize) {
        let link = &self.links[self.nodes[node].ports[port]];
        if link.a == (node, port) { link.b } else { link.a }
    }

    /// Returns the ports of a node that lead to a node or over a link of that name.
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

    pub fn add_kind(&mut self, raw: raw::Link, at: Source<'a>) -> usize {
        self.kinds.push(LinkKind { raw, at });
        self.kinds.len() - 1
    }

    /// Links two nodes. Without a name the link is named after them.
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

    /// Returns `h1-s1`, or `h1-s1_2` if that is taken.
    fn free_name(&self, a: usize, b: usize) -> String {
        let base = format!("{}-{}", self.nodes[a].name, self.nodes[b].name);
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        names.find(|n| !self.link_by_name.contains_key(n)).unwrap_or(base)
    }
}

/// Returns the message for an unknown name. It lists only the first of many known ones.
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

/// True if a name is valid; else reports it. Paths into results are split at dots, and link names
/// join node names by `-`.
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

/// Builds the graph of nodes and links.
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

/// Type of a node, for the code that switches and hosts share.
trait Member: Clone + Default {
    /// First letter of generated names, and the key of the type in the file.
    const LETTER: char;
    const KEY: &'static str;
    fn name(&self) -> Option<&str>;
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, at: Source<'a>);
    /// Replaces the topology's node of this type.
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

/// Adds the nodes of one type, or replaces those of the topology.
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

/// Adds a link, or changes one of the topology.
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

/// Checks that a host has one link, and a switch at most as many as it has ports.
fn check_ports(cx: &mut Cx, at: &Place<'_>, graph: &Graph<'_>, has_topology: bool) {
    // An invalid topology was reported before.
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

//! Nodes and links of a lab, by number and by name; ranges of names, `h1..h16`; and addresses of nodes by their
//! numbers.

use core::net::Ipv4Addr;
use std::collections::HashMap;

use crate::raw;
use config::{Cx, Place, unknown_name};
use ground::units::Mac;
use sim::{NetworkPlan, NodeKind};

/// Most nodes of a lab. A choice: far above what a laptop can run, far below what memory limits.
pub(super) const NODES_MAX: u32 = 16_384;

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
    pub source: Source<'a>,
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
    pub source: Source<'a>,
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
    /// Number to try next in the name of a link between two nodes.
    next_names: HashMap<(usize, usize), usize>,
}

impl<'a> Graph<'a> {
    /// Returns the nodes and links of a resolved lab. Each link is a kind.
    pub fn of(network: &NetworkPlan) -> Self {
        let mut graph = Self::default();
        for node in &network.nodes {
            let source = Source { own: Place::nowhere(), defaults: Place::nowhere() };
            match &node.kind {
                NodeKind::Switch(plan) => {
                    graph.add_switch(plan.name.clone(), raw::Switch::default(), source)
                }
                NodeKind::Host(plan) => {
                    graph.add_host(plan.name.clone(), raw::Host::default(), source)
                }
            };
        }
        for (kind, link) in network.links.iter().enumerate() {
            graph.add_link(Some(&link.name), link.a.node.index(), link.b.node.index(), kind);
        }
        graph
    }

    pub fn node(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn link(&self, name: &str) -> Option<usize> {
        self.link_by_name.get(name).copied()
    }

    /// Returns the node of a name, or reports an error.
    pub fn find(&self, cx: &mut Cx, place: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name);
        if found.is_none() {
            let names = self.nodes.iter().map(|n| n.name.as_str());
            cx.error(place, no_such("node", name, names));
        }
        found
    }

    /// Returns the host of a name, or reports an error.
    pub fn find_host(&self, cx: &mut Cx, place: &Place<'_>, name: &str) -> Option<usize> {
        match self.node(name) {
            Some(node) if self.is_host(node) => Some(node),
            Some(_) => {
                cx.error(place, format!("`{name}` is a switch; a host is needed here"));
                None
            }
            None => {
                let names = self.hosts.iter().map(|h| self.nodes[*h].name.as_str());
                cx.error(place, no_such("host", name, names));
                None
            }
        }
    }

    /// Returns the switch of a name, or reports an error.
    pub fn find_switch(&self, cx: &mut Cx, place: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.node(name).filter(|n| !self.is_host(*n));
        if found.is_none() {
            let all = self.nodes.iter().filter(|n| matches!(n.kind, Kind::Switch(_)));
            cx.error(place, no_such("switch", name, all.map(|n| n.name.as_str())));
        }
        found
    }

    /// Returns the link of a name, or reports an error.
    pub fn find_link(&self, cx: &mut Cx, place: &Place<'_>, name: &str) -> Option<usize> {
        let found = self.link(name);
        if found.is_none() {
            cx.error(place, no_such("link", name, self.links.iter().map(|l| l.name.as_str())));
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
        // A link's name is more exact than a node's: several links may lead to one node.
        let of_link = ports.iter().position(|l| Some(*l) == link);
        if let Some(port) = of_link {
            return vec![port];
        }
        (0..ports.len()).filter(|p| Some(self.peer(node, *p).0) == peer).collect()
    }

    pub fn add_switch(&mut self, name: String, raw: raw::Switch, source: Source<'a>) -> usize {
        self.add(name, Kind::Switch(raw), source)
    }

    pub fn add_host(&mut self, name: String, raw: raw::Host, source: Source<'a>) -> usize {
        let number = self.hosts.len() as u32;
        self.hosts.push(self.nodes.len());
        self.add(name, Kind::Host(Box::new(raw), number), source)
    }

    fn add(&mut self, name: String, kind: Kind, source: Source<'a>) -> usize {
        let index = self.nodes.len();
        self.by_name.insert(name.clone(), index);
        self.nodes.push(Node { name, source, kind, ports: Vec::new() });
        index
    }

    pub fn add_kind(&mut self, raw: raw::Link, source: Source<'a>) -> usize {
        self.kinds.push(LinkKind { raw, source });
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
    fn free_name(&mut self, a: usize, b: usize) -> String {
        let base = format!("{}-{}", self.nodes[a].name, self.nodes[b].name);
        let next = self.next_names.entry((a, b)).or_insert(1);
        // A second link between two nodes needs a name too, as results have links by name.
        loop {
            let name = if *next == 1 { base.clone() } else { format!("{base}_{next}") };
            *next += 1;
            if !self.link_by_name.contains_key(&name) {
                return name;
            }
        }
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
    // The hint at a similar name is kept; only the list of all names is cut, which fills the screen in large labs.
    let (head, _) = text.rsplit_once("there are: ").unwrap_or((&text, ""));
    format!("{head}there are {}: {}, ...", known.len(), known[..SHOWN].join(", "))
}

/// True if a name is valid; else reports it. Paths into results are split at dots, and link names
/// join node names by `-`.
pub(super) fn check_name(cx: &mut Cx, place: &Place<'_>, name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = !name.is_empty() && name.len() <= 64 && name.chars().all(good) && name != "all";
    if !fits {
        let what = format!(
            "`{name}` cannot be a name; take letters, digits, `_` and `-`, at most 64 (and not \
             `all`, which means every host)"
        );
        cx.error(place, what);
    }
    fits
}

/// Most names of a range.
const RANGE_MAX: u64 = 65_536;

/// True if a text is a range of names. Names have no dots.
pub(super) fn is_range(text: &str) -> bool {
    text.contains("..")
}

/// Returns the names of a range in order, or the name itself; reports an invalid range.
pub(super) fn expand(cx: &mut Cx, place: &Place<'_>, text: &str) -> Vec<String> {
    if !is_range(text) {
        return vec![text.to_owned()];
    }
    match range(text) {
        Ok(names) => names,
        Err(why) => {
            let text = ground::printable::excerpt(text);
            cx.error(place, format!("`{text}` {why}"));
            Vec::new()
        }
    }
}

/// Expands a range. Both names have the same letters before their numbers; a first number with
/// leading zeros has the width of all.
fn range(text: &str) -> Result<Vec<String>, String> {
    let shape = || "is no range of names; write it as h1..h16".to_owned();
    let (first, last) = text.split_once("..").ok_or_else(shape)?;
    let split = |name: &str| {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = name[letters..].parse().ok()?;
        Some((name[..letters].to_owned(), name.len() - letters, number))
    };
    let (prefix, digits, from) = split(first).ok_or_else(shape)?;
    let (other, _, to) = split(last).ok_or_else(shape)?;
    if prefix != other {
        return Err(format!("is no range: `{prefix}` and `{other}` before the numbers differ"));
    }
    if from > to {
        return Err(format!("counts down; write {last}..{first}"));
    }
    if to - from >= RANGE_MAX {
        return Err(format!("has more than {RANGE_MAX} names"));
    }
    // `h01..h16` pads, and so does `h001..h100`; a single `0` is a number and no padding.
    let padded = first[prefix.len()..].starts_with('0') && digits > 1;
    let width = if padded { digits } else { 0 };
    Ok((from..=to).map(|n| format!("{prefix}{n:0width$}")).collect())
}

/// Returns the MAC address of a host by its number, from `02:00:00:00:00:01` on.
pub(super) fn mac(number: usize) -> Mac {
    // 0x02 is the bit of locally administered addresses; the second byte tells hosts (0) from switch ports (1).
    let [a, b, c, d] = (number as u32 + 1).to_be_bytes();
    Mac([0x02, 0x00, a, b, c, d])
}

/// Returns the IPv4 address of a host by its number, from 10.0.0.1 on.
pub(super) fn ip(number: usize) -> Ipv4Addr {
    // 24 bits of number are enough for NODES_MAX hosts.
    let [_, b, c, d] = (number as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}

/// Returns the MAC address of a switch port.
pub(super) fn switch_port_mac(node: usize, port: usize) -> Mac {
    let [_, _, a, b] = (node as u32).to_be_bytes();
    let [c, d] = (port as u16).to_be_bytes();
    Mac([0x02, 0x01, a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_names_from_the_first_to_the_last() {
        assert_eq!(range("h9..h11").unwrap(), ["h9", "h10", "h11"]);
        assert_eq!(range("e1_4..e1_4").unwrap(), ["e1_4"]);
        assert_eq!(range("h08..h10").unwrap(), ["h08", "h09", "h10"]);
        assert_eq!(range("h0..h2").unwrap(), ["h0", "h1", "h2"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, why) in [
            ("h1..", "write it as h1..h16"),
            ("..h3", "write it as h1..h16"),
            ("h..h3", "write it as h1..h16"),
            ("h1..h2..h3", "`h` and `h2..h` before the numbers differ"),
            ("h1..s3", "`h` and `s` before the numbers differ"),
            ("h3..h1", "counts down; write h1..h3"),
            ("h1..h99999999", "more than 65536 names"),
            ("h1..h99999999999999999999999", "write it as h1..h16"),
        ] {
            let raw = range(text).unwrap_err();
            assert!(raw.contains(why), "{text}: {raw}");
        }
    }

    /// As many as a file may have: a name is found without trying all before it.
    #[test]
    fn parallel_links_have_names_of_their_own() {
        let mut graph = Graph::default();
        let source = Source { own: Place::nowhere(), defaults: Place::nowhere() };
        let [a, b] = ["s1", "s2"]
            .map(|name| graph.add_switch(name.to_owned(), raw::Switch::default(), source.clone()));
        graph.add_link(Some("s1-s2_3"), a, b, 0);
        for _ in 0..60_000 {
            graph.add_link(None, a, b, 0);
        }
        let names = |n: usize| graph.links[n].name.as_str();
        assert_eq!([0, 1, 2, 3].map(names), ["s1-s2_3", "s1-s2", "s1-s2_2", "s1-s2_4"]);
        assert_eq!(names(60_000), "s1-s2_60001");
        assert_eq!(graph.link_by_name.len(), graph.links.len());
    }
}

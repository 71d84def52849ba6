//! Builds the nodes and links: those of the topology, those of the file, and the file's changes to those
//! of the topology.

use super::graph::{self, Graph, Kind, NODES_MAX, Source, check_name};
use super::topology;
use crate::raw::{self, Members, Short};
use config::{Cx, Place};
use ground::units::PortId;

/// Most links of a lab.
const LINKS_MAX: usize = 65_536;

/// Builds the graph of nodes and links.
pub(super) fn build<'a>(cx: &mut Cx, place: &Place<'a>, lab: &raw::Lab) -> Graph<'a> {
    let mut graph = Graph::default();
    if let Some(raw) = &lab.topology {
        topology::generate(cx, place, raw, &lab.defaults, &mut graph);
    }
    let (generated, linked) = (graph.nodes.len(), graph.links.len());
    members(cx, &mut graph, place, &lab.nodes.switches, generated);
    members(cx, &mut graph, place, &lab.nodes.hosts, generated);
    let mut links = Links { defaults: &lab.defaults.links, changed: vec![false; linked] };
    'entries: for (i, raw) in lab.links.iter().enumerate() {
        let own = place.key("links").index(i);
        let source = Source { own, defaults: place.key("defaults").key("links") };
        for raw in each_link(cx, &source, raw) {
            // Ranges make thousands of links of an entry, so each link counts.
            if graph.links.len() >= LINKS_MAX {
                cx.error(&source.own, format!("more than {LINKS_MAX} links; a lab has no more"));
                break 'entries;
            }
            links.add(cx, &mut graph, source.clone(), &raw);
        }
    }
    check_ports(cx, place, &graph, lab.topology.is_some());
    graph
}

/// Type of a node, for the code that switches and hosts share.
trait Member: Clone + Default {
    /// First letter of generated names, and the key of the type in the file.
    const LETTER: char;
    const KEY: &'static str;
    fn name(&self) -> Option<&str>;
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, source: Source<'a>);
    /// Replaces the topology's node of this type.
    fn replace(self, kind: &mut Kind) -> bool;
}

impl Member for raw::Switch {
    const LETTER: char = 's';
    const KEY: &'static str = "switches";
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, source: Source<'a>) {
        graph.add_switch(name, self, source);
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
    fn add<'a>(self, graph: &mut Graph<'a>, name: String, source: Source<'a>) {
        graph.add_host(name, self, source);
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
    root: &Place<'a>,
    raw: &Members<Short<String, M>>,
    generated: usize,
) {
    let (here, defaults) = (root.key("nodes").key(M::KEY), root.key("defaults").key(M::KEY));
    let mut room = (NODES_MAX as usize).saturating_sub(graph.nodes.len());
    let mut full = |cx: &mut Cx, place: &Place<'_>| {
        room = room.saturating_sub(1);
        if room == 0 {
            cx.error(
                place,
                format!("more than {NODES_MAX} nodes; that is as many as a lab can have"),
            );
        }
        room == 0
    };
    let list = match raw {
        Members::List(list) => list,
        Members::Count(n) => {
            let source = Source { own: here.clone(), defaults };
            for name in (1..=*n).map(|i| format!("{}{i}", M::LETTER)) {
                if full(cx, &here) {
                    return;
                }
                // A number says nothing about the topology's nodes, so it cannot mean to configure them.
                if graph.node(&name).is_some() {
                    let what = format!("the topology has a node `{name}` already; list names");
                    return cx.error(&here, what);
                }
                M::default().add(graph, name, source.clone());
            }
            return;
        }
    };
    for (i, entry) in list.iter().enumerate() {
        let place = here.index(i);
        let source = Source { own: place.clone(), defaults: defaults.clone() };
        let (name, member) = match entry {
            Short::Short(name) => (Some(name.as_str()), M::default()),
            Short::Long(member) => (member.name(), member.clone()),
        };
        let Some(name) = name else {
            cx.error(&place, "a node needs a name: `name: ...`");
            continue;
        };
        for name in graph::expand(cx, &place.key("name"), name) {
            if !check_name(cx, &place.key("name"), &name) {
                continue;
            }
            let member = member.clone();
            match graph.node(&name) {
                // Nodes below `generated` are the topology's: an entry of that name configures the node.
                Some(node) if node < generated => {
                    let node = &mut graph.nodes[node];
                    node.source = source.clone();
                    if !member.replace(&mut node.kind) {
                        let what = format!("`{name}` of the topology is of the other kind");
                        cx.error(&place.key("name"), what);
                    }
                }
                Some(_) => {
                    cx.error(&place.key("name"), format!("there are two nodes called `{name}`"));
                }
                None if full(cx, &place) => return,
                None => member.add(graph, name, source.clone()),
            }
        }
    }
}

/// Returns the links of an entry: several if its ends are ranges of names. Two ranges are pairs.
fn each_link(cx: &mut Cx, source: &Source<'_>, raw: &raw::Link) -> Vec<raw::Link> {
    let ranges = |end: &Option<String>| end.as_deref().is_some_and(graph::is_range);
    if !ranges(&raw.from) && !ranges(&raw.to) {
        return vec![raw.clone()];
    }
    if raw.name.is_some() {
        cx.error(&source.own.key("name"), "several links cannot have one name; leave it out");
        return Vec::new();
    }
    let mut all = |field: &str, end: &Option<String>| match end {
        Some(text) => {
            let names = graph::expand(cx, &source.own.key(field), text);
            names.into_iter().map(Some).collect()
        }
        None => vec![None],
    };
    let (from, to) = (all("from", &raw.from), all("to", &raw.to));
    if from.len() != to.len() && from.len() > 1 && to.len() > 1 {
        let what = format!("{} names at one end and {} at the other", from.len(), to.len());
        cx.error(&source.own, what);
        return Vec::new();
    }
    let count = if from.is_empty() || to.is_empty() { 0 } else { from.len().max(to.len()) };
    // A single name at one end is linked to each name at the other.
    let end = |names: &[Option<String>], n: usize| names[n % names.len()].clone();
    let link = |n| raw::Link { from: end(&from, n), to: end(&to, n), ..raw.clone() };
    (0..count).map(link).collect()
}

/// Links of the file.
struct Links<'l> {
    defaults: &'l raw::Link,
    /// By link of the topology: true once an entry of the file has changed it. A second entry for the same ends is
    /// a second link.
    changed: Vec<bool>,
}

impl Links<'_> {
    /// Adds a link, or changes one of the topology.
    fn add<'a>(&mut self, cx: &mut Cx, graph: &mut Graph<'a>, source: Source<'a>, raw: &raw::Link) {
        let Self { defaults, changed } = self;
        let mut end = |field: &str, name: &Option<String>| match name {
            Some(name) => graph.find(cx, &source.own.key(field), name),
            None => {
                cx.error(&source.own, format!("a link needs both ends: `{field}` is missing"));
                None
            }
        };
        let (from, to) = (end("from", &raw.from), end("to", &raw.to));
        let (Some(a), Some(b)) = (from, to) else { return };
        if a == b {
            return cx.error(&source.own.key("to"), "a link from a node to itself");
        }
        let of_topology = (0..changed.len()).find(|l| {
            let link = &graph.links[*l];
            let ends = [link.a.0, link.b.0];
            !changed[*l] && (ends == [a, b] || ends == [b, a])
        });
        // A name that is not the generated one means another link beside that of the topology.
        let same_name = |l: &usize| raw.name.as_ref().is_none_or(|n| *n == graph.links[*l].name);
        if let Some(l) = of_topology.filter(same_name) {
            changed[l] = true;
            let backwards = graph.links[l].a.0 != a;
            let base = graph.kinds[graph.links[l].kind].raw.clone();
            // `back` is the direction from `to` to `from`; with the ends swapped it would change the wrong one.
            if backwards && raw.back.is_some() {
                let what = "this link of the topology goes the other way; swap `from` and `to`";
                cx.error(&source.own.key("back"), what);
            }
            // Links of a topology share a kind, so a changed link gets a kind of its own.
            let kind = graph.add_kind(raw.over(&base), source);
            graph.links[l].kind = kind;
            return;
        }
        if let Some(name) = &raw.name {
            if !check_name(cx, &source.own.key("name"), name) {
                return;
            }
            if graph.link(name).is_some() {
                cx.error(&source.own.key("name"), format!("there are two links called `{name}`"));
                return;
            }
        }
        let kind = graph.add_kind(raw.over(defaults), source);
        graph.add_link(raw.name.as_deref(), a, b, kind);
    }
}

/// Checks that a host has one link, and a switch at most as many as it has ports.
fn check_ports(cx: &mut Cx, place: &Place<'_>, graph: &Graph<'_>, has_topology: bool) {
    // An invalid topology was reported before.
    if graph.nodes.is_empty() && !has_topology {
        let what = "a lab needs nodes: write a `topology`, or `nodes` and `links`";
        cx.error(place, what);
    }
    let most = usize::from(PortId::MAX.get()) + 1;
    for (i, node) in graph.nodes.iter().enumerate() {
        let name = &node.name;
        match (graph.is_host(i), node.ports.len()) {
            (_, 0) => {
                cx.error(&node.source.own, format!("`{name}` has no link; add one to `links`"));
            }
            (true, n) if n > 1 => {
                let what = format!("host `{name}` has {n} links; a host has one");
                cx.error(&node.source.own, what);
            }
            (false, n) if n > most => {
                let what = format!("switch `{name}` has {n} links; a switch has up to {most}");
                cx.error(&node.source.own, what);
            }
            _ => {}
        }
    }
    if graph.hosts.is_empty() && !graph.nodes.is_empty() {
        cx.error(&place.key("nodes"), "a lab needs hosts; switches alone send nothing");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is above the limit is refused, and not left out.
    #[test]
    fn more_links_than_a_lab_has_are_refused() {
        let link = |n: usize| raw::Link {
            from: Some("s1..s256".into()),
            to: Some(format!("t{n}")),
            ..raw::Link::default()
        };
        let errors = |entries: usize| {
            let mut lab = raw::Lab::default();
            let names = ["s1..s256".to_owned(), format!("t1..t{entries}")];
            lab.nodes.switches = Members::List(names.map(Short::Short).into());
            lab.links = (1..=entries).map(link).collect();
            let mut cx = Cx::of_file("f.yaml");
            let graph = build(&mut cx, &Place::nowhere(), &lab);
            let found = cx.finish().unwrap_err();
            (graph.links.len(), found.iter().any(|f| f.what.contains("more than 65536 links")))
        };
        assert_eq!(errors(256), (LINKS_MAX, false));
        assert_eq!(errors(257), (LINKS_MAX, true));
    }
}

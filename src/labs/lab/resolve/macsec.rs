//! MACsec in a lab: configured on a link, or on the nodes at its ends. Secure channels get the
//! identifiers of the ports that send on them.

use super::graph::{Graph, LinkKind};
use super::profiles::Switches;
use crate::raw;
use config::raw::Macsec;
use config::{Cx, OWN, Place, SecuredPort, check_whole, name_channels, secy_plan};
use discovery::Role;
use ground::units::Mac;
use secure::{Sak, Sci, SecyPlan};
use sim::{NodeKind, NodePlan};

/// Returns a link's MACsec section for both ends, and its place.
pub(super) fn of_link<'a>(kind: &'a LinkKind<'_>) -> Option<(&'a Macsec, Place<'a>)> {
    Some((kind.raw.macsec.as_deref()?, kind.at.key("macsec")))
}

/// Returns the SecY of a host: from its link, or from the host.
pub(super) fn of_host(
    cx: &mut Cx,
    (graph, node): (&Graph<'_>, usize),
    said: &raw::Host,
) -> Option<Box<SecyPlan>> {
    let n = &graph.nodes[node];
    let link = n.ports.first().and_then(|link| of_link(&graph.kinds[graph.links[*link].kind]));
    let own = said.macsec.as_deref().map(|said| (said, n.at.key("macsec")));
    let (said, at) = link.or(own)?;
    let port = SecuredPort { mac: OWN, peer: true, role: Role::Station };
    Some(Box::new(secy_plan(cx, &at, said, port)))
}

/// Checks the links' sections, and sets the identifiers of all channels.
pub(super) fn name(
    cx: &mut Cx,
    graph: &Graph<'_>,
    switches: &mut Switches,
    nodes: &mut [NodePlan],
) {
    for kind in &graph.kinds {
        if let Some((said, at)) = of_link(kind) {
            both_ends(cx, &at, said);
        }
    }
    let mut names = ShortNames::default();
    for link in &graph.links {
        let [a, b] = [link.a, link.b].map(|place| channel(end(switches, nodes, place)?));
        let mut named = [None, None];
        for (end_of, (place, peer)) in named.iter_mut().zip([(link.a, b), (link.b, a)]) {
            let Some((mac, Some(secy))) = end(switches, nodes, place) else { continue };
            name_channels(secy, mac, peer);
            *end_of = Some(secy.clone());
        }
        let at = &graph.kinds[link.kind].at;
        let at = if at.own.has("macsec") { at.key("macsec") } else { at.own.clone() };
        for plan in named.iter().flatten() {
            check_whole(cx, &at, plan);
            names.add(cx, &at, plan);
        }
        match &named {
            [Some(a), Some(b)] => {
                agree(cx, &at, a, b);
                agree(cx, &at, b, a);
            }
            [None, None] => {}
            [Some(_), None] | [None, Some(_)] => {
                let what = "one end of this link has MACsec and the other has none: neither end \
                    accepts the frames of the other";
                cx.warn(&at, what);
            }
        }
    }
}

/// Keys of XPN suites with the SSCIs of their senders, until two senders are found that share both.
#[derive(Default)]
struct ShortNames {
    seen: Vec<(Sak, u32)>,
    warned: bool,
}

impl ShortNames {
    /// SSCIs start at 1 on each link, so links that share a key also share nonces.
    fn add(&mut self, cx: &mut Cx, at: &Place<'_>, plan: &SecyPlan) {
        if self.warned || !plan.suite.is_xpn() {
            return;
        }
        for sa in plan.transmit.iter().flatten() {
            let sender = (sa.key.clone(), sa.ssci);
            if self.seen.contains(&sender) {
                let what = "another port sends with this key and this SSCI: with XPN two frames \
                    would have one nonce, which breaks the encryption; give each link another \
                    key";
                self.warned = true;
                return cx.warn(at, what);
            }
            self.seen.push(sender);
        }
    }
}

/// Returns the channel on which a port sends.
fn channel((mac, secy): (Mac, &mut Option<Box<SecyPlan>>)) -> Option<Sci> {
    let Some(secy) = secy else { return Some(Sci { mac, port: 1 }) };
    let own = if secy.sci.mac == OWN { mac } else { secy.sci.mac };
    Some(Sci { mac: own, port: secy.sci.port })
}

/// Reports fields of a link's section that only one end can have.
fn both_ends(cx: &mut Cx, at: &Place<'_>, said: &Macsec) {
    let single = [
        ("sci", said.sci.is_some()),
        ("transmit", said.transmit != Default::default()),
        ("receive", said.receive.is_some()),
    ];
    for (field, given) in single {
        if given {
            let what = "this holds for both ends of the link, which cannot have the same: give the nodes \
                        `macsec` of their own";
            cx.error(&at.key(field), what);
        }
    }
    if said.key.is_none() && said.key_file.is_none() {
        cx.error(at, "a link needs the key of both its ends: `key_file`, or `key`");
    }
}

/// Warns if `to` cannot receive the frames that `from` sends.
fn agree(cx: &mut Cx, at: &Place<'_>, from: &SecyPlan, to: &SecyPlan) {
    if from.suite != to.suite {
        return cx.warn(at, "the ends of this link have different cipher suites");
    }
    let Some(sent) = &from.transmit[from.encoding.index()] else { return };
    let channel = to.receive.iter().find(|sc| sc.sci == from.sci);
    let received = channel.and_then(|sc| sc.associations[from.encoding.index()].as_ref());
    if received.is_none_or(|received| received.key != sent.key) {
        let what = format!(
            "what {} sends with association {} is not received at the other end of this link, which \
             has no such channel or another key",
            from.sci, from.encoding
        );
        cx.warn(at, what);
    }
}

/// Returns the address and the SecY of a port.
fn end<'p>(
    switches: &'p mut Switches,
    nodes: &'p mut [NodePlan],
    (node, port): (usize, usize),
) -> Option<(Mac, &'p mut Option<Box<SecyPlan>>)> {
    if let Some(switch) = &mut switches.plans[node] {
        let port = switch.ports.get_mut(port)?;
        return Some((port.mac, &mut port.secy));
    }
    match &mut nodes[node].kind {
        NodeKind::Host(station) => Some((station.mac, &mut station.secy)),
        NodeKind::Switch(_) => None,
    }
}

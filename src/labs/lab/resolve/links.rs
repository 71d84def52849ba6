//! Link kinds: delay, response time, errors, the headroom terms at both ends, and MACsec.
//!
//! MACsec is configured on a link, or on the nodes at its ends. Secure channels get the identifiers of the ports that
//! send on them.

use super::graph::{Graph, LinkKind, Source};
use super::switches::Switches;
use crate::raw;
use config::quantity::Length;
use config::raw::{Macsec, PhyName};
use config::{
    Cx, NamedPhy, OWN, Place, SecuredPort, check_whole, name_channels, named_interface, secy_plan,
};
use discovery::Role;
use ground::time::Duration;
use ground::units::{BitsPerSec, Mac};
use headroom::{DelayInputs, Interface, Phy};
use schedule::LinePlan;
use secure::{Sak, Sci, SecyPlan};
use sim::{DirectionPlan, ErrorPlan, NodeKind, NodePlan};

const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(100);
/// Longest delay and response time: no buffer holds more.
const DELAY_MAX: Duration = Duration::from_secs(1);
const OVERHEAD_MAX: u64 = 64;
const STEP: (Duration, Duration) = (Duration::from_picos(1), Duration::from_micros(1));

/// A resolved link kind. `a` and `b` are its `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkSpec {
    pub rate: BitsPerSec,
    pub line: LinePlan,
    pub ab: DirectionPlan,
    pub ba: DirectionPlan,
    /// Round trip as sent by the port at `a` and the port at `b`.
    pub round_trip: [DelayInputs; 2],
}

pub(super) fn spec(cx: &mut Cx, kind: &LinkKind<'_>) -> LinkSpec {
    let (place, raw) = (&kind.source, &kind.raw);
    let rate = raw.rate.map_or(RATE_DEFAULT, |r| r.0);
    let interface = interface(cx, place, raw, rate);
    let cable = cable(cx, place, raw);
    // The simulated wire has no PHY of its own: the delay of both interfaces is part of the line's delay.
    let there = cable + interface.delay();
    let back = raw.back.clone().unwrap_or_default();
    let back_at = place.key("back");
    // A virtual PHY has no delays of its own: its ends respond at once unless the file says otherwise.
    let real = !matches!(interface.phy(), Phy::Virtual(_));
    let default = if real { DelayInputs::HIGHER_LAYER } else { Duration::ZERO };
    let response = raw.response.map_or(default, |s| s.0);
    let response_back = back.response.map_or(response, |s| s.0);
    let delay_back = back.delay.map_or(there, |s| s.0);
    for (place, span) in [
        (place.key("response"), response),
        (back_at.key("response"), response_back),
        (back_at.key("delay"), delay_back),
    ] {
        cx.ranged(&place, span, (Duration::ZERO, DELAY_MAX), DELAY_MAX);
    }
    let errors = raw.errors.map_or(ErrorPlan::default(), errors);
    let errors_back = back.errors.map_or(errors, self::errors);
    let line = line(cx, place, raw);
    // Delay beyond that of the interfaces is cable; one way is half of both.
    let both = there.as_picos().saturating_add(delay_back.as_picos());
    let cables = both.saturating_sub(2 * interface.delay().as_picos());
    let round_trip = |higher_layer| {
        // Rounded up twice, so the headroom is never calculated for less cable than the line has.
        let (cable_m, cable_ps_per_m) = metres(cables.div_ceil(2));
        DelayInputs {
            cable_m,
            cable_ps_per_m,
            higher_layer,
            line_overhead: line.overhead,
            ..DelayInputs::standard(interface)
        }
    };
    LinkSpec {
        rate,
        line,
        ab: DirectionPlan { delay: there, response, errors },
        ba: DirectionPlan { delay: delay_back, response: response_back, errors: errors_back },
        round_trip: [round_trip(response), round_trip(response_back)],
    }
}

/// Resolves the interface at both ends.
fn interface(cx: &mut Cx, source: &Source<'_>, raw: &raw::Link, rate: BitsPerSec) -> Interface {
    // A FEC that the PHY does not have is reported at its place in the file.
    let stands = if source.own.has("phy") || source.own.has("fec") || source.own.has("rate") {
        &source.own
    } else {
        &source.defaults
    };
    let phy = raw.phy.unwrap_or(PhyName::Auto);
    let named = NamedPhy { phy, fec: raw.fec.unwrap_or_default() };
    named_interface(cx, stands, named, rate, raw.delay.is_some())
}

/// Returns the cable delay of one direction.
fn cable(cx: &mut Cx, source: &Source<'_>, raw: &raw::Link) -> Duration {
    if let Some(delay) = raw.delay {
        if raw.length.is_some() && source.own.has("length") && source.own.has("delay") {
            cx.error(&source.own.key("delay"), "a link has a length or a delay, not both");
        }
        let delay_at = source.key("delay");
        return cx.ranged(&delay_at, delay.0, (Duration::ZERO, DELAY_MAX), Duration::ZERO);
    }
    let Length(mm) = raw.length.unwrap_or(Length(u64::from(DelayInputs::CABLE_M) * 1_000));
    let ps = raw.ns_per_m.map_or(DelayInputs::PS_PER_METRE, |n| n.0);
    // Millimetres times ps per metre; rounded up to the picosecond.
    Duration::from_picos((mm * u64::from(ps)).div_ceil(1_000))
}

/// Returns a cable delay as metres and picoseconds per metre, whose product is not less.
fn metres(ps: u64) -> (u32, u32) {
    let most = u64::from(u32::MAX);
    // One metre holds any delay that fits 32 bits of picoseconds; longer ones need more metres.
    let metres = ps.div_ceil(most).max(1);
    (metres.min(most) as u32, ps.div_ceil(metres) as u32)
}

fn line(cx: &mut Cx, source: &Source<'_>, raw: &raw::Link) -> LinePlan {
    let ethernet = LinePlan::ETHERNET;
    let overhead = raw.line_overhead.map_or(u64::from(ethernet.overhead), |s| s.0);
    let overhead = cx.ranged(&source.key("line_overhead"), overhead, (0, OVERHEAD_MAX), 20) as u32;
    let step = raw.time_step.map_or(ethernet.step, |s| s.0);
    let step = cx.ranged(&source.key("time_step"), step, STEP, ethernet.step);
    LinePlan { overhead, step }
}

/// Resolves error rates.
pub(super) fn errors(raw: raw::Errors) -> ErrorPlan {
    ErrorPlan {
        bit: raw.ber.map_or(0, raw::Chance::in_2_64ths),
        frame: raw.loss.map_or(0, raw::Chance::in_2_64ths),
    }
}

/// Returns a link's MACsec section for both ends, and its place.
pub(super) fn link_macsec<'a>(kind: &'a LinkKind<'_>) -> Option<(&'a Macsec, Place<'a>)> {
    Some((kind.raw.macsec.as_deref()?, kind.source.key("macsec")))
}

/// Returns the SecY of a host: from its link, or from the host.
pub(super) fn host_macsec(
    cx: &mut Cx,
    graph: &Graph<'_>,
    node: usize,
    raw: &raw::Host,
) -> Option<Box<SecyPlan>> {
    let n = &graph.nodes[node];
    let link = n.ports.first().and_then(|link| link_macsec(&graph.kinds[graph.links[*link].kind]));
    let own = raw.macsec.as_deref().map(|raw| (raw, n.source.key("macsec")));
    // The link has precedence, so that both of its ends have the same section.
    let (raw, place) = link.or(own)?;
    let port = SecuredPort { mac: OWN, peer: true, role: Role::Station };
    Some(Box::new(secy_plan(cx, &place, raw, port)))
}

/// Checks the links' sections, and sets the identifiers of all channels.
pub(super) fn name(
    cx: &mut Cx,
    graph: &Graph<'_>,
    switches: &mut Switches,
    nodes: &mut [NodePlan],
) {
    for kind in &graph.kinds {
        if let Some((raw, place)) = link_macsec(kind) {
            both_ends(cx, &place, raw);
        }
    }
    let mut names = ShortNames::default();
    for link in &graph.links {
        // Both channels are known before either end is named: each end receives on the channel of the other.
        let [a, b] = [link.a, link.b].map(|place| {
            let (mac, secy) = end(switches, nodes, place)?;
            channel(mac, secy.as_deref())
        });
        let mut named = [None, None];
        for (end_of, (place, peer)) in named.iter_mut().zip([(link.a, b), (link.b, a)]) {
            let Some((mac, Some(secy))) = end(switches, nodes, place) else { continue };
            name_channels(secy, mac, peer);
            *end_of = Some(secy.clone());
        }
        let source = &graph.kinds[link.kind].source;
        let has_own = source.own.has("macsec");
        let place = if has_own { source.key("macsec") } else { source.own.clone() };
        for plan in named.iter().flatten() {
            check_whole(cx, &place, plan);
            names.add(cx, &place, plan);
        }
        match &named {
            [Some(a), Some(b)] => {
                agree(cx, &place, a, b);
                agree(cx, &place, b, a);
            }
            [None, None] => {}
            [Some(_), None] | [None, Some(_)] => {
                let what = "one end of this link has MACsec and the other has none: neither end \
                    accepts the frames of the other";
                cx.warn(&place, what);
            }
        }
    }
}

/// Keys of XPN suites with the SSCIs of their senders, until two senders are found that share both.
#[derive(Default)]
struct ShortNames {
    sent: Vec<(Sak, u32)>,
    warned: bool,
}

impl ShortNames {
    /// SSCIs start at 1 on each link, so links that share a key also share nonces.
    fn add(&mut self, cx: &mut Cx, place: &Place<'_>, plan: &SecyPlan) {
        if self.warned || !plan.suite.is_xpn() {
            return;
        }
        for sa in plan.transmit.iter().flatten() {
            let sender = (sa.key.clone(), sa.ssci);
            if self.sent.contains(&sender) {
                let what = "another port sends with this key and this SSCI: with XPN two frames \
                    would have one nonce, which breaks the encryption; give each link another \
                    key";
                self.warned = true;
                return cx.warn(place, what);
            }
            self.sent.push(sender);
        }
    }
}

/// Returns the channel on which a port sends.
fn channel(mac: Mac, secy: Option<&SecyPlan>) -> Option<Sci> {
    // An end without MACsec has a channel all the same: the other end's plan needs one, and a warning tells of the
    // rest.
    let Some(secy) = secy else { return Some(Sci { mac, port: 1 }) };
    let own = if secy.sci.mac == OWN { mac } else { secy.sci.mac };
    Some(Sci { mac: own, port: secy.sci.port })
}

/// Reports fields of a link's section that only one end can have.
fn both_ends(cx: &mut Cx, place: &Place<'_>, raw: &Macsec) {
    let single = [
        ("sci", raw.sci.is_some()),
        ("transmit", raw.transmit != Default::default()),
        ("receive", raw.receive.is_some()),
    ];
    for (field, given) in single {
        if given {
            let what = "this holds for both ends of the link, which cannot have the same: give the nodes \
                        `macsec` of their own";
            cx.error(&place.key(field), what);
        }
    }
    // The nodes have no section then, so there is nowhere else that a key could come from.
    if raw.key.is_none() && raw.key_file.is_none() {
        cx.error(place, "a link needs the key of both its ends: `key_file`, or `key`");
    }
}

/// Warns if `to` cannot receive the frames that `from` sends.
fn agree(cx: &mut Cx, place: &Place<'_>, from: &SecyPlan, to: &SecyPlan) {
    if from.suite != to.suite {
        return cx.warn(place, "the ends of this link have different cipher suites");
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
        cx.warn(place, what);
    }
}

/// Returns the address and the SecY of the port at this place, a node and its port.
fn end<'p>(
    switches: &'p mut Switches,
    nodes: &'p mut [NodePlan],
    place: (usize, usize),
) -> Option<(Mac, &'p mut Option<Box<SecyPlan>>)> {
    let (node, port) = place;
    if let Some(switch) = &mut switches.plans[node] {
        let port = switch.ports.get_mut(port)?;
        return Some((port.mac, &mut port.secy));
    }
    match &mut nodes[node].kind {
        NodeKind::Host(station) => Some((station.mac, &mut station.secy)),
        NodeKind::Switch(_) => None,
    }
}

//! Resolves the senders and receivers of a flow.

use super::devices::{Devices, Endpoint};
use super::findings::Findings;
use super::headers::Ends;
use super::ports::Ports;
use otg::model::flow::{Flow, FlowPort, FlowRouter, FlowTxRx, RouterMode};
use otg::model::header::FlowHeader;
use otg::model::pattern::{Pattern, Values};

/// Maximum number of endpoint pairs of a flow. A choice: each is a value of every address field
/// in its frames.
const PAIRS_MAX: usize = 4096;

/// The part of a flow that one port sends.
pub(super) struct Way {
    /// The sending port.
    pub(super) tx: usize,
    /// The receiving ports.
    pub(super) rx: Vec<usize>,
    /// The devices of this part.
    pub(super) ends: Ends,
    /// True for the reverse direction, from the receivers to the senders.
    pub(super) back: bool,
}

/// Returns the parts of a flow, one per sending port and direction.
pub(super) fn ways(
    flow: &Flow,
    ports: &Ports,
    devices: &Devices,
    path: &str,
    cx: &mut Findings,
) -> Vec<Way> {
    let v6 = is_v6(&flow.packet);
    match &flow.tx_rx {
        FlowTxRx::Port(port) => {
            let way = between_ports(port, &flow.packet, ports, devices, path, cx);
            let alone = way.as_ref().is_some_and(|w| w.rx.is_empty());
            if alone && flow.metrics.as_ref().is_some_and(|m| m.enable) {
                let what =
                    "no port receives this, so all of it counts as lost; name ports in rx_names";
                cx.warn(format!("{path}.tx_rx.port"), what);
            }
            way.into_iter().collect()
        }
        FlowTxRx::Device(router) => {
            let path = format!("{path}.tx_rx.device");
            let Some(pairs) = pairs(router, devices, &path, cx) else { return Vec::new() };
            let mut ways = by_port(&pairs, v6, devices, false);
            if router.bidirectional {
                // The other direction has senders of its own, and so flows of its own.
                let turned: Vec<_> = pairs.iter().map(|(tx, rx)| (*rx, *tx)).collect();
                ways.extend(by_port(&turned, v6, devices, true));
            }
            ways
        }
        FlowTxRx::Other { .. } => Vec::new(),
    }
}

/// Returns true if a packet has IPv6 addresses.
fn is_v6(packet: &[FlowHeader]) -> bool {
    let ip = |h: &&FlowHeader| matches!(h, FlowHeader::Ipv4(_) | FlowHeader::Ipv6(_));
    matches!(packet.iter().find(ip), Some(FlowHeader::Ipv6(_)))
}

/// Resolves a flow from a port to ports.
fn between_ports(
    port: &FlowPort,
    packet: &[FlowHeader],
    ports: &Ports,
    devices: &Devices,
    path: &str,
    cx: &mut Findings,
) -> Option<Way> {
    let path = format!("{path}.tx_rx.port");
    let tx = ports.find(&port.tx_name, &format!("{path}.tx_name"), cx);
    let mut rx = Vec::new();
    for (i, name) in port.receivers().enumerate() {
        let path = match port.rx_names.len() {
            n if i < n => format!("{path}.rx_names[{i}]"),
            _ => format!("{path}.rx_name"),
        };
        match ports.find(name, &path, cx) {
            // Clients that know the older field send both.
            Some(port) if rx.contains(&port) => {}
            found => rx.extend(found),
        }
    }
    let tx = tx?;
    // A flow with the source address of an interface is sent to that interface's gateway.
    let from_interface = match packet.first() {
        Some(FlowHeader::Ethernet(h)) if is_auto(&h.dst) => match &h.src {
            Some(Pattern { values: Values::One(Some(src)), .. }) => {
                devices.gateway_of(tx, src.0, is_v6(packet))
            }
            _ => None,
        },
        _ => None,
    };
    Some(Way { tx, rx, ends: Ends(from_interface.into_iter().collect()), back: false })
}

/// Returns the endpoint pairs of a flow between devices; `None` after an error was reported.
fn pairs(
    router: &FlowRouter,
    devices: &Devices,
    path: &str,
    cx: &mut Findings,
) -> Option<Vec<(Endpoint, Endpoint)>> {
    let before = cx.errors();
    let mut named = |names: &[String], field: &str| -> Vec<Endpoint> {
        if names.is_empty() {
            cx.error(format!("{path}.{field}"), "names no endpoint; name at least one");
        }
        let found = names.iter().enumerate();
        found
            .flat_map(|(i, n)| {
                devices.find_all(n, &format!("{path}.{field}[{i}]"), cx).iter().copied()
            })
            .collect()
    };
    let (tx, rx) = (named(&router.tx_names, "tx_names"), named(&router.rx_names, "rx_names"));
    if cx.errors() > before {
        return None;
    }
    let most = match router.mode {
        RouterMode::Mesh => tx.len().saturating_mul(rx.len()),
        RouterMode::OneToOne => tx.len(),
    };
    // Before the list is made, which may have as many entries as the product.
    if most > PAIRS_MAX {
        let what = format!("{most} pairs of endpoints are more than {PAIRS_MAX}; split the flow");
        cx.error(path, what);
        return None;
    }
    let pairs: Vec<_> = match router.mode {
        RouterMode::Mesh => tx.iter().flat_map(|t| rx.iter().map(|r| (*t, *r))).collect(),
        RouterMode::OneToOne if tx.len() == rx.len() => tx.into_iter().zip(rx).collect(),
        RouterMode::OneToOne => {
            let what = format!(
                "one_to_one needs as many tx_names ({}) as rx_names ({}); add the missing ones, or \
                 take `mesh`",
                tx.len(),
                rx.len()
            );
            cx.error(path, what);
            return None;
        }
    };
    if pairs.iter().any(|(tx, rx)| tx == rx) {
        cx.error(path, "an endpoint would send to itself; take it out on one side");
        return None;
    }
    Some(pairs)
}

/// Groups endpoint pairs by sending port, in the order of the first pair of each.
fn by_port(pairs: &[(Endpoint, Endpoint)], v6: bool, devices: &Devices, back: bool) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for (tx, rx) in pairs {
        let (from, to) = (devices.interface(*tx).port, devices.interface(*rx).port);
        let at = ways.iter().position(|w| w.tx == from).unwrap_or_else(|| {
            ways.push(Way { tx: from, rx: Vec::new(), ends: Ends::default(), back });
            ways.len() - 1
        });
        let way = &mut ways[at];
        if !way.rx.contains(&to) {
            way.rx.push(to);
        }
        // Successive frames use the pairs of a port in turn.
        way.ends.0.push(devices.end(*tx, *rx, v6));
    }
    ways
}

/// Returns true if a pattern is not set or auto.
fn is_auto<T>(pattern: &Option<Pattern<T>>) -> bool {
    pattern.as_ref().is_none_or(|p| matches!(p.values, Values::One(None) | Values::Auto))
}

/// Returns the packet of the reverse direction, with sources and destinations exchanged. A value
/// that is automatic on one side is automatic on both.
pub(super) fn turned(packet: &[FlowHeader]) -> Vec<FlowHeader> {
    let mut turned = packet.to_vec();
    for header in &mut turned {
        match header {
            FlowHeader::Ethernet(h) => swap(&mut h.src, &mut h.dst),
            FlowHeader::Ipv4(h) => swap(&mut h.src, &mut h.dst),
            FlowHeader::Ipv6(h) => swap(&mut h.src, &mut h.dst),
            FlowHeader::Tcp(h) => core::mem::swap(&mut h.src_port, &mut h.dst_port),
            FlowHeader::Udp(h) => core::mem::swap(&mut h.src_port, &mut h.dst_port),
            _ => {}
        }
    }
    turned
}

fn swap<T>(a: &mut Option<Pattern<T>>, b: &mut Option<Pattern<T>>) {
    if is_auto(a) || is_auto(b) {
        (*a, *b) = (None, None);
    } else {
        core::mem::swap(a, b);
    }
}

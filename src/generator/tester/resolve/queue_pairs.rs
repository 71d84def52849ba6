//! Resolves the queue pairs of devices, and the pair of them that a flow connects.

use core::net::Ipv4Addr;

use super::devices::{Devices, Endpoint};
use super::findings::Findings;
use super::ports::Ports;
use ground::units::Dscp;
use host::FRAME_MAX;
use otg::model::Config;
use otg::model::rocev2::{self, ConnectionType, QpParameters, Rocev2Flow, V4Interface};
use wire::roce::U24;

/// Maximum number of queue pairs of a test. A choice: each is searched for among the others.
pub(super) const PAIRS_MAX: usize = 8192;

pub(super) struct QueuePair<'a> {
    pub(super) name: &'a str,
    /// The endpoint of its address.
    pub(super) endpoint: Endpoint,
    pub(super) address: Ipv4Addr,
    peer: Ipv4Addr,
    /// Maximum payload of a packet in bytes.
    pub(super) mtu: u32,
    pub(super) number: U24,
    /// The first packet sequence number.
    pub(super) first_psn: U24,
    /// DSCP of data packets.
    pub(super) dscp: Dscp,
    pub(super) src_port: u16,
    /// The configured parameters.
    pub(super) parameters: QpParameters,
}

/// Returns all valid queue pairs and reports errors in the others.
pub(super) fn read<'a>(
    config: &'a Config,
    devices: &Devices,
    cx: &mut Findings,
) -> Vec<QueuePair<'a>> {
    let mut pairs = Vec::new();
    let interfaces = config.devices.iter().flat_map(|d| &d.rocev2).flat_map(|r| &r.ipv4_interfaces);
    let all: usize = interfaces.flat_map(|i| &i.peers).map(|p| p.qps.len()).sum();
    // Counted before any is read: a hostile configuration may have any number.
    if all > PAIRS_MAX {
        cx.error("devices", format!("{all} queue pairs are more than {PAIRS_MAX}"));
        return pairs;
    }
    for (d, device) in config.devices.iter().enumerate() {
        let interfaces = device.rocev2.iter().flat_map(|r| &r.ipv4_interfaces);
        for (i, interface) in interfaces.enumerate() {
            let path = format!("devices[{d}].rocev2.ipv4_interfaces[{i}]");
            let name_path = format!("{path}.ipv4_name");
            let Some(endpoint) = devices.find(&interface.ipv4_name, &name_path, cx) else {
                continue;
            };
            let Some(address) = devices.ipv4(endpoint) else {
                let what = format!("`{}` is no IPv4 address; name one", interface.ipv4_name);
                cx.error(name_path, what);
                continue;
            };
            let local = Local { interface, endpoint, address };
            read_interface(&local, &path, &mut pairs, cx);
        }
    }
    pairs
}

/// The end of the queue pairs on one address.
struct Local<'a> {
    interface: &'a V4Interface,
    endpoint: Endpoint,
    address: Ipv4Addr,
}

/// Reads the queue pairs on one address.
fn read_interface<'a>(
    local: &Local<'a>,
    path: &str,
    pairs: &mut Vec<QueuePair<'a>>,
    cx: &mut Findings,
) {
    let interface = local.interface;
    // OTG allows any number; a payload that does not fit a frame is reported with the frame.
    if !(32..=FRAME_MAX).contains(&interface.ib_mtu) {
        let what =
            format!("{} octets are no payload of a packet; write 32 or more", interface.ib_mtu);
        cx.error(format!("{path}.ib_mtu"), what);
        return;
    }
    for (p, peer) in interface.peers.iter().enumerate() {
        for (q, qp) in peer.qps.iter().enumerate() {
            let path = format!("{path}.peers[{p}].qps[{q}].connection_type.reliable_connection");
            pairs.extend(read_pair(local, peer.destination_ip_address, qp, &path, cx));
        }
    }
}

/// Reads a queue pair; `None` after an error was reported, or for a connection of another type.
fn read_pair<'a>(
    local: &Local<'a>,
    peer: Ipv4Addr,
    qp: &'a rocev2::QueuePair,
    path: &str,
    cx: &mut Findings,
) -> Option<QueuePair<'a>> {
    let parameters = match &qp.connection_type {
        None => QpParameters::default(),
        Some(ConnectionType::ReliableConnection(parameters)) => parameters.clone(),
        Some(ConnectionType::Other { .. }) => return None,
    };
    let mut u24 = |name: &str, n: u64| {
        let fits = u32::try_from(n).ok().and_then(U24::new);
        if fits.is_none() {
            let what = format!("{n} does not fit into 24 bits; write 0 to 16777215");
            cx.error(format!("{path}.{name}"), what);
        }
        fits
    };
    let number = u24("source_qp_number", parameters.source_qp_number.into());
    let first_psn = u24("initial_psn", parameters.initial_psn);
    let dscp = u8::try_from(parameters.dscp).ok().and_then(Dscp::new);
    if dscp.is_none() {
        let what = format!("{} is no DSCP; write 0 to 63", parameters.dscp);
        cx.error(format!("{path}.dscp"), what);
    }
    let src_port = u16::try_from(parameters.udp_source_port).ok();
    if src_port.is_none() {
        let what = format!("{} is no port; write 0 to 65535", parameters.udp_source_port);
        cx.error(format!("{path}.udp_source_port"), what);
    }
    let memory =
        [("virtual_address", &parameters.virtual_address), ("remote_key", &parameters.remote_key)];
    for (name, digits) in memory {
        if digits.trim_start_matches("0x").chars().any(|c| c != '0') {
            let what = "writes go to address 0 with the queue pair's number for a key; \
                        nothing is written anywhere";
            cx.warn(format!("{path}.{name}"), what);
        }
    }
    // Only here, so that all errors of a queue pair are reported at once.
    Some(QueuePair {
        name: &qp.qp_name,
        endpoint: local.endpoint,
        address: local.address,
        peer,
        mtu: local.interface.ib_mtu,
        number: number?,
        first_psn: first_psn?,
        dscp: dscp?,
        src_port: src_port?,
        parameters,
    })
}

/// Returns the queue pairs that a flow connects: the sender by its name; the receiver by its
/// name, or else the sender's counterpart, which has the same index among the pairs that face it.
pub(super) fn ends<'p, 'a>(
    flow: &Rocev2Flow,
    pairs: &'p [QueuePair<'a>],
    ports: &Ports,
    devices: &Devices,
    path: &str,
    cx: &mut Findings,
) -> Option<(&'p QueuePair<'a>, &'p QueuePair<'a>)> {
    let names = || pairs.iter().map(|p| p.name);
    let named = |name: &str| pairs.iter().find(|p| p.name == name);
    let Some(from) = named(&flow.tx_endpoint) else {
        cx.unknown(format!("{path}.tx_endpoint"), "queue pair", &flow.tx_endpoint, names());
        return None;
    };
    let rx_path = format!("{path}.rx_endpoint");
    let port = match flow.rx_endpoint.as_deref() {
        None => None,
        Some(name) => {
            if let Some(to) = named(name) {
                if (to.address, to.peer) != (from.peer, from.address) {
                    let what = format!(
                        "`{name}` is at {} and talks to {}, `{}` is at {} and talks to {}; make \
                         each the other's peer",
                        to.address, to.peer, from.name, from.address, from.peer
                    );
                    cx.error(rx_path, what);
                    return None;
                }
                return Some((from, to));
            }
            let port = ports.position(name);
            if port.is_none() {
                cx.unknown(rx_path, "queue pair (or port)", name, names());
                return None;
            }
            port
        }
    };
    let between =
        |a: Ipv4Addr, b: Ipv4Addr| pairs.iter().filter(move |p| (p.address, p.peer) == (a, b));
    // Both ends list their pairs in one order, so the counterpart has the same index.
    let place = between(from.address, from.peer).position(|p| core::ptr::eq(p, from));
    let mut facing = between(from.peer, from.address)
        .filter(|p| port.is_none_or(|port| devices.interface(p.endpoint).port == port));
    let to = place.and_then(|n| facing.nth(n));
    if to.is_none() {
        let what = format!(
            "no queue pair at {} answers `{}`; give the device with that address one whose peer is \
             {}",
            from.peer, from.name, from.address
        );
        cx.error(rx_path, what);
    }
    to.map(|to| (from, to))
}

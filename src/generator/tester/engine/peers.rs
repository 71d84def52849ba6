//! Metrics of RoCEv2 peers. Connections are configured at both ends without messages of
//! connection management, so a queue pair is up as soon as its port's link is, and these messages
//! have no counters.

use super::named;
use crate::report::Report;
use otg::engine::Refusal;
use otg::model::Config;
use otg::model::device::{Connection, Device};
use otg::model::metrics::PeerMetric;

/// Returns the metrics of the peers of these names, of all if there are none.
pub(super) fn metrics(
    config: &Config,
    report: &Report,
    names: &[String],
) -> Result<Vec<PeerMetric>, Refusal> {
    let devices = config.devices.iter().filter_map(|d| Some((d, d.rocev2.as_ref()?)));
    let interfaces = devices.flat_map(|(d, roce)| roce.ipv4_interfaces.iter().map(move |i| (d, i)));
    let peers: Vec<_> = interfaces
        .flat_map(|(device, interface)| interface.peers.iter().map(move |p| (device, interface, p)))
        .collect();
    let all = peers.iter().map(|(.., peer)| peer.name.as_str());
    let places = named(names, all, ("rocev2_ipv4.per_peer.peer_names", "peer"))?;
    let metric = |place: &usize| {
        let (device, interface, peer) = peers[*place];
        let configured = peer.qps.len() as u64;
        let up = is_up(config, report, device, &interface.ipv4_name);
        PeerMetric {
            name: peer.name.clone(),
            qp_configured: Some(configured),
            qp_up: Some(if up { configured } else { 0 }),
            qp_down: Some(if up { 0 } else { configured }),
            ..PeerMetric::default()
        }
    };
    Ok(places.iter().map(metric).collect())
}

/// True if the link is up on the port with this address, which may belong to any device.
fn is_up(config: &Config, report: &Report, own: &Device, address: &str) -> bool {
    let devices = core::iter::once(own).chain(&config.devices);
    let mut ethernets = devices.flat_map(|device| &device.ethernets);
    let has = ethernets.find(|e| e.ipv4_addresses.iter().any(|ip| ip.name == address));
    let port = has.and_then(|ethernet| match &ethernet.connection {
        Some(Connection::PortName(name)) => Some(name),
        _ => None,
    });
    report.ports.iter().any(|p| Some(&p.name) == port && p.link_up)
}

//! Names, which must be unique in a configuration (OTG).

use std::collections::HashMap;

use super::findings::Findings;
use otg::model::Config;
use otg::model::rocev2::{Rocev2Flow, StatefulFlow, TransmitType};

/// Refuses empty and duplicate names.
pub(super) fn check(config: &Config, cx: &mut Findings) {
    let mut seen: HashMap<&str, String> = HashMap::new();
    each(config, &mut |name, path| {
        if name.is_empty() {
            cx.error(path, "an empty name; everything else is found by it, so write one");
            return;
        }
        if let Some(first) = seen.get(name) {
            let what = format!("`{name}` is the name of {first} already; names are unique");
            cx.error(path, what);
        } else {
            let owner = path.strip_suffix(".name").or(path.strip_suffix(".qp_name"));
            seen.insert(name, owner.unwrap_or(&path).to_owned());
        }
    });
}

/// Calls `found` with every name and its path.
fn each<'a>(config: &'a Config, found: &mut dyn FnMut(&'a str, String)) {
    for (i, port) in config.ports.iter().enumerate() {
        found(&port.name, format!("ports[{i}].name"));
    }
    for (i, layer1) in config.layer1.iter().enumerate() {
        found(&layer1.name, format!("layer1[{i}].name"));
    }
    for (i, capture) in config.captures.iter().enumerate() {
        found(&capture.name, format!("captures[{i}].name"));
    }
    for (d, device) in config.devices.iter().enumerate() {
        found(&device.name, format!("devices[{d}].name"));
        for (e, ethernet) in device.ethernets.iter().enumerate() {
            let path = format!("devices[{d}].ethernets[{e}]");
            found(&ethernet.name, format!("{path}.name"));
            for (v, vlan) in ethernet.vlans.iter().enumerate() {
                found(&vlan.name, format!("{path}.vlans[{v}].name"));
            }
            for (a, ip) in ethernet.ipv4_addresses.iter().enumerate() {
                found(&ip.name, format!("{path}.ipv4_addresses[{a}].name"));
            }
            for (a, ip) in ethernet.ipv6_addresses.iter().enumerate() {
                found(&ip.name, format!("{path}.ipv6_addresses[{a}].name"));
            }
        }
        for (n, interface) in device.rocev2.iter().flat_map(|r| &r.ipv4_interfaces).enumerate() {
            for (p, peer) in interface.peers.iter().enumerate() {
                let path = format!("devices[{d}].rocev2.ipv4_interfaces[{n}].peers[{p}]");
                found(&peer.name, format!("{path}.name"));
                for (q, qp) in peer.qps.iter().enumerate() {
                    found(&qp.qp_name, format!("{path}.qps[{q}].qp_name"));
                }
            }
        }
    }
    for (i, flow) in config.flows.iter().enumerate() {
        found(&flow.name, format!("flows[{i}].name"));
    }
    let Some(StatefulFlow::Rocev2(list)) = &config.stateful_flows else { return };
    for (i, flows) in list.iter().enumerate() {
        for (t, tx) in flows.tx_ports.iter().enumerate() {
            let Some(TransmitType::TargetLineRate(target)) = &tx.transmit_type else { continue };
            let path = format!("stateful_flows.rocev2[{i}].tx_ports[{t}].transmit_type");
            // A flow may have the name of its sending queue pair if the pair sends no other flow.
            let own = |flow: &&Rocev2Flow| flow.name != flow.tx_endpoint;
            for (f, flow) in target.flows.iter().enumerate().filter(|(_, flow)| own(flow)) {
                found(&flow.name, format!("{path}.target_line_rate.flows[{f}].name"));
            }
        }
    }
}

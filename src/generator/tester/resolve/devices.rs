//! Resolves emulated hosts: the interfaces of ports, and the next hop between endpoints.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::HashMap;

use super::findings::Findings;
use super::headers::{End, Known};
use super::ports::Ports;
use ground::units::{Mac, Vid};
use host::plan::stream::InterfacePlan;
use otg::model::Config;
use otg::model::device::{Connection, DeviceEthernet, DeviceVlan, GatewayMac, Tpid};

/// Maximum number of interfaces of a test. A choice: each is compared with the others of its
/// port.
const INTERFACES_MAX: usize = 8192;

/// An interface as flows and connections use it.
pub(super) struct Interface {
    pub(super) port: usize,
    /// The interface in the port's plan.
    pub(super) plan: InterfacePlan,
    pub(super) addresses: Vec<Address>,
}

#[derive(Clone)]
pub(super) struct Address {
    pub(super) name: String,
    pub(super) ip: IpAddr,
    /// In bits.
    prefix: u8,
    gateway: Option<IpAddr>,
    /// The gateway's MAC address, if it is configured.
    gateway_mac: Option<Mac>,
}

/// The endpoint of a flow: an interface, or one address of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Index of the interface.
    pub(super) interface: usize,
    /// Index of the address; `None` for all of the interface.
    address: Option<usize>,
}

#[derive(Default)]
pub(super) struct Devices {
    /// In the order of the configuration.
    interfaces: Vec<Interface>,
    /// Endpoints by name: an interface, an address, or a device, which stands for all its
    /// interfaces.
    index: HashMap<String, Vec<Endpoint>>,
    /// Index of the interface that has an address.
    owners: HashMap<IpAddr, usize>,
}

impl Devices {
    /// Reads the devices and assigns the interfaces to ports.
    pub(super) fn read(config: &Config, ports: &mut Ports, cx: &mut Findings) -> Self {
        let mut devices = Self::default();
        let all: usize = config.devices.iter().map(|d| d.ethernets.len()).sum();
        if all > INTERFACES_MAX {
            cx.error("devices", format!("{all} interfaces are more than {INTERFACES_MAX}"));
            return devices;
        }
        for (d, device) in config.devices.iter().enumerate() {
            let before = devices.interfaces.len();
            for (e, ethernet) in device.ethernets.iter().enumerate() {
                let path = format!("devices[{d}].ethernets[{e}]");
                let number = devices.interfaces.len();
                let Some(interface) = interface(ethernet, number, ports, &path, cx) else {
                    continue;
                };
                devices.check(&interface, &path, cx);
                let port = &mut ports.plans[interface.port];
                // Pauses of a port come from the address of its first interface.
                if port.interfaces.is_empty() {
                    port.mac = interface.plan.mac;
                }
                port.interfaces.push(interface.plan.clone());
                devices.add(interface);
            }
            let endpoint = |interface| Endpoint { interface, address: None };
            let own = (before..devices.interfaces.len()).map(endpoint).collect();
            devices.index.entry(device.name.clone()).or_insert(own);
        }
        devices
    }

    /// Adds an interface under its name and those of its addresses.
    fn add(&mut self, new: Interface) {
        let interface = self.interfaces.len();
        let endpoint = |address| vec![Endpoint { interface, address }];
        // The first of two equal names is used; the duplicate is reported elsewhere.
        self.index.entry(new.plan.name.clone()).or_insert(endpoint(None));
        for (i, address) in new.addresses.iter().enumerate() {
            self.index.entry(address.name.clone()).or_insert(endpoint(Some(i)));
            self.owners.entry(address.ip).or_insert(interface);
        }
        self.interfaces.push(new);
    }

    /// Refuses an address that another interface of the port has.
    fn check(&self, new: &Interface, path: &str, cx: &mut Findings) {
        for old in self.interfaces.iter().filter(|o| o.port == new.port) {
            if old.plan.mac == new.plan.mac && old.plan.vlans == new.plan.vlans {
                let (mac, name) = (new.plan.mac, &old.plan.name);
                let what = format!("{mac} is the address of `{name}` on the same port already");
                cx.error(format!("{path}.mac"), what);
            }
        }
    }

    /// Returns the endpoint of this name, the first one of a device; reports an unknown name.
    pub(super) fn find(&self, name: &str, path: &str, cx: &mut Findings) -> Option<Endpoint> {
        self.find_all(name, path, cx).first().copied()
    }

    /// Returns the endpoints of this name, several for a device; reports an unknown name.
    pub(super) fn find_all(&self, name: &str, path: &str, cx: &mut Findings) -> &[Endpoint] {
        let found = self.index.get(name).map_or(&[][..], Vec::as_slice);
        if found.is_empty() {
            let names = self.interfaces.iter().flat_map(|i| {
                core::iter::once(&i.plan.name).chain(i.addresses.iter().map(|a| &a.name))
            });
            cx.unknown(path, "endpoint", name, names.map(String::as_str));
        }
        found
    }

    /// Returns the interface of an endpoint.
    pub(super) fn interface(&self, endpoint: Endpoint) -> &Interface {
        &self.interfaces[endpoint.interface]
    }

    fn addresses(&self, endpoint: Endpoint) -> impl Iterator<Item = &Address> {
        let all = &self.interface(endpoint).addresses;
        all.iter()
            .enumerate()
            .filter(move |(i, _)| endpoint.address.is_none_or(|a| a == *i))
            .map(|(_, a)| a)
    }

    /// Returns true if `other` is in the subnet of an address of the endpoint.
    pub(super) fn reaches(&self, endpoint: Endpoint, other: Ipv4Addr) -> bool {
        self.addresses(endpoint).any(|a| a.reaches(other.into()))
    }

    /// Returns the IPv4 address of an endpoint, the first of several.
    pub(super) fn ipv4(&self, endpoint: Endpoint) -> Option<Ipv4Addr> {
        self.addresses(endpoint).find_map(|a| match a.ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        })
    }

    fn ipv6(&self, endpoint: Endpoint) -> Option<Ipv6Addr> {
        self.addresses(endpoint).find_map(|a| match a.ip {
            IpAddr::V4(_) => None,
            IpAddr::V6(ip) => Some(ip),
        })
    }

    /// Returns the addresses of frames from `tx` to `rx`, over IPv6 if `v6`.
    pub(super) fn end(&self, tx: Endpoint, rx: Endpoint, v6: bool) -> End {
        let (from, to) = (self.interface(tx), self.interface(rx));
        let source = self.addresses(tx).find(|a| a.ip.is_ipv6() == v6);
        let target = self.addresses(rx).find(|a| a.ip.is_ipv6() == v6).map(|a| a.ip);
        let known = match source {
            // Devices without an address of this family are on one link.
            None => Known::Mac(to.plan.mac),
            Some(source) => self.way(from, source, target).unwrap_or(Known::Mac(to.plan.mac)),
        };
        End {
            src: from.plan.mac,
            dst: known,
            src4: self.ipv4(tx),
            dst4: self.ipv4(rx),
            src6: self.ipv6(tx),
            dst6: self.ipv6(rx),
        }
    }

    /// Returns the next hop for packets from an address to `target`; `None` if the target is on
    /// the link.
    fn way(&self, from: &Interface, source: &Address, target: Option<IpAddr>) -> Option<Known> {
        let neighbour = match target {
            Some(target) if source.reaches(target) => target,
            // Without a gateway the target is taken for a neighbour.
            _ => source.gateway?,
        };
        if let Some(mac) = source.gateway_mac.filter(|_| Some(neighbour) == source.gateway) {
            return Some(Known::Mac(mac));
        }
        // The MAC address of a local interface needs no resolution.
        let ours = self.owners.get(&neighbour).map(|i| &self.interfaces[*i]);
        Some(match ours.filter(|_| source.reaches(neighbour)) {
            Some(ours) => Known::Mac(ours.plan.mac),
            None => Known::Asked { interface: from.plan.name.clone(), neighbour },
        })
    }

    /// Returns the destination of frames of a flow between ports: the gateway of the interface on
    /// that port which has the frames' source address.
    pub(super) fn gateway_of(&self, port: usize, src: Mac, v6: bool) -> Option<End> {
        let from = self.interfaces.iter().find(|i| i.port == port && i.plan.mac == src)?;
        let source = from.addresses.iter().find(|a| a.ip.is_ipv6() == v6)?;
        let dst = self.way(from, source, None)?;
        Some(End { src, dst, src4: None, dst4: None, src6: None, dst6: None })
    }
}

impl Address {
    /// Returns true if `other` is in the same subnet.
    pub(super) fn reaches(&self, other: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.prefix);
            // A shift by the whole width would overflow, and nothing is left to compare then.
            rest >= width || a >> rest == b >> rest
        };
        match (self.ip, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

fn interface(
    ethernet: &DeviceEthernet,
    number: usize,
    ports: &Ports,
    path: &str,
    cx: &mut Findings,
) -> Option<Interface> {
    let port_path = format!("{path}.connection.port_name");
    let port = match &ethernet.connection {
        Some(Connection::PortName(name)) => ports.find(name, &port_path, cx)?,
        Some(Connection::Other { .. }) => return None,
        None => {
            cx.error(port_path, "an interface is attached to a port; name it here");
            return None;
        }
    };
    let [.., high, low] = (number as u32).to_be_bytes();
    // Locally administered (802 8.2.2), different from those of ports.
    let mac = ethernet.mac.map_or(Mac([0x02, 0x4f, 0x54, 0x48, high, low]), |m| m.0);
    if mac.is_multicast() || mac == Mac::default() {
        let what = format!("{mac} cannot be the address of an interface; write a unicast one");
        cx.error(format!("{path}.mac"), what);
    }
    let vlans = ethernet.vlans.iter().enumerate();
    let vlans = vlans.filter_map(|(v, vlan)| tag(vlan, &format!("{path}.vlans[{v}]"), cx));
    let mut plan = InterfacePlan {
        name: ethernet.name.clone(),
        mac,
        vlans: vlans.collect(),
        ipv4: Vec::new(),
        ipv6: Vec::new(),
    };
    let mut addresses = Vec::new();
    for (a, ip) in ethernet.ipv4_addresses.iter().enumerate() {
        let path = format!("{path}.ipv4_addresses[{a}]");
        let prefix = prefix(ip.prefix, 32, &path, cx);
        plan.ipv4.push((ip.address, prefix, ip.gateway));
        let (gateway, mac) = (ip.gateway.map(IpAddr::from), &ip.gateway_mac);
        addresses.push(address(&ip.name, ip.address.into(), prefix, gateway, mac));
    }
    for (a, ip) in ethernet.ipv6_addresses.iter().enumerate() {
        let path = format!("{path}.ipv6_addresses[{a}]");
        let prefix = prefix(ip.prefix, 128, &path, cx);
        plan.ipv6.push((ip.address, prefix, ip.gateway));
        let (gateway, mac) = (ip.gateway.map(IpAddr::from), &ip.gateway_mac);
        addresses.push(address(&ip.name, ip.address.into(), prefix, gateway, mac));
    }
    Some(Interface { port, plan, addresses })
}

fn address(
    name: &str,
    ip: IpAddr,
    prefix: u8,
    gateway: Option<IpAddr>,
    mac: &Option<GatewayMac>,
) -> Address {
    let gateway_mac = match mac {
        Some(GatewayMac::Value(mac)) => Some(mac.0),
        _ => None,
    };
    Address { name: name.to_owned(), ip, prefix, gateway, gateway_mac }
}

fn prefix(prefix: u32, max: u8, path: &str, cx: &mut Findings) -> u8 {
    match u8::try_from(prefix) {
        Ok(prefix) if (1..=max).contains(&prefix) => prefix,
        _ => {
            let what = format!("{prefix} is no length of a prefix; write 1 to {max}");
            cx.error(format!("{path}.prefix"), what);
            max
        }
    }
}

/// Returns the VLAN of a tag and the priority of its frames.
fn tag(vlan: &DeviceVlan, path: &str, cx: &mut Findings) -> Option<(Vid, u8)> {
    if vlan.tpid != Tpid::X8100 {
        let what = "interfaces answer under customers' tags alone; write x8100";
        cx.error(format!("{path}.tpid"), what);
    }
    if vlan.priority > 7 {
        let what = format!("{} is no priority; write 0 to 7", vlan.priority);
        cx.error(format!("{path}.priority"), what);
    }
    let vid = u16::try_from(vlan.id).ok().and_then(Vid::new);
    if vid.is_none() {
        let what = format!("{} names no VLAN; write 1 to 4094", vlan.id);
        cx.error(format!("{path}.id"), what);
    }
    vid.map(|vid| (vid, vlan.priority as u8 & 7))
}

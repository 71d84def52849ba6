//! The router: longest-prefix match to a static neighbour, for frames sent to its own address.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::{Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;

use super::classify::Meta;
use super::plan::{InterfacePlan, RoutingPlan};
use contracts::stats::DropReason;
use ground::units::{Mac, PortId};
use wire::EtherType;

/// Target of a route: an interface, and the next hop unless the destination is the neighbour.
#[derive(Clone, Copy, Debug)]
struct NextHop {
    interface: usize,
    via: Option<IpAddr>,
}

/// The routing tables of a switch; empty where nothing is routed.
#[derive(Debug)]
pub(super) struct Router {
    interfaces: Vec<InterfacePlan>,
    /// By VLAN identifier: the interface in it. Empty when there is no interface at all.
    of_vid: Vec<Option<u16>>,
    v4: PrefixMap<Ipv4Net, NextHop>,
    v6: PrefixMap<Ipv6Net, NextHop>,
    neighbours: HashMap<(usize, IpAddr), (Mac, PortId)>,
}

/// Decision of the router on a packet.
pub(super) struct Forwarding<'a> {
    pub(super) interface: &'a InterfacePlan,
    pub(super) mac: Mac,
    pub(super) port: PortId,
}

impl Router {
    pub(super) fn new(plan: &RoutingPlan) -> Self {
        let mut of_vid = Vec::new();
        for (n, interface) in plan.interfaces.iter().enumerate() {
            of_vid.resize(4096, None);
            of_vid[interface.vid.index()] = Some(n as u16);
        }
        let (mut v4, mut v6) = (PrefixMap::new(), PrefixMap::new());
        for route in &plan.routes {
            let hop = NextHop { interface: route.interface, via: route.via };
            // `config` refuses a prefix length that does not fit its family; here it matches
            // nothing.
            match route.network {
                IpAddr::V4(net) => {
                    if let Ok(net) = Ipv4Net::new(net, route.prefix_len) {
                        v4.insert(net.trunc(), hop);
                    }
                }
                IpAddr::V6(net) => {
                    if let Ok(net) = Ipv6Net::new(net, route.prefix_len) {
                        v6.insert(net.trunc(), hop);
                    }
                }
            }
        }
        let neighbours =
            plan.neighbours.iter().map(|n| ((n.interface, n.ip), (n.mac, n.port))).collect();
        Self { interfaces: plan.interfaces.clone(), of_vid, v4, v6, neighbours }
    }

    /// Returns true if nothing is routed.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.interfaces.is_empty()
    }

    /// Returns the interface in a VLAN.
    #[inline]
    pub(super) fn interface(&self, meta: &Meta) -> Option<&InterfacePlan> {
        let n = (*self.of_vid.get(meta.vid.index())?)?;
        self.interfaces.get(usize::from(n))
    }

    /// Returns true for a frame addressed to the router, or a broadcast ARP request.
    #[inline]
    pub(super) fn wants(&self, meta: &Meta) -> bool {
        self.interface(meta).is_some_and(|i| {
            let dst = meta.dst();
            dst == i.mac || (meta.ethertype == EtherType::ARP && dst == Mac::BROADCAST)
        })
    }

    /// Returns true for an address of the router.
    pub(super) fn owns(&self, address: IpAddr) -> bool {
        self.interfaces.iter().any(|i| i.addresses.contains(&address))
    }

    /// Looks up the egress of a packet to `dst`.
    pub(super) fn lookup(&self, dst: IpAddr) -> Result<Forwarding<'_>, DropReason> {
        let hop = match dst {
            IpAddr::V4(a) => self.v4.get_lpm(&Ipv4Net::from(a)).map(|(_, hop)| *hop),
            IpAddr::V6(a) => self.v6.get_lpm(&Ipv6Net::from(a)).map(|(_, hop)| *hop),
        };
        let NextHop { interface, via } = hop.ok_or(DropReason::NoRoute)?;
        let neighbour = self.neighbours.get(&(interface, via.unwrap_or(dst)));
        let (mac, port) = *neighbour.ok_or(DropReason::NoNeighbour)?;
        Ok(Forwarding { interface: &self.interfaces[interface], mac, port })
    }
}

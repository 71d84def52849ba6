//! The router: longest-prefix match to a static neighbour, for frames sent to its own address, which it
//! routes or answers.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::{Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;

use super::Switch;
use super::admit::Origin;
use super::classify::Meta;
use crate::{InterfacePlan, RoutingPlan};
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Mac, PortId};
use wire::ip::{self, Hop};
use wire::{EtherType, arp, echo, ethernet};

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
            // One entry per VLAN identifier, because every frame asks; none at all where nothing is routed.
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
        // The longest prefix that matches wins.
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

impl<W: World> Switch<W> {
    /// Handles a frame for the router: answers, routes, or drops it.
    pub(super) fn route(&mut self, now: Instant, slot: usize, mut frame: W::Frame, meta: &Meta) {
        let result = match meta.ethertype {
            EtherType::ARP => return self.arp(now, slot, frame, meta),
            EtherType::IPV4 | EtherType::IPV6 => self.route_ip(slot, &mut frame, meta),
            _ => Err(DropReason::RouterNotSpoken),
        };
        match result {
            Ok((meta, egress)) => self.deliver(now, slot, frame, &meta, egress, Origin::Line),
            Err(reason) => self.count_drop(now, slot, Some(meta.priority), reason),
        }
    }

    /// Routes an IP packet: validates it, decrements its TTL, and rewrites its addresses (RFC 1812
    /// 5.2; no ICMP errors are sent, the drops are counted instead).
    pub(super) fn route_ip(
        &self,
        slot: usize,
        frame: &mut W::Frame,
        meta: &Meta,
    ) -> Result<(Meta, PortId), DropReason> {
        let l3 = usize::from(meta.l3);
        let packet = &frame.head()[l3..];
        let view = ip::View::new(meta.ethertype, packet).map_err(|_| DropReason::IpMalformed)?;
        // A damaged header may name any destination. IPv6 has no checksum of its own.
        if let ip::View::V4(v4) = &view {
            if !v4.checksum_ok() {
                return Err(DropReason::IpMalformed);
            }
        }
        let dst = view.dst();
        // Before the routes, of which one may cover the router's own address.
        if self.router.owns(dst) {
            let answer = self.echo(frame, meta)?;
            return Ok((answer, self.ports[slot].id));
        }
        if dst.is_multicast() || dst.is_loopback() || dst.is_unspecified() {
            return Err(DropReason::RouterNotSpoken);
        }
        // Before the lookup and any change: a frame that is dropped stays as it came.
        if view.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let to = self.router.lookup(dst)?;
        match ip::decrement_ttl(meta.ethertype, &mut frame.head_mut()[l3..]) {
            Hop::Alive(_) => {}
            Hop::Expired => return Err(DropReason::TtlExpired),
            Hop::NotIp => return Err(DropReason::IpMalformed),
        }
        // The new VLAN is not in the frame yet: delivery sets the tag that the egress port needs.
        readdress(frame.head_mut(), to.mac, to.interface.mac);
        Ok((Meta { vid: to.interface.vid, ..*meta }, to.port))
    }

    /// Answers an ICMP echo request to one of the router's IPv4 addresses in place.
    fn echo(&self, frame: &mut W::Frame, meta: &Meta) -> Result<Meta, DropReason> {
        let mac = self.router.interface(meta).ok_or(DropReason::RouterNotSpoken)?.mac;
        if meta.ethertype != EtherType::IPV4 {
            return Err(DropReason::RouterNotSpoken);
        }
        let packet = &mut frame.head_mut()[usize::from(meta.l3)..];
        echo::answer(meta.ethertype, packet).map_err(|_| DropReason::RouterNotSpoken)?;
        readdress(frame.head_mut(), meta.src(), mac);
        Ok(*meta)
    }

    /// Answers an ARP request for one of the router's addresses; any other broadcast request is
    /// flooded.
    fn arp(&mut self, now: Instant, slot: usize, mut frame: W::Frame, meta: &Meta) {
        let l3 = usize::from(meta.l3);
        let answer = self.router.interface(meta).and_then(|i| {
            let question = arp::Repr::parse(&frame.head()[l3..]).ok()?;
            // A host may ask for any address of its VLAN, and the router answers for its own.
            let mine = i.addresses.contains(&IpAddr::V4(question.target_ip));
            question.answer(i.mac).filter(|_| mine)
        });
        match answer {
            Some(answer) => {
                let emitted = answer.emit(&mut frame.head_mut()[l3..]);
                emitted.expect("the answer is as long as the question");
                readdress(frame.head_mut(), answer.target_mac, answer.sender_mac);
                let back = self.ports[slot].id;
                self.deliver(now, slot, frame, meta, back, Origin::Line);
            }
            // A question about another host, which the bridge floods as any broadcast.
            None if meta.is_to_group() => self.flood(now, slot, frame, meta),
            None => self.count_drop(now, slot, Some(meta.priority), DropReason::RouterNotSpoken),
        }
    }
}

/// Overwrites the addresses of a frame.
fn readdress(head: &mut [u8], dst: Mac, src: Mac) {
    debug_assert!(head.len() >= ethernet::HEADER_LEN);
    head[..6].copy_from_slice(&dst.0);
    head[6..12].copy_from_slice(&src.0);
}

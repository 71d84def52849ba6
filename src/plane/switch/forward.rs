//! Forwarding of a data frame: to one port, to all of its VLAN, or to the router (802.1Q 8.6.3).

use std::net::IpAddr;

use super::Switch;
use super::admit::Origin;
use super::classify::Meta;
use super::fdb::Key;
use super::shortcut::{Decision, Flow, leaves_as_it_came};
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::{Handoff, World};
use ground::time::Instant;
use ground::units::{Mac, PortId};
use wire::ip::{self, Hop};
use wire::{EtherType, arp, echo, ethernet};

impl<W: World> Switch<W> {
    /// Finds the egress port or ports of a frame and delivers it.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, at: usize, frame: W::Frame, meta: &Meta) {
        if !self.router.is_empty() && self.router.wants(meta) {
            return self.route(now, at, frame, meta);
        }
        if meta.is_to_group() {
            return self.flood(now, at, frame, meta);
        }
        match self.fdb.lookup(now, Key::from_parts(meta.vid, meta.dst)) {
            Some(egress) if egress == self.ports[at].id => {
                self.count_drop(now, at, Some(meta.priority), DropReason::SameSegment);
            }
            Some(egress) => match self.spread_over(&frame, meta) {
                Some(egress) => self.deliver(now, at, frame, meta, egress, Origin::Line),
                None => self.unicast(now, at, frame, meta, egress),
            },
            None => self.flood(now, at, frame, meta),
        }
    }

    /// Returns the port of a frame that has several of equal cost. It is not cached: the flows of the
    /// cache have no ports of UDP and TCP.
    #[inline]
    fn spread_over(&self, frame: &W::Frame, meta: &Meta) -> Option<PortId> {
        if self.spread.is_empty() {
            return None;
        }
        self.spread.port(meta, frame.head(), |port| self.handoff.is_up(port))
    }

    /// Delivers a frame to its one egress port. If the frame leaves unmodified, the decision is
    /// cached for the next frames of its flow.
    #[inline]
    fn unicast(&mut self, now: Instant, at: usize, frame: W::Frame, meta: &Meta, egress: PortId) {
        let ingress = self.ports[at].id;
        let tables = &self.tables[ingress.index()];
        let as_it_came = leaves_as_it_came(meta, self.tables[egress.index()].is_tagged(meta.vid));
        if let Some(to) = self.index[egress.index()] {
            let owned_and_up = self.ports[usize::from(to)].up;
            if as_it_came && owned_and_up {
                if let Some(flow) = Flow::of(frame.head()) {
                    let decision = Decision {
                        egress,
                        to,
                        priority: meta.priority,
                        group: tables.group(meta.priority),
                        lossy: tables.lossy.contains(meta.priority),
                    };
                    let until = now.saturating_add(self.fdb.fresh_for());
                    let version = self.fdb.version();
                    self.ports[at].shortcuts.note(until, version, flow, decision);
                    return self.take_noted(now, (at, ingress), frame, decision);
                }
            }
        }
        self.deliver(now, at, frame, meta, egress, Origin::Line);
    }

    /// Sends a frame to every other port of its VLAN that is up. Each copy is charged separately,
    /// because each uses memory.
    #[cold]
    pub(super) fn flood(&mut self, now: Instant, at: usize, mut frame: W::Frame, meta: &Meta) {
        let ingress = self.ports[at].id;
        let mut last = None;
        for n in 0..self.tables.len() {
            let to = PortId::new(n as u16).expect("as many ports as there are identifiers");
            let wanted = to != ingress && self.tables[n].is_member(meta.vid);
            if !wanted || !self.handoff.is_up(to) {
                continue;
            }
            if let Some(before) = last.replace(to) {
                self.deliver_copy(now, at, &mut frame, meta, before);
            }
        }
        match last {
            Some(to) => self.deliver(now, at, frame, meta, to, Origin::Line),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::NoEgress),
        }
    }

    /// Delivers a copy of a frame that also goes to other ports.
    fn deliver_copy(
        &mut self,
        now: Instant,
        at: usize,
        frame: &mut W::Frame,
        meta: &Meta,
        to: PortId,
    ) {
        self.ports[at].counters.copied += 1;
        match frame.duplicate() {
            Some(copy) => self.deliver(now, at, copy, meta, to, Origin::Copy),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::NoMemory),
        }
    }

    /// Handles a frame for the router: answers, routes, or drops it.
    pub(super) fn route(&mut self, now: Instant, at: usize, mut frame: W::Frame, meta: &Meta) {
        let result = match meta.ethertype {
            EtherType::ARP => return self.arp(now, at, frame, meta),
            EtherType::IPV4 | EtherType::IPV6 => self.route_ip(at, &mut frame, meta),
            _ => Err(DropReason::RouterNotSpoken),
        };
        match result {
            Ok((meta, egress)) => self.deliver(now, at, frame, &meta, egress, Origin::Line),
            Err(reason) => self.count_drop(now, at, Some(meta.priority), reason),
        }
    }

    /// Routes an IP packet: validates it, decrements its TTL, and rewrites its addresses (RFC 1812
    /// 5.2; no ICMP errors are sent, the drops are counted instead).
    pub(super) fn route_ip(
        &self,
        at: usize,
        frame: &mut W::Frame,
        meta: &Meta,
    ) -> Result<(Meta, PortId), DropReason> {
        let l3 = usize::from(meta.l3);
        let packet = &frame.head()[l3..];
        let view = ip::View::new(meta.ethertype, packet).map_err(|_| DropReason::IpMalformed)?;
        if let ip::View::V4(v4) = &view {
            if !v4.checksum_ok() {
                return Err(DropReason::IpMalformed);
            }
        }
        let dst = view.dst();
        if self.router.owns(dst) {
            let answer = self.echo(frame, meta)?;
            return Ok((answer, self.ports[at].id));
        }
        if dst.is_multicast() || dst.is_loopback() || dst.is_unspecified() {
            return Err(DropReason::RouterNotSpoken);
        }
        if view.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let to = self.router.lookup(dst)?;
        match ip::decrement_ttl(meta.ethertype, &mut frame.head_mut()[l3..]) {
            Hop::Alive(_) => {}
            Hop::Expired => return Err(DropReason::TtlExpired),
            Hop::NotIp => return Err(DropReason::IpMalformed),
        }
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
    fn arp(&mut self, now: Instant, at: usize, mut frame: W::Frame, meta: &Meta) {
        let l3 = usize::from(meta.l3);
        let answer = self.router.interface(meta).and_then(|i| {
            let question = arp::Repr::parse(&frame.head()[l3..]).ok()?;
            let mine = i.addresses.contains(&IpAddr::V4(question.target_ip));
            question.answer(i.mac).filter(|_| mine)
        });
        match answer {
            Some(answer) => {
                let emitted = answer.emit(&mut frame.head_mut()[l3..]);
                emitted.expect("the answer is as long as the question");
                readdress(frame.head_mut(), answer.target_mac, answer.sender_mac);
                let back = self.ports[at].id;
                self.deliver(now, at, frame, meta, back, Origin::Line);
            }
            None if meta.is_to_group() => self.flood(now, at, frame, meta),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::RouterNotSpoken),
        }
    }
}

/// Overwrites the addresses of a frame.
fn readdress(head: &mut [u8], dst: Mac, src: Mac) {
    debug_assert!(head.len() >= ethernet::HEADER_LEN);
    head[..6].copy_from_slice(&dst.0);
    head[6..12].copy_from_slice(&src.0);
}

//! CIMs of one worker: parameters and format, transmission, reception, counters.
//!
//! A CIM is sent at once, to the peer of the port by which a congesting frame came in, and by that
//! port whatever the address table says. A received frame to the port's own congestion isolation
//! point is parsed, accepted or rejected, and consumed; every other CIM is forwarded as data. It comes
//! in by the port whose queue holds its flow, so the worker that serves the queue receives it and no
//! other worker needs it.

use core::net::IpAddr;

use super::Signals;
use crate::admit::Origin;
use crate::classify::Tables;
use crate::port_state::PortState;
use crate::{CongestionIsolationPlan, IsolationPoint, PortPlan, Switch, SwitchPlan};
use congestion::FlowKey;
use congestion::isolation::{CimOrder, CimType, Isolation, Labels, Peer, Received};
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::{
    CimCounters, CongestingQueue, DropReason, IsolationCounters, IsolationSnapshot,
};
use contracts::world::{Handoff, Transit, World};
use ground::time::Instant;
use ground::units::{Dscp, Mac, PortId, Priority, TrafficClass};
use wire::flow::FiveTuple;
use wire::ip::{self, Ecn, Protocol};
use wire::{EtherType, cim, datagram, ethernet, msdu, vlan};

/// Maximum frame length with a CIM: the largest MSDU over IPv6.
pub(super) const CIM_FRAME_MAX: usize = ethernet::HEADER_LEN + cim::LEN_MAX;

/// TTL and hop limit of CIMs. The peer is the next bridge, but may be behind routers.
const TTL: u8 = 64;

/// CIM parameters and counters of one worker.
pub(crate) struct Cims {
    pub(super) priority: Priority,
    dscp: Dscp,
    min_header_octets: u16,
    pub(super) dialect: cim::Dialect,
    /// By port: the addresses of its isolation point.
    points: Box<[Point]>,
    /// By port.
    pub(super) counters: Box<[CimPortCounters]>,
}

/// Congestion isolation point with the default of its address resolved.
type Point = IsolationPoint<Mac>;

impl IsolationPoint {
    fn resolved(self, own: Mac) -> Point {
        let Self { mac, ipv4, ipv6, cim_port } = self;
        Point { mac: mac.unwrap_or(own), ipv4, ipv6, cim_port }
    }
}

impl Cims {
    pub(super) fn new(plan: &SwitchPlan, isolation: &CongestionIsolationPlan) -> Self {
        let point = |(n, port): (usize, &PortPlan)| {
            isolation.points.get(n).copied().unwrap_or_default().resolved(port.mac)
        };
        let points: Box<[Point]> = plan.ports.iter().enumerate().map(point).collect();
        Self {
            priority: isolation.cim_tx_priority,
            dscp: isolation.dscp(),
            min_header_octets: isolation.min_header_octets,
            dialect: isolation.dialect,
            counters: vec![CimPortCounters::default(); points.len()].into_boxed_slice(),
            points,
        }
    }

    /// Applies another plan; `macs` are the addresses of the ports.
    pub(super) fn adopt(
        &mut self,
        plan: &CongestionIsolationPlan,
        macs: impl Iterator<Item = Mac>,
    ) {
        (self.priority, self.dscp) = (plan.cim_tx_priority, plan.dscp());
        self.min_header_octets = plan.min_header_octets;
        for (n, (point, own)) in self.points.iter_mut().zip(macs).enumerate() {
            *point = plan.points.get(n).copied().unwrap_or_default().resolved(own);
        }
    }

    #[inline]
    pub(super) fn point(&self, port: PortId) -> &Point {
        &self.points[port.index()]
    }

    /// Writes the frame with the CIM of `order` about the flow of `head` for `peer` into `out`.
    /// Returns its length, or the reason for not sending one.
    pub(super) fn write(
        &self,
        order: &CimOrder,
        peer: &Peer,
        head: &[u8],
        out: &mut [u8; CIM_FRAME_MAX],
    ) -> Result<usize, Unsaid> {
        let point = self.point(order.to);
        let encapsulation = match peer.cim_type {
            CimType::L2 => cim::Encapsulation::L2,
            CimType::Ipv4 => {
                // Without an address the message has no source, and the peer could not tell its origin.
                let from = point.ipv4.ok_or(Unsaid::NoAddress)?.into();
                let to = peer.ipv4.ok_or(Unsaid::NoAddress)?.into();
                cim::Encapsulation::Udp(self.headers(from, to, peer.udp_port))
            }
            CimType::Ipv6 => {
                let from = point.ipv6.ok_or(Unsaid::NoAddress)?.into();
                let to = peer.ipv6.ok_or(Unsaid::NoAddress)?.into();
                cim::Encapsulation::Udp(self.headers(from, to, peer.udp_port))
            }
        };
        let (tag, msdu) = msdu::of_frame(head).map_err(|_| Unsaid::Unwritable)?;
        let header = ethernet::Repr::parse(head).map_err(|_| Unsaid::Unwritable)?;
        let mut padded = [0; cim::MSDU_MIN];
        // The peer may need more of the frame to find the flow than this switch is configured to quote.
        let most = usize::from(self.min_header_octets.max(peer.encap_len));
        let message = cim::Repr {
            encapsulation,
            add: order.add,
            dst: header.dst,
            src: header.src,
            vid: tag.and_then(|tag| tag.vid),
            msdu: msdu::bounded(msdu, most.min(cim::MSDU_MAX), &mut padded),
        };
        let ethernet =
            ethernet::Repr { dst: peer.mac, src: point.mac, ethertype: message.ethertype() };
        let (first, rest) = out.split_at_mut(ethernet::HEADER_LEN);
        ethernet.emit(first).map_err(|_| Unsaid::Unwritable)?;
        message.emit(rest, &self.dialect).map_err(|_| Unsaid::Unwritable)?;
        Ok(ethernet::HEADER_LEN + message.buffer_len(&self.dialect))
    }

    /// Returns the headers of a CIM in IP. Source and destination port are equal, since no reply is
    /// expected.
    const fn headers(&self, src: IpAddr, dst: IpAddr, port: u16) -> datagram::Repr {
        let (dscp, ecn) = (self.dscp, Ecn::NotEct);
        datagram::Repr { src, dst, dscp, ecn, ttl: TTL, src_port: port, dst_port: port }
    }
}

/// CIM counters of one port.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CimPortCounters {
    pub(crate) sent: u64,
    pub(crate) no_address: u64,
    pub(crate) unwritable: u64,
    pub(crate) no_memory: u64,
    pub(crate) received: u64,
    pub(crate) malformed: u64,
}

/// Reason for not sending a CIM that was due.
#[derive(Clone, Copy)]
pub(super) enum Unsaid {
    /// The port has no address of the family that the peer expects.
    NoAddress,
    /// No CIM can be about this frame: it is one itself, or its headers are incomplete.
    Unwritable,
    /// No memory for the frame.
    NoMemory,
}

impl<W: World> Switch<W> {
    /// Processes a frame if it is a CIM to this port. Returns true if it was one, which is then
    /// consumed.
    pub(super) fn hear_cim(&mut self, now: Instant, slot: usize, frame: &W::Frame) -> bool {
        let port = self.ports[slot].id;
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &mut self.signals else {
            return false;
        };
        let Some((ethertype, octets)) = for_point(frame.head(), cims.point(port)) else {
            return false;
        };
        // The path of unusual frames drops and counts it.
        if !self.ports[slot].up {
            return false;
        }
        let counters = &mut cims.counters[port.index()];
        // Counted before it is parsed, so that malformed messages are among those received.
        counters.received += 1;
        let obeyed = match cim::Repr::parse(ethertype, octets, &cims.dialect) {
            Err(_) => {
                counters.malformed += 1;
                false
            }
            Ok(message) => {
                let received = received(&self.tables, port, frame.head(), &message);
                isolation.on_cim(now, &received).is_obeyed()
            }
        };
        if obeyed {
            self.ports[slot].counters.consumed += 1;
        } else {
            self.count_drop(now, slot, None, DropReason::CimRefused);
        }
        true
    }
}

/// Returns the EtherType and the bytes behind it, for a frame addressed to the isolation point as
/// CIMs are.
fn for_point<'a>(head: &'a [u8], point: &Point) -> Option<(EtherType, &'a [u8])> {
    let walk = vlan::walk(head).ok()?;
    let octets = &head[walk.l3..];
    // A CIM for another bridge is data here.
    if walk.dst != point.mac {
        return None;
    }
    if walk.ethertype == EtherType::CIM {
        return Some((walk.ethertype, octets));
    }
    let packet = ip::View::new(walk.ethertype, octets).ok()?;
    let own = match packet.dst() {
        IpAddr::V4(dst) => point.ipv4 == Some(dst),
        IpAddr::V6(dst) => point.ipv6 == Some(dst),
    };
    let flow = FiveTuple::of(&packet);
    let to_it = flow.protocol == Protocol::UDP && flow.dst_port == point.cim_port;
    (own && point.cim_port != 0 && to_it).then_some((walk.ethertype, octets))
}

/// Translates a message that came in by `port` for the isolation machine.
fn received(tables: &[Tables], port: PortId, head: &[u8], message: &cim::Repr<'_>) -> Received {
    let own = &tables[port.index()];
    let key = match message.flow() {
        Some(flow) => FlowKey::Ip(flow),
        None => {
            // The sender keys untagged frames by the VLAN of its port, which is that of this end of the link.
            let vid = message.vid.or(own.pvid());
            FlowKey::L2 { dst: message.dst, src: message.src, vid }
        }
    };
    let address = match message.encapsulation {
        cim::Encapsulation::L2 => None,
        cim::Encapsulation::Udp(headers) => Some(headers.src),
    };
    Received {
        port,
        mac: super::isolate::mac_at(head, 6).unwrap_or_default(),
        address,
        add: message.add,
        key,
        labels: Labels { dst: message.dst, src: message.src, vid: message.vid },
        classes: classes(tables, own, dscp(message.msdu)),
    }
}

/// Returns the classes of the port with the tables `own` that packets with this DSCP may be in,
/// whichever port they came in by: one where all ports classify by DSCP, all where some classify by
/// a tag, which CIMs do not show.
fn classes(tables: &[Tables], own: &Tables, dscp: Option<Dscp>) -> u8 {
    let class = |tables: &Tables| Some(1 << own.class(tables.priority_of_untagged(dscp)?).get());
    // One port that classifies by a tag makes the class unknown, and all of them possible.
    tables.iter().map(class).try_fold(0, |sum, class| Some(sum | class?)).unwrap_or(u8::MAX)
}

fn dscp(msdu: &[u8]) -> Option<Dscp> {
    let (ethertype, packet) = msdu::network(msdu)?;
    Some(ip::View::new(ethertype, packet).ok()?.dscp())
}

impl<W: World> Switch<W> {
    /// Sends a CIM about the flow of `frame`, which congests the port at `slot`.
    pub(super) fn send_cim(
        &mut self,
        now: Instant,
        slot: usize,
        order: &CimOrder,
        frame: &W::Frame,
    ) {
        let to = order.to;
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &self.signals else {
            return;
        };
        let mut octets = [0; CIM_FRAME_MAX];
        // A copy, because the port is borrowed below, for its memory.
        let peer = *isolation.peer(to).expect("CIMs are ordered for ports that have a peer");
        let written = cims.write(order, &peer, frame.head(), &mut octets);
        let priority = cims.priority;
        let made = written.and_then(|len| {
            let message = self.ports[slot].port.message_frame(&octets[..len]);
            message.ok_or(Unsaid::NoMemory)
        });
        let cims = self.signals.cims.as_mut().expect("looked at above");
        let counters = &mut cims.counters[to.index()];
        match made {
            Ok(message) => {
                counters.sent += 1;
                self.ports[slot].counters.originated += 1;
                self.send_by(now, slot, to, priority, message);
            }
            Err(Unsaid::NoAddress) => counters.no_address += 1,
            Err(Unsaid::Unwritable) => counters.unwritable += 1,
            Err(Unsaid::NoMemory) => counters.no_memory += 1,
        }
    }

    /// Queues a message at port `to`, accounted for as if it had come in by the port at `slot`, which
    /// caused it.
    fn send_by(
        &mut self,
        now: Instant,
        slot: usize,
        to: PortId,
        priority: Priority,
        frame: W::Frame,
    ) {
        let ingress = self.ports[slot].id;
        // Not through forwarding: the CIM is for the neighbour at this port, wherever the address table leads.
        if !self.handoff.is_up(to) {
            return self.count_drop(now, slot, Some(priority), DropReason::EgressDown);
        }
        let group = self.tables[ingress.index()].group(priority);
        let (origin, wire_len) = (Origin::Message, frame.wire_len());
        let admitted = self.admit(now, slot, ingress, priority, None, group, origin, wire_len);
        if let Some(charge) = admitted {
            let placed = self.placed_plain(to, priority);
            let item = Transit { frame, charge, egress: to, ingress, priority };
            self.pass_on(now, slot, self.local(to), placed, item);
        }
    }
}

impl<W: World> Switch<W> {
    /// Returns the isolation counters of this worker; `None` where isolation is not configured.
    pub(super) fn isolation_snapshot(&self) -> Option<IsolationSnapshot> {
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &self.signals else {
            return None;
        };
        let map = isolation.plan().map;
        let mut classes: Vec<_> =
            TrafficClass::ALL.into_iter().filter_map(|class| map.congesting(class)).collect();
        // Several monitored classes may share a congesting one.
        classes.sort_unstable();
        classes.dedup();
        let queue = |(port, class): (&PortState<W>, TrafficClass)| CongestingQueue {
            port: port.id.get(),
            class: class.get(),
            bytes: port.scheduler.bytes(class),
            peak_bytes: port.scheduler.peak(class),
        };
        let queues = self.ports.iter().flat_map(|port| classes.iter().map(move |c| (port, *c)));
        let port_counters =
            |count: &CimPortCounters| CimCounters { sent: count.sent, received: count.received };
        Some(IsolationSnapshot {
            counters: counters(cims, isolation),
            streams: isolation.len() as u64,
            ports: cims.counters.iter().map(port_counters).collect(),
            queues: queues.map(queue).collect(),
        })
    }
}

fn counters(cims: &Cims, isolation: &Isolation) -> IsolationCounters {
    let sum = |counter: fn(&CimPortCounters) -> u64| cims.counters.iter().map(counter).sum();
    IsolationCounters {
        no_address: sum(|count| count.no_address),
        unwritable: sum(|count| count.unwritable),
        no_memory: sum(|count| count.no_memory),
        heard_malformed: sum(|count| count.malformed),
        ..isolation.counters()
    }
}

//! CIM reception: a frame to the port's own congestion isolation point is parsed, accepted or
//! rejected, and consumed; every other CIM is forwarded as data.
//!
//! A CIM comes in by the port whose queue holds its flow, so the worker that serves the queue
//! receives it and no other worker needs it.

use core::net::IpAddr;

use super::Signals;
use super::cim::Point;
use crate::Switch;
use crate::tables::Tables;
use congestion::FlowKey;
use congestion::isolation::{Labels, Received};
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Dscp, PortId};
use wire::flow::FiveTuple;
use wire::ip::{self, Protocol};
use wire::{EtherType, cim, msdu, vlan};

impl<W: World> Switch<W> {
    /// Processes a frame if it is a CIM to this port. Returns true if it was one, which is then
    /// consumed.
    pub(super) fn hear_cim(&mut self, now: Instant, at: usize, frame: &W::Frame) -> bool {
        let port = self.ports[at].id;
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &mut self.signals else {
            return false;
        };
        let Some((ethertype, octets)) = for_point(frame.head(), cims.point(port)) else {
            return false;
        };
        if !self.ports[at].up {
            return false;
        }
        let counters = &mut cims.counters[port.index()];
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
            self.ports[at].counters.consumed += 1;
        } else {
            self.count_drop(now, at, None, DropReason::CimRefused);
        }
        true
    }
}

/// Returns the EtherType and the bytes behind it, for a frame addressed to the isolation point as
/// CIMs are.
fn for_point<'a>(head: &'a [u8], point: &Point) -> Option<(EtherType, &'a [u8])> {
    let walk = vlan::walk(head).ok()?;
    let octets = &head[walk.l3..];
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
    tables.iter().map(class).try_fold(0, |sum, class| Some(sum | class?)).unwrap_or(u8::MAX)
}

fn dscp(msdu: &[u8]) -> Option<Dscp> {
    let (ethertype, packet) = msdu::network(msdu)?;
    Some(ip::View::new(ethertype, packet).ok()?.dscp())
}

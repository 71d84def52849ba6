//! Frames of `RoCEv2`: those of a NIC under test, and those of its peer, which the tester sends.

use core::net::IpAddr;

use super::sfc;
use crate::bench::Trouble;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::Marking;
use crate::test::Context;
use crate::trial::{Port, QUEUE_PAIRS};
use ground::time::Instant;
use ground::units::{Dscp, Mac, Pcp, Priority};
use host::FlowId;
use host::probe::Probe;
use wire::ip::{Ecn, Protocol};
use wire::roce::{Opcode, U24};
use wire::{EtherType, cnp, datagram, ethernet, icrc, ip, roce, udp, vlan};

/// DSCP of congestion notifications. A choice: the usual one of NICs.
const CNP_DSCP: u8 = 48;

/// Bytes of payload in the tester's data: a multiple of 4.
const PAYLOAD: usize = 256;

/// Shortest frame without FCS.
const SHORTEST: usize = ethernet::MIN_FRAME - 4;

/// Data of `RoCEv2` that a NIC sends, seen from the peer that the tester is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) priority: Priority,
    nic: (Mac, IpAddr),
    peer: IpAddr,
    src_port: u16,
}

/// A packet of `RoCEv2`.
struct Packet<'a> {
    walk: vlan::Walk,
    ip: ip::View<'a>,
    src_port: u16,
    bth: roce::View<'a>,
}

fn packet(octets: &[u8]) -> Option<Packet<'_>> {
    let walk = vlan::walk(octets).ok()?;
    let ip = ip::View::new(walk.ethertype, octets.get(walk.l3..)?).ok()?;
    let upper = ip.upper().ok().filter(|upper| upper.protocol == Protocol::UDP)?;
    let datagram = udp::View::new(upper.payload).ok()?;
    let is_roce = datagram.dst_port() == roce::UDP_PORT;
    let bth = is_roce.then(|| roce::View::new(datagram.payload()).ok()).flatten()?;
    Some(Packet { walk, ip, src_port: datagram.src_port(), bth })
}

/// Returns the first data of `RoCEv2` in the traffic of a NIC, whose flows have the priorities `sends`.
pub(super) fn heard(
    cx: &Context<'_>,
    seen: &Observation,
    (port, sends): (Port, &[Priority]),
) -> Result<Heard, Trouble> {
    let here = seen.records.iter().filter(|r| r.port == port && r.way == Way::Received);
    let found = here.filter_map(|record| {
        let What::Data { flow, .. } = record.what else { return None };
        let packet = packet(&record.head)?;
        let is_answer = matches!(packet.bth.opcode(), Opcode::CNP | Opcode::RC_ACKNOWLEDGE);
        (!is_answer).then(|| Heard {
            priority: sends[flow.0],
            nic: (packet.walk.src, packet.ip.src()),
            peer: packet.ip.dst(),
            src_port: packet.src_port,
        })
    });
    found.into_iter().next().ok_or_else(|| {
        let what = format!("the NIC sends no data of RoCEv2 to port {}", cx.port(port).name);
        Trouble::Missing(what)
    })
}

impl Heard {
    /// Returns a congestion notification for a queue pair of the NIC, from the destination address on,
    /// without FCS.
    pub(super) fn notification(&self, cx: &Context<'_>, port: Port, pair: U24) -> Vec<u8> {
        let (_, dst) = self.nic;
        let repr = cnp::Repr {
            src: self.peer,
            dst,
            dscp: Dscp::new(CNP_DSCP).expect("48 is below 64"),
            ecn: Ecn::NotEct,
            ttl: 64,
            identification: 0,
            src_port: self.src_port,
            p_key: roce::DEFAULT_P_KEY,
            dest_qp: pair,
        };
        let mut packet = vec![0; repr.buffer_len()];
        repr.emit(&mut packet).expect("it has the length of a notification");
        let pcp = Pcp::new(CNP_DSCP / 8).expect("it is below 8");
        self.framed(cx, port, (repr.ethertype(), pcp), &packet)
    }

    /// Returns data for a queue pair of the NIC with these marks, in the same form.
    pub(super) fn data(&self, cx: &Context<'_>, port: Port, (pair, ecn): (U24, Ecn)) -> Vec<u8> {
        let (_, dst) = self.nic;
        let class = Pcp::new(self.priority.get()).expect("both are below 8");
        let (dscp, pcp) = match &cx.setup.marking {
            Marking::Dscp(map) => (map[self.priority.index()], class),
            Marking::Pcp(map, _) => (Dscp::MIN, map[self.priority.index()]),
        };
        let headers = datagram::Repr {
            src: self.peer,
            dst,
            dscp,
            ecn,
            ttl: 64,
            src_port: self.src_port,
            dst_port: roce::UDP_PORT,
        };
        let fits = "data of the tester fits";
        let udp_at = headers.header_len();
        let payload_at = udp_at + roce::BTH_LEN;
        let mut packet = vec![0; payload_at + PAYLOAD + icrc::LEN];
        let bth = roce::Repr::new(Opcode::RC_SEND_ONLY, pair, U24::default());
        bth.emit(&mut packet[udp_at..]).expect(fits);
        let probe = Probe::new(FlowId(QUEUE_PAIRS + pair.get()), 0, Instant::ZERO).octets();
        packet[payload_at..payload_at + probe.len()].copy_from_slice(&probe);
        headers.emit(&mut packet).expect(fits);
        // The ICRC covers the payload, so there is no checksum of UDP (A17.3.3).
        packet[udp_at - 2..udp_at].fill(0);
        icrc::seal(&mut packet).expect(fits);
        self.framed(cx, port, (headers.ethertype(), pcp), &packet)
    }

    fn framed(
        &self,
        cx: &Context<'_>,
        port: Port,
        (ethertype, pcp): (EtherType, Pcp),
        packet: &[u8],
    ) -> Vec<u8> {
        let (dst, _) = self.nic;
        let frame = ethernet::Repr { dst, src: cx.port(port).mac, ethertype };
        let mut octets = vec![0; ethernet::HEADER_LEN];
        frame.emit(&mut octets).expect("it has the length of the header");
        octets.extend(packet);
        octets.resize(octets.len().max(SHORTEST), 0);
        sfc::tagged(&cx.setup.marking, pcp, octets)
    }
}

/// Returns the congestion notifications that a port received, and of each the queue pair that it is for, and
/// true if it is well formed.
pub(super) fn notifications(
    seen: &Observation,
    port: Port,
) -> impl Iterator<Item = (&Record, U24, bool)> {
    let here = seen.records.iter().filter(move |r| r.port == port && r.way == Way::Received);
    here.filter_map(|record| {
        let What::Other(octets) = &record.what else { return None };
        let found = packet(octets).filter(|packet| packet.bth.opcode() == Opcode::CNP)?;
        let (ethertype, l3) = (found.walk.ethertype, found.walk.l3);
        let is_right = cnp::Repr::parse(ethertype, &octets[l3..]).is_ok();
        Some((record, found.bth.dest_qp(), is_right))
    })
}

//! CIM parameters, format and counters of one worker.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::plan::{CongestionIsolationPlan, IsolationPoint, PortPlan, SwitchPlan};
use congestion::isolation::{CimType, Peer};
use ground::units::{Dscp, Mac, PortId, Priority};
use wire::ip::Ecn;
use wire::{cim, datagram, ethernet, msdu};

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

/// Congestion isolation point with its default addresses resolved.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) mac: Mac,
    pub(super) ipv4: Option<Ipv4Addr>,
    pub(super) ipv6: Option<Ipv6Addr>,
    /// UDP destination port of CIMs; 0 for none.
    pub(super) cim_port: u16,
}

impl Point {
    fn new(plan: &IsolationPoint, own: Mac) -> Self {
        let IsolationPoint { mac, ipv4, ipv6, cim_port } = *plan;
        Self { mac: mac.unwrap_or(own), ipv4, ipv6, cim_port }
    }
}

impl Cims {
    pub(super) fn new(plan: &SwitchPlan, isolation: &CongestionIsolationPlan) -> Self {
        let point = |(n, port): (usize, &PortPlan)| {
            Point::new(&isolation.points.get(n).copied().unwrap_or_default(), port.mac)
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
            *point = Point::new(&plan.points.get(n).copied().unwrap_or_default(), own);
        }
    }

    #[inline]
    pub(super) fn point(&self, port: PortId) -> &Point {
        &self.points[port.index()]
    }

    /// Writes the frame with the CIM about the flow of `head` for the peer behind `to` into `out`.
    /// Returns its length, or the reason for not sending one.
    pub(super) fn write(
        &self,
        (add, to): (bool, PortId),
        peer: &Peer,
        head: &[u8],
        out: &mut [u8; CIM_FRAME_MAX],
    ) -> Result<usize, Unsaid> {
        let point = self.point(to);
        let encapsulation = match peer.cim_type {
            CimType::L2 => cim::Encapsulation::L2,
            CimType::Ipv4 => {
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
        let most = usize::from(self.min_header_octets.max(peer.encap_len));
        let message = cim::Repr {
            encapsulation,
            add,
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

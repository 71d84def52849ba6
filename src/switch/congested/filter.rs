//! Which received frames may be messages about congestion.

use crate::switch::plan::CongestionPlan;
use crate::wire::EtherType;
use crate::wire::ip::Protocol;

/// Finds messages by a few loads. What it finds is then read with care; what is no message after all
/// goes on as data.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Filter {
    on: bool,
    /// The UDP port of SFCMs; 0 where nothing looks at them.
    sfcm: u16,
    /// Whether CIMs are looked at.
    cim: bool,
    /// The lowest and the highest UDP port that CIMs come to; none where the first is more.
    cim_ports: (u16, u16),
}

impl Filter {
    pub(super) fn new(plan: &CongestionPlan) -> Self {
        let proxy = plan.proxy.as_ref().map(|proxy| proxy.udp_port);
        let sfcm = proxy.or(plan.sfc.as_ref().map(|sfc| sfc.point.udp_port)).unwrap_or(0);
        let cim = plan.isolation.is_some();
        let mut filter = Self { on: sfcm != 0 || cim, sfcm, cim, cim_ports: (u16::MAX, 0) };
        let points = plan.isolation.iter().flat_map(|isolation| &isolation.points);
        points.for_each(|point| filter.add_cim_port(point.cim_port));
        filter
    }

    /// CIMs may come to this UDP port from now on; 0 is none.
    pub(super) fn add_cim_port(&mut self, port: u16) {
        if port != 0 {
            let (low, high) = self.cim_ports;
            self.cim_ports = (low.min(port), high.max(port));
        }
    }

    /// Whether a frame may be a message.
    #[inline(always)]
    pub(in crate::switch) fn wants(&self, head: &[u8]) -> bool {
        self.on && self.looks(head)
    }

    #[inline]
    fn looks(&self, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<18>() else { return false };
        let be16 = |at: usize| u16::from_be_bytes([h[at], h[at + 1]]);
        let (mut ethertype, mut l3) = (EtherType(be16(12)), 14);
        if ethertype == EtherType::C_TAG {
            (ethertype, l3) = (EtherType(be16(16)), 18);
        }
        match ethertype {
            EtherType::IPV4 | EtherType::IPV6 => {
                udp_port(ethertype, &head[l3..]).is_some_and(|port| {
                    self.sfcm != 0 && port == self.sfcm
                        || (self.cim_ports.0..=self.cim_ports.1).contains(&port)
                })
            }
            EtherType::CIM => self.cim,
            _ => false,
        }
    }

    /// Whether a packet goes to the UDP port of SFCMs. A fragment that is not the first has no ports,
    /// and may be taken for a message that is then found to be none.
    #[inline]
    pub(super) fn is_sfcm(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        self.sfcm != 0 && udp_port(ethertype, packet) == Some(self.sfcm)
    }
}

/// The UDP port that a packet goes to, if it goes to one.
#[inline]
fn udp_port(ethertype: EtherType, packet: &[u8]) -> Option<u16> {
    let (protocol, header) = match (ethertype, packet) {
        (EtherType::IPV4, [first, ..]) => (9, usize::from(first & 0xf) * 4),
        _ => (6, 40),
    };
    let port = packet.get(header + 2..)?.first_chunk()?;
    (packet.get(protocol) == Some(&Protocol::UDP.0)).then_some(u16::from_be_bytes(*port))
}

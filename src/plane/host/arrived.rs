//! Classification of a received frame: data of a flow, a reply to one, or neither.

use core::net::Ipv4Addr;

use super::plan::EndKey;
use super::probe::{Arrival, PROBE_ETHERTYPE, PROBE_LEN, Probe};
use super::transport::receiver::Data;
use super::transport::sender::Answer;
use wire::ip::{self, Ecn, Fragment, Protocol};
use wire::roce::Opcode;
use wire::{EtherType, aeth, cnp, ethernet, ipv4, ipv6, reth, roce, segment, udp, vlan};

/// A parsed frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrived {
    /// Data with a probe, and its transport header if it has one.
    Data(Arrival, Option<Data>),
    /// A reply, and the flow that it belongs to.
    Answer(EndKey, Answer),
    /// A frame that no station makes.
    Other,
}

impl Arrived {
    /// Parses a frame whose network header is at `walk.l3`.
    ///
    /// The ICRC of acknowledgements is not validated: damaged frames have a wrong FCS, and it would
    /// cost more than the rest of the parsing.
    #[inline]
    pub(super) fn read(frame: &[u8], walk: &vlan::Walk) -> Self {
        Self::read_packet(walk.ethertype, &frame[walk.l3..])
    }

    /// Parses the bytes behind an EtherType.
    #[inline]
    pub(super) fn read_packet(ethertype: EtherType, packet: &[u8]) -> Self {
        // Only frames without IP have the experimental EtherType; they have no ECN either.
        let found = if ethertype == PROBE_ETHERTYPE {
            Probe::parse(packet).map(|probe| Self::Data(Arrival { probe, ecn: Ecn::NotEct }, None))
        } else {
            read_ip(ethertype, packet)
        };
        found.unwrap_or(Self::Other)
    }
}

impl Arrival {
    /// Finds the probe in a frame whose network header is at `walk.l3`; `None` for an incomplete
    /// frame or one of no flow.
    #[inline]
    pub fn find(frame: &[u8], walk: &vlan::Walk) -> Option<Self> {
        match Arrived::read(frame, walk) {
            Arrived::Data(arrival, _) => Some(arrival),
            Arrived::Answer(..) | Arrived::Other => None,
        }
    }
}

/// Parses the probe of a common frame of run `run`: UDP over IPv4 without options or over IPv6
/// without extension headers, with one 802.1Q tag or none, not a fragment, and to a port other than
/// RoCEv2's. `None` for all others, which [`Arrived::read`] may accept. The results agree; this takes
/// a tenth of the time.
#[inline(always)]
pub(super) fn usual(frame: &[u8], run: u8) -> Option<Arrival> {
    // One length check for all that is read of an untagged IPv4 frame.
    if let Some(whole) = frame.first_chunk::<{ 14 + V4 }>() {
        if be16(whole, 12) == EtherType::IPV4.0 {
            return usual_v4(whole[14..].first_chunk()?, run);
        }
    }
    usual_other(frame, run)
}

/// As [`usual`], for frames with a tag or over IPv6.
#[inline]
fn usual_other(frame: &[u8], run: u8) -> Option<Arrival> {
    let start: &[u8; 18] = frame.first_chunk()?;
    let mut l3 = ethernet::HEADER_LEN;
    let mut ethertype = be16(start, 12);
    if ethertype == EtherType::C_TAG.0 {
        // A VLAN identifier of all ones is reserved.
        if be16(start, 14) & 0xfff == 0xfff {
            return None;
        }
        ethertype = be16(start, 16);
        l3 += vlan::TAG_LEN;
    }
    let packet = frame.get(l3..)?;
    match EtherType(ethertype) {
        EtherType::IPV4 => usual_v4(packet.first_chunk()?, run),
        EtherType::IPV6 => usual_v6(packet.first_chunk()?, run),
        _ => None,
    }
}

/// Bytes of a UDP header and a probe, and with an IP header before them.
const DATAGRAM: usize = udp::HEADER_LEN + PROBE_LEN;
const V4: usize = ipv4::HEADER_LEN + DATAGRAM;
const V6: usize = ipv6::HEADER_LEN + DATAGRAM;

#[inline(always)]
fn usual_v4(p: &[u8; V4], run: u8) -> Option<Arrival> {
    // Version 4 and five words of header: no options.
    let fits = p[0] == 0x45 && usize::from(be16(p, 2)) >= V4;
    // Fragment offset and more fragments; time to live; protocol.
    let whole_udp = u32::from_be_bytes([p[6], p[7], p[8], p[9]]) & 0x3fff_00ff;
    if !(fits && whole_udp == u32::from(Protocol::UDP.0)) {
        return None;
    }
    usual_udp(p[ipv4::HEADER_LEN..].first_chunk()?, p[1], run)
}

#[inline(always)]
fn usual_v6(p: &[u8; V6], run: u8) -> Option<Arrival> {
    let first = be16(p, 0);
    let fits = first >> 12 == 6 && usize::from(be16(p, 4)) >= DATAGRAM;
    if !(fits && p[6] == Protocol::UDP.0) {
        return None;
    }
    // The traffic class is the eight bits behind the version.
    usual_udp(p[ipv6::HEADER_LEN..].first_chunk()?, (first >> 4) as u8, run)
}

#[inline(always)]
fn usual_udp(d: &[u8; DATAGRAM], class: u8, run: u8) -> Option<Arrival> {
    // To RoCEv2's port a BTH is in front of the probe.
    if be16(d, 2) == roce::UDP_PORT || usize::from(be16(d, 4)) < DATAGRAM {
        return None;
    }
    let probe = Probe::parse_run(d[udp::HEADER_LEN..].first_chunk()?, run)?;
    Some(Arrival { probe, ecn: Ecn::from_octet(class) })
}

/// Reads two bytes at a valid offset.
#[inline(always)]
fn be16<const N: usize>(octets: &[u8; N], offset: usize) -> u16 {
    u16::from_be_bytes([octets[offset], octets[offset + 1]])
}

/// Returns the probe in a frame of a flow, for observers of a network.
pub fn probe_of(frame: &[u8]) -> Option<Probe> {
    Arrival::find(frame, &vlan::walk(frame).ok()?).map(|arrival| arrival.probe)
}

#[inline]
fn read_ip(ethertype: EtherType, packet: &[u8]) -> Option<Arrived> {
    let ip = ip::View::new(ethertype, packet).ok()?;
    let upper = ip.upper().ok()?;
    // Stations send no fragments, and a first one may end before its probe.
    if upper.fragment != Fragment::Whole {
        return None;
    }
    match upper.protocol {
        Protocol::UDP => {
            let datagram = udp::View::new(upper.payload).ok()?;
            let payload = datagram.payload();
            // A packet to that port which is too short for a BTH may still be a plain flow's.
            if datagram.dst_port() == roce::UDP_PORT {
                if let Ok(bth) = roce::View::new(payload) {
                    return read_roce(ethertype, packet, ip.ecn(), &bth);
                }
            }
            // A probe's magic is not a valid BTH, so flows without a transport may use any port.
            Probe::parse(payload).map(|probe| Arrived::Data(Arrival { probe, ecn: ip.ecn() }, None))
        }
        Protocol::TCP => {
            let ip::View::V4(v4) = &ip else { return None };
            read_tcp(v4.src(), ip.ecn(), upper.payload)
        }
        _ => None,
    }
}

#[inline]
fn read_roce(
    ethertype: EtherType,
    packet: &[u8],
    ecn: Ecn,
    bth: &roce::View<'_>,
) -> Option<Arrived> {
    // Acknowledgements and CNPs go to the queue pair of the sender.
    let key = EndKey::queue_pair(bth.dest_qp());
    let payload = match bth.opcode() {
        Opcode::RC_SEND_FIRST
        | Opcode::RC_SEND_MIDDLE
        | Opcode::RC_SEND_LAST
        | Opcode::RC_SEND_ONLY
        | Opcode::RC_WRITE_MIDDLE
        | Opcode::RC_WRITE_LAST => bth.payload(),
        // An RETH is behind the BTH of the first packet alone, immediate data behind that of the last.
        Opcode::RC_WRITE_FIRST | Opcode::RC_WRITE_ONLY => {
            reth::View::new(bth.payload()).ok()?.payload()
        }
        Opcode::RC_SEND_LAST_IMMEDIATE
        | Opcode::RC_SEND_ONLY_IMMEDIATE
        | Opcode::RC_WRITE_LAST_IMMEDIATE => bth.payload().get(roce::IMMEDIATE_LEN..)?,
        Opcode::RC_WRITE_ONLY_IMMEDIATE => {
            reth::View::new(bth.payload()).ok()?.payload().get(roce::IMMEDIATE_LEN..)?
        }
        Opcode::RC_ACKNOWLEDGE => {
            let aeth = aeth::Repr::parse(bth.payload()).ok()?;
            return Some(Arrived::Answer(key, Answer::Roce { psn: bth.psn(), aeth }));
        }
        Opcode::CNP => {
            // Its fixed content is checked, because it slows a flow.
            let right = cnp::Repr::parse(ethertype, packet).is_ok();
            return right.then_some(Arrived::Answer(key, Answer::Cnp));
        }
        _ => return None,
    };
    let probe = Probe::parse(payload)?;
    let data = Data::Roce {
        qp: bth.dest_qp(),
        psn: bth.psn(),
        ack_request: bth.ack_request(),
        marked: ecn == Ecn::Ce,
    };
    Some(Arrived::Data(Arrival { probe, ecn }, Some(data)))
}

#[inline]
fn read_tcp(peer: Ipv4Addr, ecn: Ecn, octets: &[u8]) -> Option<Arrived> {
    let tcp = segment::View::new(octets).ok()?;
    // Data carries an ACK flag as well, so the probe decides.
    if let Some(probe) = Probe::parse(tcp.payload()) {
        let data = Data::Tcp { sequence: tcp.sequence() };
        return Some(Arrived::Data(Arrival { probe, ecn }, Some(data)));
    }
    let key = EndKey::ports(peer, tcp.src_port(), tcp.dst_port());
    let acknowledges = tcp.flags() & segment::flag::ACK != 0;
    acknowledges.then_some(Arrived::Answer(key, Answer::Tcp(tcp.acknowledgement())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FlowId;
    use ground::time::Instant;

    /// A common frame.
    fn frame(v6: bool, tagged: bool, ecn: u8, payload: usize) -> Vec<u8> {
        let datagram = udp::HEADER_LEN + payload;
        let mut f = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
        if tagged {
            f.extend([0x81, 0, 0x60, 7]);
        }
        if v6 {
            f.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0, 0, datagram as u8, 17, 64]);
            f.extend([0xfd; 32]);
        } else {
            f.extend([8, 0, 0x45, ecn, 0, (20 + datagram) as u8, 0, 0, 0x40, 0, 64, 17, 0, 0]);
            f.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        }
        f.extend([0xc0, 1, 0x13, 0x88, 0, datagram as u8, 0, 0]);
        let probe = Probe::new(FlowId(77), 0x1234_5678_9abc, Instant::from_picos(1 << 50 | 99));
        f.extend(probe.octets());
        f.resize(f.len() - PROBE_LEN + payload, 0);
        f
    }

    fn whole(frame: &[u8]) -> Option<Arrival> {
        Arrival::find(frame, &vlan::walk(frame).ok()?)
    }

    #[test]
    fn usual_frames_are_known_as_such() {
        for (v6, tagged) in [(false, false), (false, true), (true, false), (true, true)] {
            for ecn in 0..4 {
                let f = frame(v6, tagged, ecn, 18);
                let arrival = usual(&f, 0).unwrap();
                assert_eq!(usual(&f, 1), None);
                assert_eq!((arrival.probe.flow, arrival.ecn), (FlowId(77), Ecn::from_octet(ecn)));
                assert_eq!(Some(arrival), whole(&f));
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_found_in_short_is_found_at_length(
            v6: bool, tagged: bool, ecn in 0_u8..4, payload in 18_usize..60,
            changes in prop::collection::vec((0_usize..66, any::<u8>()), 0..4), cut in 0_usize..60,
        ) {
            let mut f = frame(v6, tagged, ecn, payload);
            f.truncate(f.len() - cut.min(f.len()) / 2);
            for (at, octet) in changes {
                if let Some(o) = f.get_mut(at) {
                    *o = octet;
                }
            }
            let run = whole(&f).map_or(0, |arrival| arrival.probe.run);
            if let Some(arrival) = usual(&f, run) {
                prop_assert_eq!(Some(arrival), whole(&f));
            }
        }

        #[test]
        fn a_probe_is_found_behind_anything(front in prop::collection::vec(any::<u8>(), 14..200)) {
            let probe = Probe::new(FlowId(9), 5, Instant::from_picos(77));
            let f = [&front[..], &probe.octets()].concat();
            if let Ok(walk) = vlan::walk(&f) {
                // Unless the walk parses part of it as tags.
                if walk.l3 <= front.len() {
                    prop_assert_eq!(Arrival::search(&f, &walk).unwrap().probe, probe);
                }
                prop_assert_eq!(Arrival::search(&f[..front.len()], &walk), None);
            }
        }
    }
}

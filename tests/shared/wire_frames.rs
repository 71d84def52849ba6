//! Frames of every format, made by the library under test from seeded random values.

use std::net::IpAddr;

use sluice::units::{Dscp, Mac, Pcp, Priority, Quanta, Vid};
use sluice::wire::checksum::Sum;
use sluice::wire::ip::{Ecn, Protocol};
use sluice::wire::roce::{Opcode, U24};
use sluice::wire::vlan::{self, Tpid};
use sluice::wire::{
    EtherType, arp, cnp, echo, ethernet, group, headroom, icrc, ipv4, ipv6, neighbour, pause, pfc,
    ptp, roce, tcp, udp,
};

#[path = "wire_congestion.rs"]
pub mod wire_congestion;
#[path = "wire_lldp.rs"]
mod wire_lldp;

/// Splitmix64: the only requirement is that a seed identifies a sequence.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn bool(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub fn octets(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    /// A unicast, locally administered address.
    fn mac(&mut self) -> Mac {
        let [a, b, c, d, e, ..] = self.next().to_be_bytes();
        Mac([0x02, a, b, c, d, e])
    }

    /// A port that no dissector takes for another protocol.
    fn port(&mut self) -> u16 {
        50_000 + self.below(10_000) as u16
    }

    fn address(&mut self, v6: bool) -> IpAddr {
        let n = self.next();
        if v6 {
            IpAddr::V6((0x2001_0db8 << 96 | u128::from(n)).into())
        } else {
            IpAddr::V4((0x0a00_0000 | (n as u32 & 0x00ff_ffff)).into())
        }
    }
}

/// Formats that [`frame`] makes.
pub const KINDS: [&str; 17] = [
    "pfc",
    "pause",
    "lldp",
    "arp",
    "ipv4-udp",
    "ipv4-tcp",
    "ipv4-options",
    "ipv6-udp",
    "ipv6-tcp",
    "ipv6-extension",
    "cnp",
    "roce-ipv4",
    "roce-ipv6",
    "echo4",
    "echo6",
    "solicitation",
    "advertisement",
];

/// Formats that stay on their link, which [`link_frame`] makes. They are never tagged.
pub const LINK_KINDS: [&str; 6] = [
    "headroom-request",
    "headroom-response",
    "headroom-both",
    "pdelay-req",
    "pdelay-resp",
    "pdelay-follow-up",
];

/// A whole frame of one of [`LINK_KINDS`].
pub fn link_frame(kind: &str, rng: &mut Rng) -> Vec<u8> {
    let request = headroom::Request { t1: rng.next(), psn: rng.next() as u8 };
    let (t1, t2, t3) = (rng.next(), rng.next(), rng.next());
    let psn = rng.next() as u8;
    let response = headroom::Response { t1, t2, t3, psn, compensation: None };
    let message = match kind {
        "headroom-request" => headroom::Message::Request(request),
        "headroom-response" => headroom::Message::Response(response),
        "headroom-both" => headroom::Message::Both { response, request },
        _ => return ptp_frame(kind, rng),
    };
    let repr = headroom::Repr { src: rng.mac(), dst: headroom::DESTINATION, message };
    let mut out = vec![0xff; headroom::Dialect::default().frame_len()];
    repr.emit(&mut out, &headroom::Dialect::default()).unwrap();
    out
}

fn ptp_frame(kind: &str, rng: &mut Rng) -> Vec<u8> {
    let src = rng.mac();
    let requesting = ptp::PortIdentity::of(rng.mac());
    let time = ptp::Timestamp { seconds: rng.next() >> 16, nanos: rng.below(1_000_000_000) as u32 };
    let body = match kind {
        "pdelay-req" => ptp::Body::PdelayReq,
        "pdelay-resp" => ptp::Body::PdelayResp { receipt: time, requesting },
        "pdelay-follow-up" => ptp::Body::PdelayRespFollowUp { origin: time, requesting },
        _ => panic!("no such kind: {kind}"),
    };
    let message = ptp::Message {
        major_sdo_id: rng.below(2) as u8,
        minor_sdo_id: 0,
        domain: rng.below(128) as u8,
        two_step: kind == "pdelay-resp",
        // Few enough bits below the nanosecond that a judge can print them all.
        correction: ptp::Correction(rng.next() as i64 >> 24 & !0x3f),
        source: ptp::PortIdentity::of(src),
        sequence: rng.next() as u16,
        body,
    };
    let repr = ptp::Repr { src, dst: ptp::DESTINATION, message };
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

/// A whole frame of one of [`KINDS`], padded to 60 bytes and, where that is allowed, with up to two
/// VLAN tags.
pub fn frame(kind: &str, rng: &mut Rng) -> Vec<u8> {
    let (ethertype, packet) = match kind {
        "pfc" => return pfc_frame(rng),
        "pause" => return pause_frame(rng),
        "lldp" => return wire_lldp::frame(rng),
        "arp" => (EtherType::ARP, arp_message(rng)),
        "ipv4-udp" => (EtherType::IPV4, ip_packet(rng, false, &[], &[], Protocol::UDP)),
        "ipv4-tcp" => (EtherType::IPV4, ip_packet(rng, false, &[], &[], Protocol::TCP)),
        // Router alert (RFC 2113).
        "ipv4-options" => {
            (EtherType::IPV4, ip_packet(rng, false, &[0x94, 4, 0, 0], &[], Protocol::UDP))
        }
        "ipv6-udp" => (EtherType::IPV6, ip_packet(rng, true, &[], &[], Protocol::UDP)),
        "ipv6-tcp" => (EtherType::IPV6, ip_packet(rng, true, &[], &[], Protocol::TCP)),
        // Destination options: one option of padding, four bytes of content.
        "ipv6-extension" => {
            let extension = [Protocol::UDP.0, 0, 1, 4, 0, 0, 0, 0];
            (EtherType::IPV6, ip_packet(rng, true, &[], &extension, Protocol::UDP))
        }
        "cnp" => cnp_packet(rng),
        "roce-ipv4" => (EtherType::IPV4, roce_packet(rng, false)),
        "roce-ipv6" => (EtherType::IPV6, roce_packet(rng, true)),
        "echo4" => (EtherType::IPV4, echo_packet(rng, false)),
        "echo6" => (EtherType::IPV6, echo_packet(rng, true)),
        "solicitation" => (EtherType::IPV6, neighbour_packet(rng, neighbour::Kind::Solicitation)),
        "advertisement" => {
            let (router, solicited, overrides) = (rng.bool(), rng.bool(), rng.bool());
            let kind = neighbour::Kind::Advertisement { router, solicited, overrides };
            (EtherType::IPV6, neighbour_packet(rng, kind))
        }
        _ => panic!("no such kind: {kind}"),
    };
    let header = ethernet::Repr { dst: rng.mac(), src: rng.mac(), ethertype };
    let mut out = vec![0; header.buffer_len()];
    header.emit(&mut out).unwrap();
    out.extend(packet);
    out.resize(out.len().max(ethernet::MIN_FRAME), 0);
    for _ in 0..rng.below(3) {
        out.splice(..0, [0; vlan::TAG_LEN]);
        vlan::insert(&mut out, &tag(rng)).unwrap();
    }
    out
}

pub fn tag(rng: &mut Rng) -> vlan::Repr {
    vlan::Repr {
        tpid: if rng.bool() { Tpid::C } else { Tpid::S },
        pcp: Pcp::new(rng.below(8) as u8).unwrap(),
        dei: rng.bool(),
        vid: Vid::new(rng.below(4095) as u16),
    }
}

fn pfc_frame(rng: &mut Rng) -> Vec<u8> {
    let mut repr = pfc::Repr::new(rng.mac());
    for p in Priority::ALL {
        if rng.bool() {
            repr.set(p, Quanta(rng.next() as u16));
        }
    }
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

fn pause_frame(rng: &mut Rng) -> Vec<u8> {
    let dst = if rng.bool() { group::MAC_CONTROL } else { rng.mac() };
    let repr = pause::Repr { dst, src: rng.mac(), time: Quanta(rng.next() as u16) };
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

fn arp_message(rng: &mut Rng) -> Vec<u8> {
    let IpAddr::V4(ip) = rng.address(false) else { unreachable!() };
    let IpAddr::V4(target) = rng.address(false) else { unreachable!() };
    let request = arp::Repr::request(rng.mac(), ip, target);
    let repr = if rng.bool() { request } else { request.answer(rng.mac()).unwrap() };
    let mut out = vec![0; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

/// An IP header with random values in all free fields.
fn ip_header(
    rng: &mut Rng,
    v6: bool,
    options: &[u8],
    next: Protocol,
    len: usize,
) -> (Vec<u8>, IpAddr, IpAddr) {
    let (src, dst) = (rng.address(v6), rng.address(v6));
    let (dscp, ecn) = (Dscp::new(rng.below(64) as u8).unwrap(), Ecn::from_octet(rng.next() as u8));
    let (ttl, payload_len) = (64 + rng.below(192) as u8, len as u16);
    let mut out = vec![0; if v6 { 40 } else { 20 + options.len() }];
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let repr = ipv4::Repr {
                dscp,
                ecn,
                identification: rng.next() as u16,
                dont_fragment: rng.bool(),
                more_fragments: false,
                fragment_offset: 0,
                ttl,
                protocol: next,
                src,
                dst,
                options,
                payload_len,
            };
            repr.emit(&mut out).unwrap();
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let flow_label = rng.next() as u32 & ipv6::FLOW_LABEL_MAX;
            let repr = ipv6::Repr {
                dscp,
                ecn,
                flow_label,
                payload_len,
                next_header: next,
                hop_limit: ttl,
                src,
                dst,
            };
            repr.emit(&mut out).unwrap();
        }
        _ => unreachable!(),
    }
    (out, src, dst)
}

fn ip_packet(
    rng: &mut Rng,
    v6: bool,
    options: &[u8],
    extension: &[u8],
    protocol: Protocol,
) -> Vec<u8> {
    let payload = rng.below(100);
    let payload = rng.octets(payload);
    let next = if extension.is_empty() { protocol } else { Protocol(60) };
    let upper_len = payload.len() + if protocol == Protocol::TCP { 20 } else { 8 };
    let (mut out, src, dst) = ip_header(rng, v6, options, next, extension.len() + upper_len);
    out.extend(extension);
    let mut upper = vec![0; upper_len - payload.len()];
    let (src_port, dst_port) = (rng.port(), rng.port());
    if protocol == Protocol::TCP {
        tcp::Repr { src_port, dst_port }.emit(&mut upper).unwrap();
        // A header of five words, acknowledging nothing new, with a window.
        upper[12..16].copy_from_slice(&[0x50, 0x10, 0x20, 0x00]);
    } else {
        let payload_len = payload.len() as u16;
        let header = udp::Repr { src_port, dst_port, payload_len, checksum: 0 };
        header.emit(&mut upper).unwrap();
    }
    upper.extend(payload);
    if protocol == Protocol::TCP {
        let sum = Sum::default().pseudo(src, dst, protocol.0, upper_len as u16).octets(&upper);
        upper[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    } else {
        udp::set_checksum(&mut upper, src, dst).unwrap();
    }
    out.extend(upper);
    out
}

fn echo_packet(rng: &mut Rng, v6: bool) -> Vec<u8> {
    let data = rng.below(100);
    let data = rng.octets(data);
    let operation = if rng.bool() { echo::Operation::Request } else { echo::Operation::Reply };
    let (identifier, sequence) = (rng.next() as u16, rng.next() as u16);
    let repr = echo::Repr { operation, identifier, sequence, data: &data };
    let next = if v6 { Protocol::ICMPV6 } else { Protocol::ICMP };
    let (mut out, src, dst) = ip_header(rng, v6, &[], next, repr.buffer_len());
    let at = out.len();
    out.resize(at + repr.buffer_len(), 0);
    repr.emit(src, dst, &mut out[at..]).unwrap();
    out
}

fn neighbour_packet(rng: &mut Rng, kind: neighbour::Kind) -> Vec<u8> {
    let mut address = || match rng.address(true) {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => unreachable!(),
    };
    let (src, target, asker) = (address(), address(), address());
    let dst = match kind {
        neighbour::Kind::Solicitation => neighbour::solicited_node(target),
        neighbour::Kind::Advertisement { .. } => asker,
    };
    let repr = neighbour::Repr { kind, target, link_layer: Some(rng.mac()) };
    let mut out = vec![0; repr.buffer_len()];
    repr.emit(src, dst, &mut out).unwrap();
    out
}

fn cnp_packet(rng: &mut Rng) -> (EtherType, Vec<u8>) {
    let v6 = rng.bool();
    let repr = cnp::Repr {
        src: rng.address(v6),
        dst: rng.address(v6),
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::Ect0,
        ttl: 64,
        identification: if v6 { 0 } else { rng.next() as u16 },
        src_port: rng.port(),
        p_key: roce::DEFAULT_P_KEY,
        dest_qp: U24::new(rng.next() as u32 & 0xff_ffff).unwrap(),
    };
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    (repr.ethertype(), out)
}

/// An unreliable SEND of up to 64 bytes, padded to a multiple of four.
fn roce_packet(rng: &mut Rng, v6: bool) -> Vec<u8> {
    let payload = rng.below(65);
    let mut payload = rng.octets(payload);
    let pad_count = payload.len().next_multiple_of(4) - payload.len();
    payload.resize(payload.len() + pad_count, 0);
    let payload_len = roce::BTH_LEN + payload.len() + icrc::LEN;
    let (mut out, ..) = ip_header(rng, v6, &[], Protocol::UDP, udp::HEADER_LEN + payload_len);
    let at = out.len();
    out.resize(at + udp::HEADER_LEN + roce::BTH_LEN, 0);
    let (src_port, dst_port) = (rng.port(), roce::UDP_PORT);
    udp::Repr { src_port, dst_port, payload_len: payload_len as u16, checksum: 0 }
        .emit(&mut out[at..])
        .unwrap();
    let (dest_qp, psn) = (rng.next() as u32 & 0xff_ffff, rng.next() as u32 & 0xff_ffff);
    let bth = roce::Repr {
        pad_count: pad_count as u8,
        solicited: rng.bool(),
        migrated: rng.bool(),
        ack_request: rng.bool(),
        fecn: rng.bool(),
        ..roce::Repr::new(Opcode::UC_SEND_ONLY, U24::new(dest_qp).unwrap(), U24::new(psn).unwrap())
    };
    bth.emit(&mut out[at + udp::HEADER_LEN..]).unwrap();
    out.extend(payload);
    out.extend([0; icrc::LEN]);
    icrc::seal(&mut out).unwrap();
    out
}

//! Packets of TCP and UDP for tests, as a kernel hands them over.

use proptest::prelude::*;

use crate::headers::{Headers, Transport, put16, put32};
use crate::offload::{Offload, SegmentKind, Segments, Unfinished};

/// What a packet is made of.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) tags: usize,
    pub(crate) is_ipv6: bool,
    /// Octets of extension headers of IPv6, in units of 8, or of options of IPv4, in units of 4.
    pub(crate) extras: usize,
    pub(crate) is_udp: bool,
    /// Words of options of TCP.
    pub(crate) options: usize,
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) identification: u16,
    pub(crate) payload: usize,
    /// Octets of payload for each frame; 0 for a packet that is one frame, with an unfinished checksum.
    pub(crate) size: usize,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            tags: 0,
            is_ipv6: false,
            extras: 0,
            is_udp: false,
            options: 0,
            flags: 0x10,
            sequence: 0xffff_fe00,
            identification: 0xfffe,
            payload: 100,
            size: 0,
        }
    }
}

pub(crate) struct Packet {
    pub(crate) packet: Vec<u8>,
    pub(crate) offload: Offload,
}

pub(crate) fn made(of: &Made) -> Packet {
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for _ in 0..of.tags {
        packet.extend([0x81, 0, 0x60, 5]);
    }
    let protocol = if of.is_udp { 17 } else { 6 };
    if of.is_ipv6 {
        packet.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0]);
        packet.extend([if of.extras > 0 { 0 } else { protocol }, 64]);
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        if of.extras > 0 {
            packet.extend([protocol, of.extras as u8 - 1]);
            packet.resize(packet.len() + of.extras * 8 - 2, 0);
        }
    } else {
        packet.extend([8, 0, 0x45 + of.extras as u8, 2, 0, 0]);
        packet.extend(of.identification.to_be_bytes());
        packet.extend([0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.resize(packet.len() + of.extras * 4, 1);
    }
    let l4 = packet.len();
    packet.extend([0x1f, 0x90, 0xd4, 0x31]);
    if of.is_udp {
        packet.extend([0, 0, 0, 0]);
    } else {
        packet.extend([0; 4]);
        put32(&mut packet, l4 + 4, of.sequence);
        packet.extend([0, 0, 0, 7, (5 + of.options as u8) << 4, of.flags, 1, 0, 0, 0, 0, 0]);
        packet.resize(packet.len() + of.options * 4, 1);
    }
    packet.extend((0..of.payload).map(|n| (n * 7 + n / 251) as u8));
    let headers = Headers::of(&packet).expect("the headers are whole");
    let len = packet.len();
    headers.set_lengths(&mut packet, len);
    headers.finish_ip(&mut packet);
    let at = headers.transport.checksum_at();
    let sum = !headers.pseudo(&packet, len - l4).finish();
    put16(&mut packet, l4 + at, sum);
    let kind = match headers.transport {
        Transport::Udp => SegmentKind::Udp,
        Transport::Tcp if of.is_ipv6 => SegmentKind::TcpIpv6,
        Transport::Tcp => SegmentKind::TcpIpv4,
    };
    let offload = Offload {
        unfinished: Some(Unfinished { start: l4 as u16, offset: at as u16 }),
        is_verified: false,
        segments: (of.size > 0).then_some(Segments { kind, size: of.size as u16 }),
        header_len: headers.payload as u16,
    };
    Packet { packet, offload }
}

prop_compose! {
    pub(crate) fn any_made()(
        (tags, is_ipv6, extras) in (0..3_usize, any::<bool>(), 0..4_usize),
        (is_udp, options, flags) in (any::<bool>(), 0..11_usize, any::<u8>()),
        (sequence, identification) in any::<(u32, u16)>(),
        payload in 1..60_000_usize,
        size in prop_oneof![Just(0_usize), 1..3_usize, 500..9_000_usize],
    ) -> Made {
        let payload = if (1..3).contains(&size) { payload % 500 + 1 } else { payload };
        Made { tags, is_ipv6, extras, is_udp, options, flags, sequence, identification, payload, size }
    }
}

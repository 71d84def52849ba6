//! Flows of packets: the 5-tuple of addresses, protocol and ports.
//!
//! Every packet of one datagram has the same tuple, so that fragments stay in order: a fragment,
//! even the first, counts as having no ports.

use core::fmt;
use core::net::IpAddr;

use super::ip::{self, Fragment, Protocol, Upper};
use super::{be16, ipv4, tcp, udp, vlan};

/// A flow's addresses, protocol and ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FiveTuple {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Upper protocol.
    pub protocol: Protocol,
    /// Source port; 0 without ports.
    pub src_port: u16,
    /// Destination port; 0 without ports.
    pub dst_port: u16,
}

/// Bytes of an IPv4 header without options and of a UDP header.
pub const PLAIN: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;

impl FiveTuple {
    /// Returns the flow of an IP packet. With too many or truncated extension headers, the protocol
    /// is IPv6's next header and there are no ports.
    #[must_use]
    #[inline]
    pub fn of(packet: &ip::View<'_>) -> Self {
        let (protocol, ports) = match (packet.upper(), packet) {
            (Ok(upper), _) => (upper.protocol, ports(&upper)),
            (Err(_), ip::View::V4(v)) => (v.protocol(), None),
            // Too many extension headers, or truncated ones; the addresses still identify the flow.
            (Err(_), ip::View::V6(v)) => (v.next_header(), None),
        };
        let (src_port, dst_port) = ports.unwrap_or_default();
        Self { src: packet.src(), dst: packet.dst(), protocol, src_port, dst_port }
    }

    /// Fast path of [`Self::of_frame`] for an unfragmented TCP segment or UDP datagram in IPv4
    /// without options, with one C-tag or none. Also returns the offset of the segment or datagram
    /// in the frame. `None` for all other frames.
    #[must_use]
    #[inline]
    pub fn of_usual(frame: &[u8]) -> Option<(Self, usize)> {
        // A shorter untagged frame is left to the full parser.
        let f = frame.first_chunk::<{ 18 + PLAIN }>()?;
        let tagged = f[12..14] == [0x81, 0];
        let (ethertype, h): (_, &[u8]) =
            if tagged { (&f[16..18], &f[18..]) } else { (&f[12..14], &f[14..14 + PLAIN]) };
        let h: &[u8; PLAIN] = h.first_chunk()?;
        // VID 4095 is refused by `vlan::walk`, and both ways must agree.
        let reserved_vid = tagged && f[14] & 0xf == 0xf && f[15] == 0xff;
        // 0x45: version 4, a header of five words.
        if *ethertype != [0x08, 0] || h[0] != 0x45 || reserved_vid {
            return None;
        }
        let upper = if tagged { 18 } else { 14 } + ipv4::HEADER_LEN;
        Some((Self::of_plain(h)?, upper))
    }

    /// As [`Self::of_usual`], from the start of an IPv4 header without options.
    #[must_use]
    #[inline(always)]
    pub fn of_plain(h: &[u8; PLAIN]) -> Option<Self> {
        // No more fragments and no offset.
        let whole = be16(h, 6) & 0x3fff == 0;
        let protocol = Protocol(h[9]);
        let ported = match protocol {
            // The UDP view refuses a length below its header, and then the flow has no ports.
            Protocol::UDP => usize::from(be16(h, 24)) >= udp::HEADER_LEN,
            other => other == Protocol::TCP,
        };
        if !(whole && ported) || usize::from(be16(h, 2)) < PLAIN {
            return None;
        }
        let address = |offset: usize| {
            IpAddr::V4([h[offset], h[offset + 1], h[offset + 2], h[offset + 3]].into())
        };
        let (src, dst) = (address(12), address(16));
        Some(Self { src, dst, protocol, src_port: be16(h, 20), dst_port: be16(h, 22) })
    }

    /// Returns the flow of a whole frame with its VLAN tags, or `None` if it is not an IP packet.
    #[must_use]
    #[inline]
    pub fn of_frame(frame: &[u8]) -> Option<Self> {
        let walk = vlan::walk(frame).ok()?;
        let packet = ip::View::new(walk.ethertype, &frame[walk.l3..]).ok()?;
        Some(Self::of(&packet))
    }
}

/// Returns the ports of an unfragmented TCP segment or UDP datagram.
#[must_use]
#[inline]
pub fn ports(upper: &Upper<'_>) -> Option<(u16, u16)> {
    // Later fragments have no ports. The first one counts as they do, so that all stay in one flow.
    if upper.fragment != Fragment::Whole {
        return None;
    }
    match upper.protocol {
        Protocol::TCP => tcp::View::new(upper.payload).ok().map(|v| (v.src_port(), v.dst_port())),
        Protocol::UDP => udp::View::new(upper.payload).ok().map(|v| (v.src_port(), v.dst_port())),
        _ => None,
    }
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (self.src, self.dst);
        match (self.src_port, self.dst_port) {
            (0, 0) => write!(f, "{} {src} > {dst}", self.protocol),
            (s, d) => write!(f, "{} {src} port {s} > {dst} port {d}", self.protocol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EtherType, ipv4};

    fn packet(protocol: Protocol, fragment_offset: u16, more_fragments: bool) -> Vec<u8> {
        let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let (dont_fragment, payload_len) = (false, 20);
        let repr = ipv4::Repr { src, dst, dont_fragment, payload_len, ..ipv4::tests::golden() };
        let mut out = vec![0; 40];
        ipv4::Repr { protocol, fragment_offset, more_fragments, ..repr }.emit(&mut out).unwrap();
        out[20..28].copy_from_slice(&[0, 7, 0, 9, 0, 20, 0, 0]);
        out
    }

    fn text(packet: &[u8]) -> String {
        FiveTuple::of(&ip::View::new(EtherType::IPV4, packet).unwrap()).to_string()
    }

    #[test]
    fn tcp_and_udp_have_ports_and_others_none() {
        let of = |p| text(&packet(p, 0, false));
        assert_eq!(of(Protocol::TCP), "tcp 10.0.0.1 port 7 > 10.0.0.2 port 9");
        assert_eq!(of(Protocol::UDP), "udp 10.0.0.1 port 7 > 10.0.0.2 port 9");
        assert_eq!(of(Protocol::ICMP), "icmp 10.0.0.1 > 10.0.0.2");
    }

    #[test]
    fn all_fragments_of_a_datagram_are_one_flow() {
        let first = text(&packet(Protocol::UDP, 0, true));
        assert_eq!(first, "udp 10.0.0.1 > 10.0.0.2");
        assert_eq!(first, text(&packet(Protocol::UDP, 2, true)));
        assert_eq!(first, text(&packet(Protocol::UDP, 4, false)));
    }

    #[test]
    fn a_header_cut_short_has_no_ports() {
        let p = packet(Protocol::UDP, 0, false);
        for n in 20..28 {
            assert_eq!(text(&p[..n]), "udp 10.0.0.1 > 10.0.0.2");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_few_loads_say_is_what_reading_says(
            tag in 0..4_u8,
            vid: u16,
            protocol in proptest::sample::select(vec![6, 17, 1, 0]),
            flags in proptest::sample::select(vec![0_u16, 0x4000, 0x8000, 0x2000, 1]),
            version in proptest::sample::select(vec![0x45_u8, 0x46, 0x44, 0x65]),
            total in 0..80_u16,
            udp_len in 0..60_u16,
            cut in 0..90_usize,
            octets in proptest::collection::vec(proptest::prelude::any::<u8>(), 60),
        ) {
            let mut frame = octets[..12].to_vec();
            let vid = if vid & 7 == 0 { 0xfff } else { vid };
            match tag {
                0 => {}
                1 => frame.extend([0x81, 0, (vid >> 8) as u8, vid as u8]),
                2 => frame.extend([0x88, 0xa8, 0, 1]),
                _ => frame.extend([0x81, 0, 0, 1, 0x81, 0, 0, 2]),
            }
            frame.extend(if vid & 0x70 == 0 { [0x86, 0xdd] } else { [8, 0] });
            let l3 = frame.len();
            frame.extend(&octets[12..]);
            (frame[l3], frame[l3 + 9]) = (version, protocol);
            frame[l3 + 2..l3 + 4].copy_from_slice(&total.to_be_bytes());
            frame[l3 + 6..l3 + 8].copy_from_slice(&flags.to_be_bytes());
            frame[l3 + 24..l3 + 26].copy_from_slice(&udp_len.to_be_bytes());
            frame.truncate(cut);
            let usual = FiveTuple::of_usual(&frame).map(|(flow, _)| flow);
            proptest::prop_assert!(usual.is_none() || usual == FiveTuple::of_frame(&frame));
        }
    }

    #[test]
    fn whole_segments_and_datagrams_in_plain_ipv4_are_usual() {
        for protocol in [Protocol::TCP, Protocol::UDP] {
            for tag in [&[][..], &[0x81, 0, 0, 5]] {
                let frame = [&[2; 12][..], tag, &[8, 0], &packet(protocol, 0, false)].concat();
                let (usual, upper) = FiveTuple::of_usual(&frame).expect("a usual frame");
                assert_eq!(Some(usual), FiveTuple::of_frame(&frame), "{frame:?}");
                assert_eq!(frame[upper..upper + 4], [0, 7, 0, 9]);
            }
        }
    }

    #[test]
    fn frames_are_read_through_their_tags() {
        let frame = [&[2; 12][..], &[0x81, 0, 0, 5, 0x08, 0], &packet(Protocol::TCP, 0, false)];
        let mut frame = frame.concat();
        assert_eq!(FiveTuple::of_frame(&frame).unwrap().dst_port, 9);
        frame[17] = 6;
        assert_eq!(FiveTuple::of_frame(&frame), None);
    }
}

//! A whole UDP datagram with its IP header, the form of control messages between switches (CIM,
//! SFCM): never fragmented, and always with a checksum.
//!
//! A receiver of such a message stops traffic, so the checks are stricter than for forwarding: the
//! datagram must be complete, and each checksum correct.

use core::fmt;
use core::net::IpAddr;

use super::flow::FiveTuple;
use super::ip::{self, Ecn, Fragment, Protocol};
use super::{EtherType, WireError, ipv4, ipv6, udp};
use ground::units::Dscp;

/// Maximum length of the emitted headers: those over IPv6.
pub const HEADERS_MAX: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;

/// The IP and UDP headers of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Source address.
    pub src: IpAddr,
    /// Destination address. Same IP version as `src`.
    pub dst: IpAddr,
    /// Differentiated services code point.
    pub dscp: Dscp,
    /// ECN code point.
    pub ecn: Ecn,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// UDP source port.
    pub src_port: u16,
    /// UDP destination port.
    pub dst_port: u16,
}

impl Repr {
    /// Parses the headers of `packet`, which follows `ethertype`, and returns them with the
    /// payload.
    ///
    /// # Errors
    /// As the views of the headers; [`WireError::BadChecksum`] for a wrong checksum of IPv4 or UDP,
    /// and for none over IPv6; [`WireError::Unsupported`] for a fragment or another protocol;
    /// [`WireError::BadLength`] where UDP's length is more than the packet's,
    /// [`WireError::Truncated`] where bytes of the datagram are missing.
    pub fn parse(ethertype: EtherType, packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let ip = ip::View::new(ethertype, packet)?;
        if matches!(&ip, ip::View::V4(v) if !v.checksum_ok()) {
            return Err(WireError::BadChecksum);
        }
        // Without all bytes the UDP checksum cannot be verified.
        if packet.len() < ip.total_len() {
            return Err(WireError::Truncated);
        }
        let upper = ip.upper()?;
        // A switch sends its messages whole, and a fragment has no checksum that could be verified.
        if upper.fragment != Fragment::Whole || upper.protocol != Protocol::UDP {
            return Err(WireError::Unsupported);
        }
        let udp = udp::View::new(upper.payload)?;
        if usize::from(udp.len()) > upper.payload.len() {
            return Err(WireError::BadLength);
        }
        // RFC 8200 8.1; the exception of RFC 6936 is for tunnels.
        let absent = udp.checksum() == 0 && matches!(ip, ip::View::V6(_));
        if absent || !udp.checksum_ok(ip.src(), ip.dst())? {
            return Err(WireError::BadChecksum);
        }
        let repr = Self {
            src: ip.src(),
            dst: ip.dst(),
            dscp: ip.dscp(),
            ecn: ip.ecn(),
            ttl: ip.ttl(),
            src_port: udp.src_port(),
            dst_port: udp.dst_port(),
        };
        Ok((repr, udp.payload()))
    }

    /// Returns true if datagrams of `flow` have the same UDP destination port as this message, at
    /// any address.
    #[must_use]
    pub fn carries(&self, flow: &FiveTuple) -> bool {
        flow.protocol == Protocol::UDP && flow.dst_port == self.dst_port
    }

    /// Returns the EtherType that precedes the packet.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        match self.dst {
            IpAddr::V4(_) => EtherType::IPV4,
            IpAddr::V6(_) => EtherType::IPV6,
        }
    }

    /// Returns the length of the IP header.
    pub(super) const fn ip_len(&self) -> usize {
        match self.dst {
            IpAddr::V4(_) => ipv4::HEADER_LEN,
            IpAddr::V6(_) => ipv6::HEADER_LEN,
        }
    }

    /// Returns the length of the headers: 28 over IPv4, 48 over IPv6.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        self.ip_len() + udp::HEADER_LEN
    }

    /// Writes the headers, checksums included, in front of the payload that is already in `packet`,
    /// behind the first [`Repr::header_len`] bytes and up to its end.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for addresses of different versions or a payload above the maximum
    /// of a datagram, [`WireError::NoRoom`] if not even the headers fit.
    pub fn emit(&self, packet: &mut [u8]) -> Result<(), WireError> {
        let payload = packet.len().checked_sub(self.header_len()).ok_or(WireError::NoRoom)?;
        let payload_len = u16::try_from(payload).map_err(|_| WireError::OutOfRange)?;
        let (src_port, dst_port) = (self.src_port, self.dst_port);
        let udp = udp::Repr { src_port, dst_port, payload_len, checksum: 0 };
        let upper_len =
            payload_len.checked_add(udp::HEADER_LEN as u16).ok_or(WireError::OutOfRange)?;
        // Unfragmented packets need no identification (RFC 6864 4.1).
        self.emit_ip(0, upper_len, packet)?;
        let datagram = &mut packet[self.ip_len()..];
        udp.emit(datagram)?;
        udp::set_checksum(datagram, self.src, self.dst)
    }

    /// Writes the IP header in front of `payload_len` bytes of UDP; IPv6 has no `identification`.
    pub(super) fn emit_ip(
        &self,
        identification: u16,
        payload_len: u16,
        out: &mut [u8],
    ) -> Result<(), WireError> {
        let (dscp, ecn) = (self.dscp, self.ecn);
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = ipv4::Repr {
                    dscp,
                    ecn,
                    identification,
                    // A fragment would be refused by the receiver.
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: self.ttl,
                    protocol: Protocol::UDP,
                    src,
                    dst,
                    options: &[],
                    payload_len,
                };
                header.emit(out)
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let header = ipv6::Repr {
                    dscp,
                    ecn,
                    // 0 is a packet without a label (RFC 8200 section 6).
                    flow_label: 0,
                    payload_len,
                    next_header: Protocol::UDP,
                    hop_limit: self.ttl,
                    src,
                    dst,
                };
                header.emit(out)
            }
            _ => Err(WireError::OutOfRange),
        }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { src, dst, dscp, src_port, dst_port, .. } = self;
        write!(f, "{src} port {src_port} > {dst} port {dst_port} dscp {dscp}")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns headers of both versions with `port` on both sides, or any ports if `None`.
    pub(crate) fn headers(port: Option<u16>) -> impl Strategy<Value = Repr> {
        (any::<(u128, u128, bool)>(), (0_u8..64, any::<u8>(), any::<u8>()), any::<(u16, u16)>())
            .prop_map(move |((src, dst, v6), (dscp, ecn, ttl), ports)| {
                let address = |a: u128| {
                    if v6 { IpAddr::V6(a.into()) } else { IpAddr::V4((a as u32).into()) }
                };
                let (src_port, dst_port) = port.map_or(ports, |port| (port, port));
                Repr {
                    src: address(src),
                    dst: address(dst),
                    dscp: Dscp::new(dscp).unwrap(),
                    ecn: Ecn::from_octet(ecn),
                    ttl,
                    src_port,
                    dst_port,
                }
            })
    }

    fn golden() -> Repr {
        Repr {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            dscp: Dscp::new(48).unwrap(),
            ecn: Ecn::NotEct,
            ttl: 64,
            src_port: 12345,
            dst_port: 4791,
        }
    }

    fn emitted(repr: &Repr, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xff; repr.header_len()];
        packet.extend(payload);
        repr.emit(&mut packet).unwrap();
        packet
    }

    #[test]
    fn golden_bytes() {
        // The UDP part is the one of `udp`'s golden bytes, which scapy made.
        let want = [
            0x45, 0xc0, 0, 30, 0, 0, 0x40, 0, 64, 17, 0x26, 0x0d, 10, 0, 0, 1, 10, 0, 0, 2, 0x30,
            0x39, 0x12, 0xb7, 0, 10, 0x47, 0x85, 0x61, 0x62,
        ];
        assert_eq!(emitted(&golden(), b"ab"), want);
        assert_eq!(Repr::parse(EtherType::IPV4, &want), Ok((golden(), &b"ab"[..])));
        assert_eq!(golden().to_string(), "10.0.0.1 port 12345 > 10.0.0.2 port 4791 dscp 48");
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let good = emitted(&golden(), b"ab");
        for (at, octet, error) in [
            (0, 0x65, WireError::BadVersion),
            (8, 63, WireError::BadChecksum),
            (29, 0, WireError::BadChecksum),
            (25, 11, WireError::BadLength),
            (25, 7, WireError::BadLength),
        ] {
            let mut bad = good.clone();
            bad[at] = octet;
            assert_eq!(Repr::parse(EtherType::IPV4, &bad), Err(error), "octet {at}");
        }
        assert_eq!(Repr::parse(EtherType::ARP, &good), Err(WireError::BadEthertype));
        for (protocol, fragment_offset, more_fragments) in
            [(Protocol::TCP, 0, false), (Protocol::UDP, 1, false), (Protocol::UDP, 0, true)]
        {
            let mut bad = good.clone();
            let header = ipv4::Repr::parse(&good).unwrap();
            let header = ipv4::Repr { protocol, fragment_offset, more_fragments, ..header };
            header.emit(&mut bad).unwrap();
            assert_eq!(Repr::parse(EtherType::IPV4, &bad), Err(WireError::Unsupported));
        }
        let two = Repr { src: "::1".parse().unwrap(), ..golden() };
        assert_eq!(two.emit(&mut [0; 60]), Err(WireError::OutOfRange));
        assert_eq!(golden().emit(&mut vec![0; 70_000]), Err(WireError::OutOfRange));
        assert_eq!(golden().emit(&mut vec![0; 28 + 65_530]), Err(WireError::OutOfRange));
    }

    #[test]
    fn a_checksum_may_be_missing_over_ipv4_alone() {
        let mut packet = emitted(&golden(), b"ab");
        packet[26..28].fill(0);
        assert_eq!(Repr::parse(EtherType::IPV4, &packet), Ok((golden(), &b"ab"[..])));
        let loopback: IpAddr = "::1".parse().unwrap();
        let repr = Repr { src: loopback, dst: loopback, ..golden() };
        let mut packet = emitted(&repr, b"ab");
        assert_eq!(Repr::parse(EtherType::IPV6, &packet), Ok((repr, &b"ab"[..])));
        packet[46..48].fill(0);
        assert_eq!(Repr::parse(EtherType::IPV6, &packet), Err(WireError::BadChecksum));
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same_and_every_truncation_is_refused(
            repr in headers(None), payload in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let packet = emitted(&repr, &payload);
            prop_assert_eq!(Repr::parse(repr.ethertype(), &packet), Ok((repr, &payload[..])));
            let padded = [&packet[..], &[0xee; 9]].concat();
            prop_assert_eq!(Repr::parse(repr.ethertype(), &padded), Ok((repr, &payload[..])));
            for n in 0..packet.len() {
                let cut = Repr::parse(repr.ethertype(), &packet[..n]);
                prop_assert_eq!(cut, Err(WireError::Truncated), "{}", n);
            }
            for n in 0..repr.header_len() {
                prop_assert_eq!(repr.emit(&mut vec![0; n]), Err(WireError::NoRoom));
            }
        }

        #[test]
        fn any_single_change_is_noticed(
            repr in headers(None), payload in prop::collection::vec(any::<u8>(), 0..80),
            at in any::<prop::sample::Index>(), flip in 1_u8..255,
        ) {
            let mut packet = emitted(&repr, &payload);
            // Over IPv6 the bytes before the length, and the hop limit, are not covered by a
            // checksum.
            let from = if repr.dst.is_ipv6() { 8 } else { 0 };
            let at = from + at.index(packet.len() - from);
            packet[at] ^= flip;
            // Clearing both bytes of a checksum over IPv4 means that there is none.
            prop_assume!(repr.dst.is_ipv6() || packet[26..28] != [0, 0]);
            prop_assert!(Repr::parse(repr.ethertype(), &packet).is_err());
        }
    }
}

//! Congestion notification packets of RoCEv2 (InfiniBand Annex A17.9.3): a receiver of CE marks
//! asks the sender to reduce its rate.
//!
//! A CNP is encoded as a whole packet, from the IP header to the ICRC, since only addresses,
//! marking and the queue pair vary.

use core::fmt;
use core::net::IpAddr;

use super::ip::{Ecn, Protocol};
use super::roce::{self, Opcode, U24};
use super::{EtherType, WireError, datagram, icrc, ip, ipv4, udp};
use ground::units::Dscp;

/// Bytes of zeros between BTH and ICRC.
const RESERVED_LEN: usize = 16;

/// Bytes of the UDP payload: BTH, reserved bytes, ICRC.
pub const PAYLOAD_LEN: usize = roce::BTH_LEN + RESERVED_LEN + icrc::LEN;

/// A congestion notification packet with its IP and UDP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Receiver of the CE mark.
    pub src: IpAddr,
    /// Sender that is to reduce its rate. Same IP version as `src`.
    pub dst: IpAddr,
    /// Differentiated services code point.
    pub dscp: Dscp,
    /// ECN code point of the notification itself.
    pub ecn: Ecn,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// IPv4 identification; 0 over IPv6.
    pub identification: u16,
    /// UDP source port.
    pub src_port: u16,
    /// Partition key.
    pub p_key: u16,
    /// Queue pair, at the sender, that is to reduce its rate.
    pub dest_qp: U24,
}

impl Repr {
    /// Reads a CNP from `packet`, which follows `ethertype`. The UDP checksum is not checked: the
    /// ICRC covers the same bytes and more.
    ///
    /// # Errors
    /// As the views of the headers and [`icrc::verify`]; [`WireError::Unsupported`] for another UDP
    /// port than RoCEv2's, [`WireError::BadOpcode`] for another RoCEv2 packet or BECN not set,
    /// [`WireError::BadLength`] for one of another length.
    pub fn parse(ethertype: EtherType, packet: &[u8]) -> Result<Self, WireError> {
        let ip = ip::View::new(ethertype, packet)?;
        let identification = match &ip {
            ip::View::V4(_) => {
                // Validates the header checksum, too, which the view does not.
                let header = ipv4::Repr::parse(packet)?;
                header.identification
            }
            ip::View::V6(_) => 0,
        };
        let upper = ip.upper()?;
        if upper.protocol != Protocol::UDP {
            return Err(WireError::Unsupported);
        }
        let udp = udp::View::new(upper.payload)?;
        if udp.dst_port() != roce::UDP_PORT {
            return Err(WireError::Unsupported);
        }
        let bth = roce::View::new(udp.payload())?;
        // Opcode 0x81 with BECN set makes a CNP (A17.9.3).
        if bth.opcode() != Opcode::CNP || !bth.becn() {
            return Err(WireError::BadOpcode);
        }
        // BTH, 16 reserved bytes and ICRC and nothing else: a UDP length of 40.
        if usize::from(udp.len()) != udp::HEADER_LEN + PAYLOAD_LEN {
            return Err(WireError::BadLength);
        }
        // Last, because it reads the whole packet.
        icrc::verify(packet)?;
        Ok(Self {
            src: ip.src(),
            dst: ip.dst(),
            dscp: ip.dscp(),
            ecn: ip.ecn(),
            ttl: ip.ttl(),
            identification,
            src_port: udp.src_port(),
            p_key: bth.p_key(),
            dest_qp: bth.dest_qp(),
        })
    }

    /// Returns the number of bytes that [`Repr::emit`] writes: 60 over IPv4, 80 over IPv6.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        self.headers().header_len() + PAYLOAD_LEN
    }

    /// Returns the EtherType that precedes the packet.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        self.headers().ethertype()
    }

    /// Returns the headers before the BTH.
    const fn headers(&self) -> datagram::Repr {
        let Self { src, dst, dscp, ecn, ttl, src_port, .. } = *self;
        datagram::Repr { src, dst, dscp, ecn, ttl, src_port, dst_port: roce::UDP_PORT }
    }

    /// Writes the packet at the front of `buf`, without a UDP checksum and with its ICRC.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for addresses of different versions, [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        let headers = self.headers();
        let upper_len = (udp::HEADER_LEN + PAYLOAD_LEN) as u16;
        headers.emit_ip(self.identification, upper_len, out)?;
        let udp = udp::Repr {
            src_port: self.src_port,
            dst_port: roce::UDP_PORT,
            payload_len: PAYLOAD_LEN as u16,
            // No UDP checksum: the ICRC covers the same bytes.
            checksum: 0,
        };
        let rest = &mut out[headers.ip_len()..];
        udp.emit(rest)?;
        let rest = &mut rest[udp::HEADER_LEN..];
        let bth = roce::Repr {
            p_key: self.p_key,
            becn: true,
            // PSN, pad count and all other flags are 0.
            ..roce::Repr::new(Opcode::CNP, self.dest_qp, U24::default())
        };
        bth.emit(rest)?;
        rest[roce::BTH_LEN..].fill(0);
        icrc::seal(out)
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} CNP qp {} dscp {}", self.src, self.dst, self.dest_qp, self.dscp)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{datagram, tests};

    prop_compose! {
        fn any_repr()(
            headers in datagram::tests::headers(None),
            (identification, p_key) in any::<(u16, u16)>(),
            dest_qp in 0_u32..1 << 24,
        ) -> Repr {
            let datagram::Repr { src, dst, dscp, ecn, ttl, src_port, .. } = headers;
            let identification = if src.is_ipv6() { 0 } else { identification };
            let dest_qp = U24::new(dest_qp).unwrap();
            Repr { src, dst, dscp, ecn, ttl, identification, src_port, p_key, dest_qp }
        }
    }

    fn emit(repr: &Repr) -> Vec<u8> {
        let mut out = vec![0xff; repr.buffer_len()];
        repr.emit(&mut out).unwrap();
        out
    }

    #[test]
    fn addresses_of_two_versions_are_refused() {
        let repr = Repr {
            src: "10.0.0.1".parse().unwrap(),
            dst: "::1".parse().unwrap(),
            dscp: Dscp::MIN,
            ecn: Ecn::NotEct,
            ttl: 1,
            identification: 0,
            src_port: 0,
            p_key: 0,
            dest_qp: U24::MAX,
        };
        assert_eq!(repr.emit(&mut [0; 80]), Err(WireError::OutOfRange));
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same_and_every_truncation_is_refused(repr in any_repr()) {
            let parse = |octets: &[u8]| Repr::parse(repr.ethertype(), octets);
            tests::round(&repr, repr.buffer_len(), parse, Repr::emit);
        }

        #[test]
        fn the_icrc_survives_what_routers_change_and_nothing_else(
            repr in any_repr(), at in any::<prop::sample::Index>(), flip in 1_u8..=255
        ) {
            let mut octets = emit(&repr);
            ip::mark_ce(repr.ethertype(), &mut octets);
            ip::decrement_ttl(repr.ethertype(), &mut octets);
            prop_assert_eq!(icrc::verify(&octets), Ok(()));
            // All bytes after the BTH are covered, the ICRC itself included.
            let covered = repr.headers().ip_len() + udp::HEADER_LEN + roce::BTH_LEN;
            let at = covered + at.index(octets.len() - covered);
            octets[at] ^= flip;
            prop_assert_eq!(icrc::verify(&octets), Err(WireError::BadChecksum));
        }

        #[test]
        fn reserved_octets_are_ignored_when_the_icrc_covers_them(
            repr in any_repr(), reserved in any::<[u8; RESERVED_LEN]>()
        ) {
            let mut octets = emit(&repr);
            let at = repr.headers().ip_len() + udp::HEADER_LEN + roce::BTH_LEN;
            prop_assert_eq!(&octets[at..at + RESERVED_LEN], &[0; RESERVED_LEN]);
            octets[at..at + RESERVED_LEN].copy_from_slice(&reserved);
            icrc::seal(&mut octets).unwrap();
            prop_assert_eq!(Repr::parse(repr.ethertype(), &octets), Ok(repr));
        }
    }
}

//! Echo messages of ping: of ICMP (RFC 792) and of ICMPv6 (RFC 4443 section 4). They differ in
//! their type numbers and in the coverage of the checksum: ICMPv6's includes the pseudo header.

use core::fmt;
use core::net::IpAddr;

use super::checksum::{self, Sum};
use super::ip::{self, Fragment, Protocol};
use super::{EtherType, WireError, be16, ipv4, ipv6, room};

/// Length of a message before its data.
pub const HEADER_LEN: usize = 8;

/// TTL of an answer: 64, IANA's recommended default.
pub const ANSWER_TTL: u8 = 64;

/// Offset of the checksum.
const CHECKSUM: usize = 2;

/// Operation of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Requests the return of the data.
    Request,
    /// Returns the data.
    Reply,
}

impl Operation {
    /// Returns the message type in ICMP, or in ICMPv6.
    const fn number(self, v6: bool) -> u8 {
        match (self, v6) {
            (Self::Request, false) => 8,
            (Self::Reply, false) => 0,
            (Self::Request, true) => 128,
            (Self::Reply, true) => 129,
        }
    }

    /// Returns the operation of a message type.
    const fn new(number: u8, v6: bool) -> Option<Self> {
        match (number, v6) {
            (8, false) | (128, true) => Some(Self::Request),
            (0, false) | (129, true) => Some(Self::Reply),
            _ => None,
        }
    }
}

/// An echo message with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    message: &'a [u8],
    operation: Operation,
}

impl<'a> View<'a> {
    /// Parses a message of `protocol` from its type on. The caller verifies the checksum
    /// ([`View::checksum_ok`]).
    ///
    /// # Errors
    /// [`WireError::Unsupported`] for another protocol than ICMP and ICMPv6,
    /// [`WireError::Truncated`] below 8 bytes, [`WireError::BadOpcode`] for other messages.
    pub fn new(protocol: Protocol, message: &'a [u8]) -> Result<Self, WireError> {
        let v6 = match protocol {
            Protocol::ICMP => false,
            Protocol::ICMPV6 => true,
            _ => return Err(WireError::Unsupported),
        };
        let header: &[u8; HEADER_LEN] = message.first_chunk().ok_or(WireError::Truncated)?;
        // Both echo messages have code 0.
        let operation = Operation::new(header[0], v6).filter(|_| header[1] == 0);
        Ok(Self { header, message, operation: operation.ok_or(WireError::BadOpcode)? })
    }

    /// Returns true if the checksum of the message, which has to be complete, is correct between
    /// two addresses of its version.
    #[must_use]
    pub fn checksum_ok(&self, src: IpAddr, dst: IpAddr) -> bool {
        sum(self.message, src, dst) == 0
    }
}

/// Returns the checksum over a message including its checksum field.
fn sum(message: &[u8], src: IpAddr, dst: IpAddr) -> u16 {
    let pseudo = match src {
        // ICMP's checksum covers the message alone (RFC 792), ICMPv6's a pseudo header, too (RFC 4443 2.3).
        IpAddr::V4(_) => Sum::default(),
        // A message is never longer than a packet.
        IpAddr::V6(_) => Sum::default().pseudo(src, dst, Protocol::ICMPV6.0, message.len() as u16),
    };
    pseudo.octets(message).finish()
}

/// Converts an echo request in place to its answer (`packet` follows `ethertype`): addresses are
/// swapped, the TTL is reset, and all checksums stay as correct as they were (RFC 1122 3.2.2.6, RFC
/// 4443 4.2). Bytes that are not present are unaffected, as an answer requires.
///
/// # Errors
/// [`WireError::Unsupported`] for a fragment, [`WireError::BadOpcode`] for other messages, else as
/// [`View::new`] and [`ip::View::new`]. The packet is then unchanged.
pub fn answer(ethertype: EtherType, packet: &mut [u8]) -> Result<(), WireError> {
    let view = ip::View::new(ethertype, packet)?;
    let upper = view.upper()?;
    let echo = View::new(upper.protocol, upper.payload)?;
    // The checksum covers all fragments, of which the others would not be converted.
    if upper.fragment != Fragment::Whole {
        return Err(WireError::Unsupported);
    }
    if echo.operation() != Operation::Request {
        return Err(WireError::BadOpcode);
    }
    let (v6, offset) = match &view {
        ip::View::V4(v4) => (false, v4.header_len()),
        // The message may lie behind extension headers.
        ip::View::V6(v6) => (true, ipv6::HEADER_LEN + v6.payload().len() - upper.payload.len()),
    };
    // Type and code are one word of the checksum, and the code is 0 in both.
    let word = |operation: Operation| u16::from(operation.number(v6)) << 8;
    let (old, new) = (word(Operation::Request), word(Operation::Reply));
    let sum = match checksum::update(be16(echo.header, CHECKSUM), old, new) {
        // The two zeros of this arithmetic are equivalent, except over data that is all zero.
        0 => 0xffff,
        sum => sum,
    };
    // Only now, because a packet that is refused must stay unchanged.
    packet[offset] = Operation::Reply.number(v6);
    packet[offset + CHECKSUM..offset + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    if v6 {
        ipv6::ViewMut::new(packet)?.turn_round(ANSWER_TTL);
    } else {
        ipv4::ViewMut::new(packet)?.turn_round(ANSWER_TTL);
    }
    Ok(())
}

fields! {
    /// An echo message.
    Repr<'a> of View as v {
        /// Request or reply.
        operation: Operation = v.operation,
        /// Identifier, which distinguishes requesters.
        identifier: u16 = be16(v.header, 4),
        /// Sequence number.
        sequence: u16 = be16(v.header, 6),
        /// Data to be returned: the bytes after the header, as far as present.
        data: &'a [u8] = &v.message[HEADER_LEN..],
    }
}

impl<'a> Repr<'a> {
    /// Parses a message, which has to be complete, sent between two addresses of one version.
    ///
    /// # Errors
    /// As [`View::new`], then [`WireError::BadChecksum`].
    pub fn parse(message: &'a [u8], src: IpAddr, dst: IpAddr) -> Result<Self, WireError> {
        let v = View::new(protocol_of(src), message)?;
        if !v.checksum_ok(src, dst) {
            return Err(WireError::BadChecksum);
        }
        Ok(Self::of(&v))
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        HEADER_LEN + self.data.len()
    }

    /// Writes the message at the front of `buf`, for two addresses of one version.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, src: IpAddr, dst: IpAddr, buf: &mut [u8]) -> Result<(), WireError> {
        let out = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        let header: &mut [u8; HEADER_LEN] = room(out)?;
        header[0] = self.operation.number(src.is_ipv6());
        header[1..4].fill(0);
        header[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        header[6..].copy_from_slice(&self.sequence.to_be_bytes());
        out[HEADER_LEN..].copy_from_slice(self.data);
        let sum = sum(out, src, dst);
        out[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

/// Returns the protocol of echo messages from an address.
#[must_use]
pub const fn protocol_of(address: IpAddr) -> Protocol {
    match address {
        IpAddr::V4(_) => Protocol::ICMP,
        IpAddr::V6(_) => Protocol::ICMPV6,
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.operation {
            Operation::Request => "request",
            Operation::Reply => "reply",
        };
        let (id, seq) = (self.identifier, self.sequence);
        write!(f, "echo {what} id {id} seq {seq} data {}", self.data.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Between the addresses of `ends`, as scapy builds them.
    const GOLDEN4: [u8; 13] = *b"\x08\x00\xa1\xf2\x12\x34\x00\x07hello";
    const GOLDEN6: [u8; 13] = *b"\x80\x00\x2e\xaa\x12\x34\x00\x07hello";
    const GOLDEN: Repr<'static> =
        Repr { operation: Operation::Request, identifier: 0x1234, sequence: 7, data: b"hello" };

    fn ends(v6: bool) -> (IpAddr, IpAddr) {
        let [src, dst] = if v6 { ["fd00::1", "fd00::fe"] } else { ["10.0.0.1", "10.0.0.254"] };
        (src.parse().unwrap(), dst.parse().unwrap())
    }

    #[test]
    fn golden_bytes() {
        for (v6, golden) in [(false, GOLDEN4), (true, GOLDEN6)] {
            let (src, dst) = ends(v6);
            assert_eq!(Repr::parse(&golden, src, dst), Ok(GOLDEN));
            let mut out = [0xff; 13];
            GOLDEN.emit(src, dst, &mut out).unwrap();
            assert_eq!(out, golden);
        }
        assert_eq!(GOLDEN.to_string(), "echo request id 4660 seq 7 data 5");
    }

    #[test]
    fn every_truncation_is_refused() {
        for (v6, golden) in [(false, GOLDEN4), (true, GOLDEN6)] {
            let (src, dst) = ends(v6);
            for n in 0..golden.len() {
                let want =
                    if n < HEADER_LEN { WireError::Truncated } else { WireError::BadChecksum };
                assert_eq!(Repr::parse(&golden[..n], src, dst), Err(want));
                let mut room = [0; 13];
                assert_eq!(GOLDEN.emit(src, dst, &mut room[..n]), Err(WireError::NoRoom));
            }
        }
    }

    #[test]
    fn other_messages_and_protocols_are_refused() {
        let of = |protocol, octets: &[u8]| View::new(protocol, octets).map(|v| v.operation());
        assert_eq!(of(Protocol::ICMP, &GOLDEN6), Err(WireError::BadOpcode));
        assert_eq!(of(Protocol::ICMPV6, &GOLDEN4), Err(WireError::BadOpcode));
        assert_eq!(of(Protocol::UDP, &GOLDEN4), Err(WireError::Unsupported));
        let mut coded = GOLDEN4;
        coded[1] = 1;
        assert_eq!(of(Protocol::ICMP, &coded), Err(WireError::BadOpcode));
    }

    /// Returns a packet with an echo request.
    fn packet(v6: bool, data: &[u8], ttl: u8) -> (EtherType, Vec<u8>) {
        let (src, dst) = ends(v6);
        let repr = Repr { data, ..GOLDEN };
        let payload_len = repr.buffer_len() as u16;
        let at = if v6 { ipv6::HEADER_LEN } else { ipv4::HEADER_LEN };
        let mut out = vec![0; at + repr.buffer_len()];
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = ipv4::tests::golden();
                let protocol = Protocol::ICMP;
                ipv4::Repr { src, dst, ttl, protocol, payload_len, ..header }
                    .emit(&mut out)
                    .unwrap();
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (hop_limit, next_header) = (ttl, Protocol::ICMPV6);
                let (_, header) = ipv6::tests::golden();
                ipv6::Repr { src, dst, hop_limit, next_header, payload_len, ..header }
                    .emit(&mut out)
                    .unwrap();
            }
            _ => unreachable!("both ends are of one version"),
        }
        repr.emit(src, dst, &mut out[at..]).unwrap();
        (if v6 { EtherType::IPV6 } else { EtherType::IPV4 }, out)
    }

    proptest! {
        #[test]
        fn an_answer_has_right_checksums_and_the_same_data(
            v6 in any::<bool>(), data in prop::collection::vec(any::<u8>(), 0..200), ttl in 1_u8..,
        ) {
            let (ethertype, mut octets) = packet(v6, &data, ttl);
            answer(ethertype, &mut octets).unwrap();
            let view = ip::View::new(ethertype, &octets).unwrap();
            let (src, dst) = ends(v6);
            prop_assert_eq!((view.src(), view.dst(), view.ttl()), (dst, src, ANSWER_TTL));
            if let ip::View::V4(v4) = &view {
                prop_assert!(v4.checksum_ok());
            }
            let upper = view.upper().unwrap().payload;
            let want = Repr { operation: Operation::Reply, data: &data, ..GOLDEN };
            prop_assert_eq!(Repr::parse(upper, dst, src), Ok(want));
            let before = octets.clone();
            prop_assert_eq!(answer(ethertype, &mut octets), Err(WireError::BadOpcode));
            prop_assert_eq!(octets, before);
        }
    }

    #[test]
    fn fragments_are_not_answered() {
        let (ethertype, mut octets) = packet(false, b"hello", 9);
        octets[6] = 0x20; // More fragments.
        assert_eq!(answer(ethertype, &mut octets), Err(WireError::Unsupported));
    }
}

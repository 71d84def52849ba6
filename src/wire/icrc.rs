//! RoCEv2's invariant CRC (InfiniBand Annex A17.3.3): four bytes after the payload that cover the
//! packet from its IP header on, except for the fields that a router or switch changes in transit.
//!
//! It is Ethernet's CRC-32 over eight bytes of ones (the position of a native packet's local route
//! header), then the packet with the variant fields set to ones, sent least significant byte first.

use super::ip::{Fragment, Protocol};
use super::{WireError, ipv4, ipv6, roce, udp};

/// Bytes of the ICRC.
pub const LEN: usize = 4;

/// The CRC-32 of the eight leading bytes of ones. Before the final inversion it is 0xDEBB20E3, as in Linux
/// (rxe_icrc.c).
const SEED: u32 = 0x2144_df1c;

/// The last bytes of a BTH, after the one of FECN and BECN, which are not masked.
const MASK_END: usize = roce::BTH_LEN - 5;

/// Maximum length of the headers with masked fields: IPv4 with all options, UDP, BTH.
const MASKED_MAX: usize = ipv4::HEADER_LEN_MAX + udp::HEADER_LEN + roce::BTH_LEN;

/// Calculates the ICRC field of a whole RoCEv2 packet in wire format. `packet` starts at the IP
/// header; the present contents of the field are ignored.
///
/// # Errors
/// As the views of the headers, and [`WireError::Truncated`] when the packet is incomplete,
/// [`WireError::BadLength`] if its lengths leave no room for BTH and ICRC,
/// [`WireError::Unsupported`] for a fragment or anything but UDP directly behind IP, since RoCEv2
/// has neither fragments nor extension headers. The UDP port is not checked.
pub fn compute(packet: &[u8]) -> Result<[u8; LEN], WireError> {
    let span = Span::of(packet)?;
    Ok(span.crc(packet))
}

/// Checks the ICRC of a whole RoCEv2 packet.
///
/// # Errors
/// [`WireError::BadChecksum`] when it is wrong, else as [`compute`].
pub fn verify(packet: &[u8]) -> Result<(), WireError> {
    let span = Span::of(packet)?;
    let field = &packet[span.end..span.end + LEN];
    if field == span.crc(packet) { Ok(()) } else { Err(WireError::BadChecksum) }
}

/// Writes the ICRC of a whole RoCEv2 packet to its last four bytes.
///
/// # Errors
/// As [`compute`]; the state is then unchanged.
pub fn seal(packet: &mut [u8]) -> Result<(), WireError> {
    let span = Span::of(packet)?;
    let crc = span.crc(packet);
    packet[span.end..span.end + LEN].copy_from_slice(&crc);
    Ok(())
}

/// A partially calculated ICRC: for packets that are identical up to a position after their variant
/// header fields, and completed with the rest.
#[derive(Clone, Copy, Debug)]
pub struct Begun(u32);

impl Begun {
    /// Starts with the bytes of a whole packet up to `at`, which lies after the byte of FECN and
    /// BECN and before the ICRC.
    ///
    /// # Errors
    /// As [`compute`], and [`WireError::OutOfRange`] for any other `at`.
    pub fn new(packet: &[u8], at: usize) -> Result<Self, WireError> {
        let span = Span::of(packet)?;
        let masked = span.masked();
        // The part before `at` must include the last masked byte: `close` takes the rest as it is.
        if !(masked - MASK_END..=span.end).contains(&at) {
            return Err(WireError::OutOfRange);
        }
        let mut buffer = [0; MASKED_MAX];
        let head = span.mask(packet, &mut buffer);
        let mut crc = crc32fast::Hasher::new_with_initial(SEED);
        crc.update(&head[..at.min(masked)]);
        crc.update(&packet[masked..at.max(masked)]);
        Ok(Self(crc.finalize()))
    }

    /// Returns the ICRC field of the packet that continues with `rest` up to its ICRC.
    #[must_use]
    #[inline]
    pub fn close(self, rest: &[u8]) -> [u8; LEN] {
        let mut crc = crc32fast::Hasher::new_with_initial(self.0);
        crc.update(rest);
        // Least significant byte first, unlike all other fields.
        crc.finalize().to_le_bytes()
    }
}

/// Offsets of the parts of a checked packet.
struct Span {
    v6: bool,
    /// Start of UDP.
    l4: usize,
    /// Start of the ICRC.
    end: usize,
}

impl Span {
    /// Checks that `packet` contains IP, UDP, BTH and ICRC according to its lengths.
    fn of(packet: &[u8]) -> Result<Self, WireError> {
        let v6 = packet.first().ok_or(WireError::Truncated)? >> 4 == 6;
        let (protocol, l4, ip_end) = if v6 {
            let ip = ipv6::View::new(packet)?;
            let end = ipv6::HEADER_LEN + usize::from(ip.payload_len());
            (ip.next_header(), ipv6::HEADER_LEN, end)
        } else {
            let ip = ipv4::View::new(packet)?;
            if ip.upper().fragment != Fragment::Whole {
                return Err(WireError::Unsupported);
            }
            (ip.protocol(), ip.header_len(), usize::from(ip.total_len()))
        };
        if protocol != Protocol::UDP {
            return Err(WireError::Unsupported);
        }
        let udp_len = usize::from(udp::View::new(&packet[l4..])?.len());
        // BTH and ICRC lie in UDP and UDP in IP; otherwise the CRC would cover bytes of another layer.
        if udp_len < udp::HEADER_LEN + roce::BTH_LEN + LEN || l4 + udp_len > ip_end {
            return Err(WireError::BadLength);
        }
        if packet.len() < l4 + udp_len {
            return Err(WireError::Truncated);
        }
        Ok(Self { v6, l4, end: l4 + udp_len - LEN })
    }

    /// Returns the end of the headers with variant fields.
    const fn masked(&self) -> usize {
        self.l4 + udp::HEADER_LEN + roce::BTH_LEN
    }

    /// Returns the headers with the variant fields set to ones.
    fn mask<'a>(&self, packet: &[u8], buffer: &'a mut [u8; MASKED_MAX]) -> &'a [u8] {
        let masked = self.masked();
        let head = &mut buffer[..masked];
        head.copy_from_slice(&packet[..masked]);
        if self.v6 {
            // Traffic class and flow label; the version is not masked.
            head[0] |= 0x0f;
            head[1..4].fill(0xff);
            head[7] = 0xff; // Hop limit.
        } else {
            head[1] = 0xff; // DSCP and ECN.
            head[8] = 0xff; // TTL.
            head[10..12].fill(0xff); // Checksum.
        }
        head[self.l4 + 6..self.l4 + 8].fill(0xff); // UDP checksum.
        head[self.l4 + udp::HEADER_LEN + 4] = 0xff; // FECN, BECN and reserved bits.
        head
    }

    /// Returns the CRC of the packet of this span.
    fn crc(&self, packet: &[u8]) -> [u8; LEN] {
        let mut buffer = [0; MASKED_MAX];
        let mut crc = crc32fast::Hasher::new_with_initial(SEED);
        crc.update(self.mask(packet, &mut buffer));
        crc.update(&packet[self.masked()..self.end]);
        crc.finalize().to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cnp;
    use crate::ip::Ecn;
    use crate::roce::U24;
    use ground::units::Dscp;

    #[test]
    fn the_seed_is_the_crc_of_eight_octets_of_ones() {
        assert_eq!(crc32fast::hash(&[0xff; 8]), SEED);
        // The register after the final inversion, as documented for hardware and drivers.
        assert_eq!(!SEED, 0xdebb_20e3);
    }

    proptest! {
        #[test]
        fn begun_and_closed_it_is_what_it_is_at_once(
            v6 in any::<bool>(), at in 0_usize..100, (qp, port) in (0_u32..1 << 24, any::<u16>()),
            rest in any::<[u8; 16]>(),
        ) {
            let address = |n| if v6 { format!("fd00::{n}") } else { format!("10.0.0.{n}") };
            let repr = cnp::Repr {
                src: address(1).parse().unwrap(),
                dst: address(2).parse().unwrap(),
                dscp: Dscp::MAX,
                ecn: Ecn::Ce,
                ttl: 7,
                identification: 0,
                src_port: port,
                p_key: 1,
                dest_qp: U24::new(qp).unwrap(),
            };
            let mut packet = vec![0; repr.buffer_len()];
            repr.emit(&mut packet).unwrap();
            let end = packet.len() - LEN;
            packet[end - 16..end].copy_from_slice(&rest);
            // From after the byte of FECN and BECN, which is the fifth of the BTH's twelve.
            let first = end - 16 - 7;
            match Begun::new(&packet, at) {
                Ok(begun) => {
                    prop_assert!((first..=end).contains(&at));
                    prop_assert_eq!(begun.close(&packet[at..end]), compute(&packet).unwrap());
                }
                Err(error) => {
                    prop_assert_eq!(error, WireError::OutOfRange);
                    prop_assert!(!(first..=end).contains(&at));
                }
            }
        }
    }
}

//! The start of a frame's payload as returned by congestion messages (CNM, CIM, SFCM), and the flow
//! in it.
//!
//! An MSDU is the part of a frame after its addresses and outermost tag, and so begins with the
//! EtherType (802.1AC, which counts the type as service data). The available pages do not repeat
//! that, so it is our interpretation. The minimum of 48 bytes in a CIM then includes the ports of a
//! UDP datagram over IPv6.

use super::flow::FiveTuple;
use super::{EtherType, WireError, ethernet, ip, vlan};

/// Length of the addresses, which are not part of it.
const ADDRESSES: usize = 12;
/// Length of the EtherType.
const TYPE_LEN: usize = 2;

/// Returns the outermost tag and the MSDU of a whole frame, as far as present.
///
/// # Errors
/// As [`vlan::walk`].
#[inline]
pub fn of_frame(frame: &[u8]) -> Result<(Option<vlan::Repr>, &[u8]), WireError> {
    let walk = vlan::walk(frame)?;
    let start = ADDRESSES + if walk.outer.is_some() { vlan::TAG_LEN } else { 0 };
    Ok((walk.outer, &frame[start..]))
}

/// Returns the first `MAX` bytes of an MSDU at most, zero-padded to at least `MIN` bytes, as frames
/// of minimum size are on the wire. `buf` is used if padding is needed.
#[inline]
#[must_use]
pub fn bounded<'a, const MIN: usize>(
    msdu: &'a [u8],
    max: usize,
    buf: &'a mut [u8; MIN],
) -> &'a [u8] {
    if msdu.len() < MIN {
        buf.fill(0);
        buf[..msdu.len()].copy_from_slice(msdu);
        return buf;
    }
    &msdu[..msdu.len().min(max.max(MIN))]
}

/// Returns the EtherType after inner tags and its payload; `None` if the MSDU ends before it.
#[inline]
#[must_use]
pub fn network(msdu: &[u8]) -> Option<(EtherType, &[u8])> {
    let mut rest = msdu;
    for _ in 0..vlan::MAX_TAGS {
        // The outermost tag is not part of an MSDU; tags in it are a customer's.
        let Ok(tag) = vlan::View::new(rest) else { break };
        rest = tag.payload();
    }
    let (ethertype, packet) = rest.split_first_chunk::<TYPE_LEN>()?;
    Some((EtherType(u16::from_be_bytes(*ethertype)), packet))
}

/// Returns the flow of the IP packet in an MSDU, or `None` without one.
#[inline]
#[must_use]
pub fn flow(msdu: &[u8]) -> Option<FiveTuple> {
    let (ethertype, packet) = network(msdu)?;
    Some(FiveTuple::of(&ip::View::new(ethertype, packet).ok()?))
}

// A frame's MSDU starts at the last field of its header.
const _: () = assert!(ADDRESSES + TYPE_LEN == ethernet::HEADER_LEN);

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 28] =
        [0x45, 0, 0, 28, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 8, 0, 0];

    fn frame(tags: usize) -> Vec<u8> {
        let tag = [0x81, 0, 0, 5];
        [&[2; 12][..], &tag.repeat(tags), &[8, 0], &PACKET].concat()
    }

    #[test]
    fn the_outermost_tag_is_no_part_of_it_and_inner_tags_are() {
        for tags in 0..=3 {
            let frame = frame(tags);
            let (outer, msdu) = of_frame(&frame).unwrap();
            assert_eq!(outer.is_some(), tags > 0);
            assert_eq!(msdu, &frame[12 + 4 * tags.min(1)..]);
            assert_eq!(flow(msdu), FiveTuple::of_frame(&frame));
            assert_eq!(flow(msdu).unwrap().to_string(), "udp 10.0.0.1 port 7 > 10.0.0.2 port 9");
        }
    }

    #[test]
    fn every_truncation_is_read_as_far_as_it_goes() {
        let frame = frame(2);
        for n in 0..frame.len() {
            match of_frame(&frame[..n]) {
                Err(error) => assert!(n < 22, "{n}: {error}"),
                Ok((_, msdu)) => {
                    assert_eq!(msdu, &frame[16..n]);
                    assert_eq!(flow(msdu).is_some(), n >= 42, "{n}");
                    assert_eq!(network(msdu).unwrap().0, EtherType::IPV4);
                }
            }
        }
        assert_eq!(network(&[]), None);
        assert_eq!(network(&[8]), None);
        assert_eq!(flow(&[8, 0]), None);
    }

    #[test]
    fn bounds_are_kept_and_what_is_too_short_is_padded() {
        let octets: Vec<_> = (1..=100).collect();
        for n in 0..=100 {
            let mut buf = [0xee; 48];
            let bounded = bounded(&octets[..n], 64, &mut buf);
            assert_eq!(bounded.len(), n.clamp(48, 64));
            let same = n.min(64);
            assert_eq!(bounded[..same], octets[..same]);
            assert!(bounded[same..].iter().all(|o| *o == 0));
        }
        assert_eq!(bounded(&octets, 0, &mut [0; 48]).len(), 48, "the least wins");
    }
}

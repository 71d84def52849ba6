//! The header that a packet socket puts before each packet (`struct virtio_net_hdr`, virtio 1.2, 5.1.6): what of
//! the packet its sender has left to the hardware.

/// Octets of the header.
pub const HEADER_LEN: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum field has the sum of the pseudo header alone.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_F_DATA_VALID`: the checksum has been verified.
const VERIFIED: u8 = 2;
/// `VIRTIO_NET_HDR_GSO_*`.
const NONE: u8 = 0;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;
/// `VIRTIO_NET_HDR_GSO_ECN`, a bit beside the type: the first segment has CWR.
const ECN: u8 = 0x80;

/// Place of an unfinished checksum: it covers the packet from `start` on, and is at `start + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    pub start: u16,
    pub offset: u16,
}

/// What the segments of a large packet are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    TcpIpv4,
    TcpIpv6,
    /// UDP datagrams of one length, of either IP version.
    Udp,
}

/// A packet that is to be cut into frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    pub kind: SegmentKind,
    /// Octets of payload of each frame but the last.
    pub size: u16,
}

/// The header in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload {
    pub unfinished: Option<Unfinished>,
    /// True if a device has verified the checksum of the packet.
    pub is_verified: bool,
    pub segments: Option<Segments>,
    /// Octets of the headers of a large packet: the kernel keeps at least these in one piece.
    pub header_len: u16,
}

/// The header has a type of segments that is not known; its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("segments of type {0:#04x}")]
pub struct UnknownSegments(pub u8);

impl Offload {
    /// Reads a header, whose numbers are in the order of this machine.
    ///
    /// # Errors
    /// [`UnknownSegments`].
    pub fn parse(header: &[u8; HEADER_LEN]) -> Result<Self, UnknownSegments> {
        let [flags, kind, l0, l1, s0, s1, c0, c1, o0, o1] = *header;
        let number = |a, b| u16::from_ne_bytes([a, b]);
        let kind = match kind & !ECN {
            NONE => None,
            TCP_IPV4 => Some(SegmentKind::TcpIpv4),
            TCP_IPV6 => Some(SegmentKind::TcpIpv6),
            UDP => Some(SegmentKind::Udp),
            _ => return Err(UnknownSegments(kind)),
        };
        let unfinished = Unfinished { start: number(c0, c1), offset: number(o0, o1) };
        Ok(Self {
            unfinished: (flags & NEEDS_CHECKSUM != 0).then_some(unfinished),
            is_verified: flags & VERIFIED != 0,
            segments: kind.map(|kind| Segments { kind, size: number(s0, s1) }),
            header_len: number(l0, l1),
        })
    }

    /// Writes the header.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        if let Some(Unfinished { start, offset }) = self.unfinished {
            out[0] |= NEEDS_CHECKSUM;
            out[6..8].copy_from_slice(&start.to_ne_bytes());
            out[8..].copy_from_slice(&offset.to_ne_bytes());
        }
        if self.is_verified {
            out[0] |= VERIFIED;
        }
        if let Some(Segments { kind, size }) = self.segments {
            out[1] = match kind {
                SegmentKind::TcpIpv4 => TCP_IPV4,
                SegmentKind::TcpIpv6 => TCP_IPV6,
                SegmentKind::Udp => UDP,
            };
            out[4..6].copy_from_slice(&size.to_ne_bytes());
        }
        out[2..4].copy_from_slice(&self.header_len.to_ne_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it for 45 segments of TCP over IPv4 on a little-endian machine.
    #[test]
    #[cfg(target_endian = "little")]
    fn golden_octets() {
        let header = [1, 1, 66, 0, 0xa8, 0x05, 34, 0, 16, 0];
        let offload = Offload::parse(&header).unwrap();
        assert_eq!(offload.unfinished, Some(Unfinished { start: 34, offset: 16 }));
        let segments = Segments { kind: SegmentKind::TcpIpv4, size: 1_448 };
        assert_eq!((offload.segments, offload.header_len), (Some(segments), 66));
        assert_eq!(offload.emit(), header);
    }

    #[test]
    fn congestion_notification_is_a_bit_beside_the_type_and_other_types_are_refused() {
        let of = |kind| Offload::parse(&[0, kind, 0, 0, 1, 0, 0, 0, 0, 0]);
        let kind = |kind| of(kind).unwrap().segments.map(|segments| segments.kind);
        assert_eq!(kind(0x84), Some(SegmentKind::TcpIpv6));
        assert_eq!(kind(5), Some(SegmentKind::Udp));
        assert_eq!(kind(0), None);
        // 3 is UDP by fragments, which no kernel since 4.14 sends.
        for unknown in [2, 3, 6, 0x7f] {
            assert_eq!(of(unknown), Err(UnknownSegments(unknown)));
        }
    }

    #[test]
    fn every_header_that_is_written_reads_the_same() {
        for kind in
            [None, Some(SegmentKind::TcpIpv4), Some(SegmentKind::TcpIpv6), Some(SegmentKind::Udp)]
        {
            for flags in 0..4 {
                let offload = Offload {
                    unfinished: (flags & 1 != 0).then_some(Unfinished { start: 54, offset: 6 }),
                    is_verified: flags & 2 != 0,
                    segments: kind.map(|kind| Segments { kind, size: 1_220 }),
                    header_len: 74,
                };
                assert_eq!(Offload::parse(&offload.emit()), Ok(offload));
            }
        }
    }
}

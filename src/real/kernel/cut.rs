//! Large segments, cut into the frames that a wire would carry.
//!
//! A host leaves to its network interface what is the same for each frame of a train: it hands over one packet of
//! up to 64 KiB with the headers of the first frame, and how much payload a frame has. Here are the frames, with
//! their lengths, numbers, flags, identifications and checksums as the host's own stack would have made them. A
//! packet that contradicts its offload header is refused whole: no frame of it leaves.

use wire::checksum::Sum;

use crate::headers::{
    Headers, TCP_CWR, TCP_FLAGS, TCP_LAST, Transport, be16, be32, is_same_sum, or_ones, put16,
    put32,
};
use crate::offload::{Offload, SegmentKind, Segments, Unfinished};

/// Reason why a packet cannot be what its offload header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Lie {
    /// Segments of no payload.
    #[error("its segments have a size of 0")]
    NoSize,
    /// The headers are incomplete, or of another protocol than the segments.
    #[error("its headers are not those of its segments")]
    OtherHeaders,
    /// The lengths in its headers are not its own.
    #[error("its lengths contradict each other")]
    Lengths,
    /// The unfinished checksum is not in the packet, or not where that of its protocol is.
    #[error("its checksum is not in it")]
    Checksum,
}

/// A packet and how far it is cut. Without segments it is one frame.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    plan: Plan,
    /// True if the checksums of its frames are calculated here, over the right pseudo header.
    is_checked: bool,
    /// Octets of the packet.
    len: usize,
    /// Offset of the first octet that is in no frame yet.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
enum Plan {
    /// One frame, as it is.
    Whole,
    /// One frame, whose checksum is to be finished.
    Finish { at: usize, start: usize },
    /// A frame for each `size` octets of payload.
    Train(Train),
}

#[derive(Clone, Copy, Debug)]
struct Train {
    headers: Headers,
    size: usize,
    /// Sum of the pseudo header without its length.
    pseudo: Sum,
    sequence: u32,
    identification: u16,
    flags: u8,
}

impl Cut {
    /// Checks a packet against its offload header.
    ///
    /// # Errors
    /// [`Lie`].
    pub fn new(packet: &[u8], offload: &Offload) -> Result<Self, Lie> {
        let len = packet.len();
        let is_right = |headers: &Headers| {
            let seed = be16(packet, headers.l4 + headers.transport.checksum_at());
            is_same_sum(seed, !headers.pseudo(packet, len - headers.l4).finish())
        };
        let mut is_checked = offload.is_verified;
        let (plan, next) = match (offload.segments, offload.unfinished) {
            (None, None) => (Plan::Whole, 0),
            (None, Some(Unfinished { start, offset })) => {
                let (start, at) = (usize::from(start), usize::from(start) + usize::from(offset));
                if at + 2 > len || start < wire::ethernet::HEADER_LEN {
                    return Err(Lie::Checksum);
                }
                let headers = Headers::of(packet).filter(|headers| headers.l4 == start);
                is_checked = headers.is_some_and(|headers| is_right(&headers));
                (Plan::Finish { at, start }, 0)
            }
            (Some(segments), unfinished) => {
                let train = Train::new(packet, segments, unfinished)?;
                is_checked = unfinished.is_none() || is_right(&train.headers);
                (Plan::Train(train), train.headers.payload)
            }
        };
        Ok(Self { plan, is_checked, len, next })
    }

    /// Octets of the next frame; nothing after the last.
    #[inline]
    pub fn next_len(&self) -> Option<usize> {
        let left = self.len - self.next;
        match &self.plan {
            _ if left == 0 => None,
            Plan::Whole | Plan::Finish { .. } => Some(left),
            Plan::Train(train) => Some(train.headers.payload + left.min(train.size)),
        }
    }

    /// True if the checksums of its frames are known to be right.
    #[inline]
    pub const fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Writes the next frame of the `packet` that this was made of to `frame`, which has the length of
    /// [`Self::next_len`].
    ///
    /// # Panics
    /// There is no next frame, or the lengths are others.
    pub fn write(&mut self, packet: &[u8], frame: &mut [u8]) {
        match &self.plan {
            Plan::Whole => frame.copy_from_slice(packet),
            Plan::Finish { at, start } => {
                frame.copy_from_slice(packet);
                finish(frame, *at, *start);
            }
            Plan::Train(train) => {
                let taken = frame.len() - train.headers.payload;
                let (header, payload) = frame.split_at_mut(train.headers.payload);
                header.copy_from_slice(&packet[..train.headers.payload]);
                payload.copy_from_slice(&packet[self.next..self.next + taken]);
                train.adapt(
                    frame,
                    self.next - train.headers.payload,
                    self.next + taken == self.len,
                );
                self.next += taken;
                return;
            }
        }
        self.next = self.len;
    }
}

/// Finishes a checksum: its field has the sum of the pseudo header, to which that of all from `start` on is added.
fn finish(frame: &mut [u8], at: usize, start: usize) {
    // The field itself is a part of what is added up.
    let sum = Sum::default().octets(&frame[start..]).finish();
    // Only UDP has its checksum at 6, TCP at 16, ICMPv6 at 2.
    let transport = if at - start == 6 { Transport::Udp } else { Transport::Tcp };
    put16(frame, at, or_ones(transport, sum));
}

impl Train {
    fn new(packet: &[u8], segments: Segments, unfinished: Option<Unfinished>) -> Result<Self, Lie> {
        let size = usize::from(segments.size);
        if size == 0 {
            return Err(Lie::NoSize);
        }
        let headers = Headers::of(packet).ok_or(Lie::OtherHeaders)?;
        let Headers { transport, is_ipv6, l3, l4, payload } = headers;
        let fits = match segments.kind {
            SegmentKind::TcpIpv4 => transport == Transport::Tcp && !is_ipv6,
            SegmentKind::TcpIpv6 => transport == Transport::Tcp && is_ipv6,
            SegmentKind::Udp => transport == Transport::Udp,
        };
        if !fits {
            return Err(Lie::OtherHeaders);
        }
        // The kernel leaves every checksum of segments unfinished.
        let is_at = |sum: Unfinished| {
            usize::from(sum.start) == l4 && usize::from(sum.offset) == transport.checksum_at()
        };
        if !unfinished.is_none_or(is_at) {
            return Err(Lie::Checksum);
        }
        // A packet that is longer than its field for the length can say has 0 there.
        let told = headers.ip_len(packet);
        let is_told = l3 + told == packet.len();
        let cannot_tell = packet.len() - l3 > usize::from(u16::MAX);
        if packet.len() == payload || !(is_told || cannot_tell) {
            return Err(Lie::Lengths);
        }
        // Each frame has to fit into its own field for the length.
        if payload - l3 + size > usize::from(u16::MAX) {
            return Err(Lie::Lengths);
        }
        let is_tcp = transport == Transport::Tcp;
        let pseudo = match unfinished {
            // The sender's own sum, less its length: that of a packet with a routing header is over its last
            // destination (RFC 8200, 8.1).
            Some(_) => {
                let sum = Sum::default().word(be16(packet, l4 + transport.checksum_at()));
                let len = (packet.len() - l4) as u32;
                sum.word(!((len >> 16) as u16)).word(!(len as u16))
            }
            None => headers.pseudo(packet, 0),
        };
        Ok(Self {
            headers,
            size,
            pseudo,
            sequence: if is_tcp { be32(packet, l4 + 4) } else { 0 },
            identification: if is_ipv6 { 0 } else { be16(packet, l3 + 4) },
            flags: if is_tcp { packet[l4 + TCP_FLAGS] } else { 0 },
        })
    }

    /// Sets the headers of a frame whose payload begins `offset` octets behind that of the packet.
    #[inline]
    fn adapt(&self, frame: &mut [u8], offset: usize, is_last: bool) {
        let headers = &self.headers;
        let len = frame.len();
        headers.set_lengths(frame, len);
        if !headers.is_ipv6 {
            let number = (offset / self.size) as u16;
            put16(frame, headers.l3 + 4, self.identification.wrapping_add(number));
        }
        if headers.transport == Transport::Tcp {
            put32(frame, headers.l4 + 4, self.sequence.wrapping_add(offset as u32));
            let first = if offset > 0 { TCP_CWR } else { 0 };
            let last = if is_last { 0 } else { TCP_LAST };
            frame[headers.l4 + TCP_FLAGS] = self.flags & !first & !last;
        }
        headers.finish_ip(frame);
        let at = headers.l4 + headers.transport.checksum_at();
        put16(frame, at, 0);
        let sum = self.pseudo.word((len - headers.l4) as u16).octets(&frame[headers.l4..]).finish();
        put16(frame, at, or_ones(headers.transport, sum));
    }
}

#[cfg(test)]
mod tests;

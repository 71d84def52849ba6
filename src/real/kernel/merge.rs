//! Frames of one flow that leave one behind the other, handed to the kernel as one packet.
//!
//! A run of frames becomes a packet if cutting that packet gives the same frames to the octet: one flow, full frames
//! and at most one shorter one at the end, numbers and identifications in sequence, everything else in the headers
//! equal, and checksums that are known to be right, because the packet has none. Frames are neither moved past
//! others nor waited for.

use wire::checksum::Sum;

use crate::headers::{Headers, TCP_ACK, TCP_FLAGS, TCP_PSH, Transport, be16, be32, put16};
use crate::offload::{Offload, SegmentKind, Segments, Unfinished};

/// Octets of the longest headers of a run: two tags, IPv6 with a short extension, TCP with all options.
pub(super) const HEADERS_MAX: usize = 160;

/// Longest packet from its IP header on, whose length has 16 bits.
const LEN_MAX: usize = 65_535;

/// `ECE` beside the flags of an ordinary segment (RFC 3168, 6.1).
const TCP_ECE: u8 = 0x40;

/// A run of frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    headers: Headers,
    /// Octets of payload of each frame but the last.
    size: usize,
    /// Octets of payload of all frames.
    total: usize,
    frames: u16,
    /// True if the last frame ends it: it is shorter than the first, or its receiver is told not to wait.
    ended: bool,
    /// PSH of the last frame.
    push: u8,
}

impl Run {
    /// Begins a run with a frame, if it can have more. Its checksum has to be known to be right.
    #[inline]
    pub(super) fn begin(frame: &[u8]) -> Option<Self> {
        let headers = Headers::of(frame)?;
        let size = frame.len() - headers.payload;
        if size == 0 || headers.payload > HEADERS_MAX || !is_exact(&headers, frame) {
            return None;
        }
        let push = match headers.transport {
            Transport::Udp => 0,
            Transport::Tcp => {
                let flags = frame[headers.l4 + TCP_FLAGS];
                if flags & !(TCP_PSH | TCP_ECE) != TCP_ACK {
                    return None;
                }
                flags & TCP_PSH
            }
        };
        Some(Self { headers, size, total: size, frames: 1, ended: push != 0, push })
    }

    /// Number of its frames.
    pub(super) const fn frames(&self) -> u16 {
        self.frames
    }

    /// Offset of the payload in each frame.
    pub(super) const fn payload(&self) -> usize {
        self.headers.payload
    }

    /// Takes the next frame if it continues the run that begins with `first`, and `is_good`: its checksum is known to
    /// be right.
    #[inline]
    pub(super) fn takes(
        &mut self,
        first: &[u8],
        frame: &[u8],
        is_good: impl FnOnce() -> bool,
    ) -> bool {
        let Headers { l3, l4, payload, is_ipv6, transport } = self.headers;
        if self.ended || frame.len() <= payload {
            return false;
        }
        let len = frame.len() - payload;
        let fits = len <= self.size && payload - l3 + self.total + len <= LEN_MAX;
        let same = |from: usize, to: usize| first[from..to] == frame[from..to];
        if !fits || !same(0, l3) {
            return false;
        }
        let ip = if is_ipv6 {
            same(l3, l3 + 4) && same(l3 + 6, l4)
        } else {
            let next = be16(first, l3 + 4).wrapping_add(self.frames);
            same(l3, l3 + 2)
                && be16(frame, l3 + 4) == next
                && same(l3 + 6, l3 + 10)
                && same(l3 + 12, l4)
        };
        if !ip || !is_exact(&self.headers, frame) {
            return false;
        }
        let mut push = 0;
        let continues = match transport {
            Transport::Udp => same(l4, l4 + 4),
            Transport::Tcp => {
                let next = be32(first, l4 + 4).wrapping_add(self.total as u32);
                push = frame[l4 + TCP_FLAGS] & TCP_PSH;
                same(l4, l4 + 4)
                    && be32(frame, l4 + 4) == next
                    && same(l4 + 8, l4 + TCP_FLAGS)
                    && frame[l4 + TCP_FLAGS] == first[l4 + TCP_FLAGS] | push
                    && same(l4 + 14, l4 + 16)
                    && same(l4 + 18, payload)
            }
        };
        if !continues || !is_good() {
            return false;
        }
        self.frames += 1;
        self.total += len;
        self.push = push;
        self.ended = len < self.size || push != 0;
        true
    }

    /// Writes the headers of the packet of a run that begins with `first` to the front of `out`.
    pub(super) fn write(&self, first: &[u8], out: &mut [u8; HEADERS_MAX]) -> Offload {
        let Headers { l4, payload, is_ipv6, transport, .. } = self.headers;
        let header = &mut out[..payload];
        header.copy_from_slice(&first[..payload]);
        let len = payload + self.total;
        self.headers.set_lengths(header, len);
        self.headers.finish_ip(header);
        if transport == Transport::Tcp {
            header[l4 + TCP_FLAGS] |= self.push;
        }
        let at = transport.checksum_at();
        let sum = !self.headers.pseudo(header, len - l4).finish();
        put16(header, l4 + at, sum);
        let kind = match (transport, is_ipv6) {
            (Transport::Udp, _) => SegmentKind::Udp,
            (Transport::Tcp, false) => SegmentKind::TcpIpv4,
            (Transport::Tcp, true) => SegmentKind::TcpIpv6,
        };
        Offload {
            unfinished: Some(Unfinished { start: l4 as u16, offset: at as u16 }),
            is_verified: false,
            segments: Some(Segments { kind, size: self.size as u16 }),
            header_len: payload as u16,
        }
    }
}

/// True if the lengths in the headers are the frame's, and the checksum of IPv4 is right: they are not in the
/// packet of a run.
#[inline]
fn is_exact(headers: &Headers, frame: &[u8]) -> bool {
    let ends = headers.l3 + headers.ip_len(frame) == frame.len();
    let of_udp = headers.transport != Transport::Udp
        || usize::from(be16(frame, headers.l4 + 4)) == frame.len() - headers.l4;
    let ip_is_right = || {
        let header = &frame[headers.l3..headers.ip_header_end(frame)];
        headers.is_ipv6 || Sum::default().octets(header).finish() == 0
    };
    ends && of_udp && ip_is_right()
}

/// True if a frame's transport checksum is there and right.
#[inline]
pub(super) fn is_right(frame: &[u8]) -> bool {
    Headers::of(frame).is_some_and(|headers| {
        headers.l3 + headers.ip_len(frame) == frame.len() && headers.is_right(frame)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cut::Cut;
    use crate::testframes::{Made, any_made, made};

    fn cut(packet: &[u8], offload: &Offload) -> Vec<Vec<u8>> {
        let mut cut = Cut::new(packet, offload).unwrap();
        let mut frames = Vec::new();
        while let Some(len) = cut.next_len() {
            frames.push(vec![0; len]);
            cut.write(packet, frames.last_mut().unwrap());
        }
        frames
    }

    /// Runs of frames as packets.
    fn merged(frames: &[Vec<u8>]) -> Vec<(Vec<u8>, Offload)> {
        let mut packets = Vec::new();
        let mut at = 0;
        while at < frames.len() {
            let first = &frames[at];
            let run = Run::begin(first).filter(|_| is_right(first));
            let Some(mut run) = run else {
                packets.push((first.clone(), Offload::default()));
                at += 1;
                continue;
            };
            let rest = frames[at + 1..].iter();
            let more = rest.take_while(|frame| run.takes(first, frame, || is_right(frame))).count();
            let all = &frames[at..=at + more];
            at += all.len();
            if all.len() == 1 {
                packets.push((first.clone(), Offload::default()));
                continue;
            }
            let mut header = [0; HEADERS_MAX];
            let offload = run.write(first, &mut header);
            let mut packet = header[..run.payload()].to_vec();
            all.iter().for_each(|frame| packet.extend_from_slice(&frame[run.payload()..]));
            packets.push((packet, offload));
        }
        packets
    }

    fn three() -> Vec<Vec<u8>> {
        let made = made(&Made { payload: 3_000, size: 1_448, flags: 0x18, ..Made::default() });
        cut(&made.packet, &made.offload)
    }

    #[test]
    fn three_frames_are_the_packet_that_they_were_cut_from() {
        let made = made(&Made { payload: 3_000, size: 1_448, flags: 0x18, ..Made::default() });
        assert_eq!(merged(&three()), [(made.packet, made.offload)]);
    }

    /// Each change makes the second frame one that no packet of one flow can have; frames keep their octets.
    #[test]
    fn frames_that_do_not_belong_together_stay_apart() {
        let changes: [(&str, usize, u8); 14] = [
            ("address", 5, 1),
            ("type of service", 15, 1),
            ("identification", 19, 1),
            ("fragment", 20, 0x20),
            ("time to live", 22, 1),
            ("IP checksum", 24, 1),
            ("source", 29, 1),
            ("port", 35, 1),
            ("sequence", 41, 1),
            ("acknowledgement", 45, 1),
            ("FIN", 47, 1),
            ("window", 48, 1),
            ("checksum", 50, 1),
            ("urgent pointer", 53, 1),
        ];
        for (what, at, bits) in changes {
            for repaired in [false, true] {
                let mut frames = three();
                frames[1][at] ^= bits;
                // With right checksums the field itself has to tell.
                if let Some(headers) = Headers::of(&frames[1]).filter(|_| repaired) {
                    headers.finish_ip(&mut frames[1]);
                    headers.finish_transport(&mut frames[1]);
                    if what.contains("checksum") {
                        continue;
                    }
                }
                let packets = merged(&frames);
                assert!(packets.len() > 1, "{what}");
                let again: Vec<_> = packets.iter().flat_map(|(p, o)| cut(p, o)).collect();
                assert_eq!(again, frames, "{what}");
            }
        }
    }

    #[test]
    fn padding_and_frames_without_payload_stay_apart() {
        let ack = made(&Made { payload: 1, size: 1, ..Made::default() });
        let mut frames = cut(&ack.packet, &ack.offload);
        frames[0].pop();
        assert!(Run::begin(&frames[0]).is_none());
        let mut frames = three();
        frames[2].resize(200, 0);
        assert!(!Run::begin(&frames[0]).unwrap().takes(&frames[0], &frames[2], || true));
        assert!(Run::begin(&frames[2]).is_none());
    }

    proptest! {
        /// Whatever is merged and cut again is the same to the octet, also with changed frames.
        #[test]
        fn what_is_merged_and_cut_again_is_the_same(
            trains in prop::collection::vec(any_made(), 1..4),
            changes in prop::collection::vec((any::<(prop::sample::Index, prop::sample::Index)>(), any::<u8>()), 0..4),
        ) {
            let mut frames = Vec::new();
            for mut train in trains {
                train.payload %= 9_000;
                train.payload += 1;
                let made = made(&train);
                frames.extend(cut(&made.packet, &made.offload));
            }
            for ((frame, at), bits) in changes {
                let frame = frame.get_mut(&mut frames);
                let at = at.index(frame.len());
                frame[at] ^= bits;
            }
            let packets = merged(&frames);
            let again: Vec<_> = packets.iter().flat_map(|(packet, offload)| cut(packet, offload)).collect();
            prop_assert_eq!(again, frames);
        }
    }
}

//! A flow's frame, prepared once: per frame only the probe's numbers and the UDP checksum are
//! written.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::plan::{FlowId, FlowPlan, Headers, Tag, Udp};
use super::probe::{PROBE_ETHERTYPE, PROBE_LEN, Probe, SEQUENCE_AT};
use contracts::frame::FCS_BYTES;
use ground::memory::{fetch, fetch_lines};
use ground::time::Instant;
use ground::units::Mac;
use wire::checksum::Sum;
use wire::ip::Protocol;
use wire::{EtherType, ethernet, ipv4, ipv6, udp, vlan};

/// TTL of a flow's packets.
pub(super) const TTL: u8 = 64;

/// Message for header writes that cannot fail.
pub(super) const ROOM: &str = "the head was made long enough for all headers";

/// Offset of the checksum in a UDP header.
const UDP_CHECKSUM_AT: usize = 6;

/// The first bytes of a flow's frames; the rest of a frame is zero.
#[derive(Clone, Debug)]
pub struct Template {
    head: Vec<u8>,
    probe_at: usize,
    /// Partial sum of the UDP checksum without the changing bytes, if there is one.
    udp: Option<Sum>,
    wire_len: u32,
    flow: FlowId,
}

impl Template {
    /// Prepares the frames of a flow with a validated plan.
    pub fn new(flow: &FlowPlan) -> Self {
        let probe_at = flow.probe_at();
        let mut head = vec![0; probe_at + PROBE_LEN];
        let ethertype = match flow.headers {
            Headers::Ethernet => PROBE_ETHERTYPE,
            Headers::Udp4(_) => EtherType::IPV4,
            Headers::Udp6(_) => EtherType::IPV6,
        };
        // In place before the checksum is summed up; its numbers are added with each frame.
        let probe = Probe::new(flow.id, 0, Instant::ZERO);
        head[probe_at..].copy_from_slice(&probe.octets());
        let l3 = layer2(flow.dst, flow.src, flow.tag, ethertype, &mut head);
        let len = (flow.size - FCS_BYTES) as usize - l3;
        let udp = match flow.headers {
            Headers::Ethernet => None,
            Headers::Udp4(udp) => Some(udp4(&udp, len, &mut head[l3..])),
            Headers::Udp6(udp) => Some(udp6(&udp, len, &mut head[l3..])),
        };
        Self { head, probe_at, udp, wire_len: flow.size, flow: flow.id }
    }

    /// Brings the template into the caches, without its bytes.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch(&self.head);
        fetch(&self.probe_at);
        fetch(&self.udp);
        fetch(&self.wire_len);
    }

    /// Brings its bytes into the caches.
    #[inline]
    pub(super) fn fetch_head(&self) {
        self.head.first().into_iter().for_each(|first| fetch_lines(first, 2));
    }

    /// Returns the first bytes of frame number `sequence`, sent at `now`.
    #[inline]
    pub fn stamp(&mut self, sequence: u64, now: Instant) -> &[u8] {
        let probe = Probe::new(self.flow, sequence, now).octets();
        self.head[self.probe_at..].copy_from_slice(&probe);
        // Sums over constant bytes are kept, so a frame of any length costs the same.
        if let Some(sum) = self.udp {
            let sum = match sum.octets(&probe[SEQUENCE_AT..]).finish() {
                0 => 0xffff, // 0 would mean no checksum (RFC 768).
                sum => sum,
            };
            let at = self.probe_at - udp::HEADER_LEN + UDP_CHECKSUM_AT;
            self.head[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        &self.head
    }

    /// Returns the length of a frame in bytes, FCS included.
    pub const fn wire_len(&self) -> u32 {
        self.wire_len
    }
}

/// Writes addresses, tag and EtherType; returns the offset of the network header.
pub(super) fn layer2(
    dst: Mac,
    src: Mac,
    tag: Option<Tag>,
    ethertype: EtherType,
    head: &mut [u8],
) -> usize {
    let outer = if tag.is_some() { EtherType::C_TAG } else { ethertype };
    ethernet::Repr { dst, src, ethertype: outer }.emit(head).expect(ROOM);
    // The EtherType of a tagged frame stands behind the tag.
    let Some(tag) = tag else { return ethernet::HEADER_LEN };
    let tag_at = ethernet::HEADER_LEN - 2;
    let tag = vlan::Repr { tpid: vlan::Tpid::C, pcp: tag.pcp, dei: false, vid: tag.vid };
    tag.emit(&mut head[tag_at..]).expect(ROOM);
    let l3 = ethernet::HEADER_LEN + vlan::TAG_LEN;
    head[l3 - 2..l3].copy_from_slice(&ethertype.0.to_be_bytes());
    l3
}

/// Returns the IPv4 header of a packet with `payload_len` bytes behind it, with the addresses and
/// marking of `udp`.
pub(super) const fn ipv4_header(
    udp: &Udp<Ipv4Addr>,
    protocol: Protocol,
    payload_len: u16,
) -> ipv4::Repr<'static> {
    ipv4::Repr {
        dscp: udp.dscp,
        ecn: udp.ecn,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol,
        src: udp.src,
        dst: udp.dst,
        options: &[],
        payload_len,
    }
}

/// Writes IPv4 and UDP for a packet of `len` bytes; returns the partial sum of the UDP checksum.
fn udp4(udp: &Udp<Ipv4Addr>, len: usize, out: &mut [u8]) -> Sum {
    let payload_len = (len - ipv4::HEADER_LEN) as u16;
    ipv4_header(udp, Protocol::UDP, payload_len).emit(out).expect(ROOM);
    datagram(udp, payload_len, &mut out[ipv4::HEADER_LEN..])
}

/// Writes IPv6 and UDP for a packet of `len` bytes; returns the partial sum of the UDP checksum.
fn udp6(udp: &Udp<Ipv6Addr>, len: usize, out: &mut [u8]) -> Sum {
    let payload_len = (len - ipv6::HEADER_LEN) as u16;
    let ip = ipv6::Repr {
        dscp: udp.dscp,
        ecn: udp.ecn,
        flow_label: 0,
        payload_len,
        next_header: Protocol::UDP,
        hop_limit: TTL,
        src: udp.src,
        dst: udp.dst,
    };
    ip.emit(out).expect(ROOM);
    datagram(udp, payload_len, &mut out[ipv6::HEADER_LEN..])
}

/// Writes the UDP header of a datagram of `len` bytes; returns the partial sum of its checksum, to
/// which the probe's numbers have to be added. All bytes behind the probe are zero.
fn datagram<A: Into<IpAddr> + Copy>(udp: &Udp<A>, len: u16, out: &mut [u8]) -> Sum {
    let payload_len = len - udp::HEADER_LEN as u16;
    let header =
        udp::Repr { src_port: udp.src_port, dst_port: udp.dst_port, payload_len, checksum: 0 };
    header.emit(out).expect("a frame is shorter than the longest datagram");
    // Zeros behind the probe add nothing.
    Sum::default().pseudo(udp.src.into(), udp.dst.into(), Protocol::UDP.0, len).octets(out)
}

//! Frames of a TCP-like flow: segments and acknowledgements, with their checksums. All payload
//! behind the probe is zero and does not contribute to them.

use super::tcp::Segment;
use crate::plan::{FlowId, TcpPlan, TransportPlan};
use crate::probe::{PROBE_LEN, Probe, SEQUENCE_AT};
use crate::template::ROOM;
use crate::transport::{HEAD, Headers, padded};
use contracts::frame::FCS_BYTES;
use ground::time::Instant;
use wire::checksum::Sum;
use wire::ip::{Ecn, Protocol};
use wire::ipv4;
use wire::segment::{self, CHECKSUM_AT, HEADER_LEN, flag};

/// Advertised window in every segment. The plan limits a flow, not the window.
const WINDOW: u16 = u16::MAX;

/// Ranges of the changing fields in a TCP header.
const SEQUENCE: core::ops::Range<usize> = 4..8;
const ACKNOWLEDGEMENT: core::ops::Range<usize> = 8..12;
const OFFSET_AND_FLAGS: core::ops::Range<usize> = 12..14;

/// The data segments of one flow.
#[derive(Clone, Debug)]
pub(crate) struct DataFrames {
    headers: Headers,
    flow: FlowId,
    head: [u8; HEAD],
    l3: usize,
    /// Bytes of payload for which the lengths in `head` and `sum` are correct.
    fits: u32,
    /// Partial checksum without sequence number, flags, and the numbers of the probe.
    sum: Sum,
}

impl DataFrames {
    pub(crate) fn new(plan: &TransportPlan, tcp: &TcpPlan) -> Self {
        let headers = Headers::of_data(plan, tcp.src_port, tcp.dst_port);
        let mut head = [0; HEAD];
        let l3 = headers.emit_ethernet(&mut head);
        let (flow, fits) = (plan.id, u32::MAX);
        Self { headers, flow, head, l3, fits, sum: Sum::default() }
    }

    /// Returns the first bytes of the frame of `segment`, with probe number `sequence`, sent now,
    /// and its length with FCS.
    #[inline]
    pub(crate) fn stamp(&mut self, segment: &Segment, sequence: u64, now: Instant) -> (&[u8], u32) {
        if segment.payload != self.fits {
            self.resize(segment.payload);
        }
        let l4 = self.l3 + ipv4::HEADER_LEN;
        let (tcp, probe) = self.head[l4..l4 + HEADER_LEN + PROBE_LEN].split_at_mut(HEADER_LEN);
        probe.copy_from_slice(&Probe::new(self.flow, sequence, now).octets());
        tcp[SEQUENCE].copy_from_slice(&(segment.sequence as u32).to_be_bytes());
        // PUSH at the end of a message, as a socket's write sets it.
        tcp[13] = if segment.last { flag::ACK | flag::PUSH } else { flag::ACK };
        // Constant bytes are summed up in `resize`, so a segment of any length costs the same.
        let sum = self.sum.octets(&tcp[SEQUENCE]).octets(&tcp[OFFSET_AND_FLAGS]);
        let sum = sum.octets(&probe[SEQUENCE_AT..]).finish();
        tcp[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
        let shown = l4 + HEADER_LEN + PROBE_LEN;
        (&self.head[..shown], (l4 + HEADER_LEN) as u32 + segment.payload + FCS_BYTES)
    }

    /// Writes the lengths for `payload` bytes, and everything that does not change.
    fn resize(&mut self, payload: u32) {
        let len = HEADER_LEN + payload as usize;
        let (ip, l4) = (self.headers.ip(), self.l3 + ipv4::HEADER_LEN);
        self.headers.emit_ip(&mut self.head[self.l3..], Protocol::TCP, len);
        emit_tcp(&self.headers, &mut self.head[l4..]);
        let tcp = &mut self.head[l4..l4 + HEADER_LEN];
        let pseudo =
            |sum: Sum| sum.pseudo(ip.src.into(), ip.dst.into(), Protocol::TCP.0, len as u16);
        // Sequence number, offset and flags are added with each segment; the first is 0 here.
        let fixed = Sum::default().octets(&tcp[..12]).octets(&tcp[14..]);
        let probe = Probe::new(self.flow, 0, Instant::ZERO).octets();
        self.sum = pseudo(fixed).octets(&probe[..SEQUENCE_AT]);
        self.fits = payload;
    }
}

/// Writes a TCP header with 0 in all changing fields.
fn emit_tcp(headers: &Headers, out: &mut [u8]) {
    let repr = segment::Repr {
        src_port: headers.ip().src_port,
        dst_port: headers.ip().dst_port,
        sequence: 0,
        acknowledgement: 0,
        flags: flag::ACK,
        window: WINDOW,
        checksum: 0,
    };
    repr.emit(out).expect(ROOM);
}

/// The acknowledgements of one flow.
#[derive(Clone, Debug)]
pub(crate) struct AckFrames {
    head: [u8; HEAD],
    len: usize,
    l4: usize,
    /// Partial checksum without the acknowledged number.
    sum: Sum,
}

impl AckFrames {
    pub(crate) fn new(plan: &TransportPlan, tcp: &TcpPlan) -> Self {
        let ports = (tcp.dst_port, tcp.src_port);
        let headers = Headers::of_answers(plan, tcp.ack, ports.0, ports.1, Ecn::NotEct);
        let mut head = [0; HEAD];
        let l3 = headers.emit_ethernet(&mut head);
        headers.emit_ip(&mut head[l3..], Protocol::TCP, HEADER_LEN);
        let (ip, l4) = (headers.ip(), l3 + ipv4::HEADER_LEN);
        emit_tcp(&headers, &mut head[l4..]);
        let sum = Sum::default().octets(&head[l4..l4 + HEADER_LEN]);
        let sum = sum.pseudo(ip.src.into(), ip.dst.into(), Protocol::TCP.0, HEADER_LEN as u16);
        Self { head, len: padded(l3, ipv4::HEADER_LEN + HEADER_LEN), l4, sum }
    }

    /// Returns the whole frame that acknowledges everything before byte `number`, and its length
    /// with FCS.
    #[inline]
    pub(crate) fn stamp(&mut self, number: u32) -> (&[u8], u32) {
        let tcp = &mut self.head[self.l4..self.l4 + HEADER_LEN];
        tcp[ACKNOWLEDGEMENT].copy_from_slice(&number.to_be_bytes());
        let sum = self.sum.octets(&number.to_be_bytes()).finish();
        tcp[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
        (&self.head[..self.len], self.len as u32 + FCS_BYTES)
    }
}

//! Frames of a RoCEv2 flow: data, acknowledgements, notifications.
//!
//! The constant part of all frames is written once. A frame within the first 128 bytes has a
//! correct ICRC. Of a longer one only the first bytes are made here and zeros follow, including its
//! ICRC: a device that validates ICRCs of data has to be configured for this. UDP has no checksum,
//! as usual in RoCEv2, because the ICRC covers more.

use super::roce::Packet;
use crate::plan::{FlowId, Operation, RocePlan, TransportPlan};
use crate::probe::{PROBE_LEN, Probe};
use crate::template::ROOM;
use crate::transport::{HEAD, Headers, padded};
use contracts::frame::FCS_BYTES;
use ground::time::Instant;
use wire::aeth::{self, Syndrome};
use wire::ip::{Ecn, Protocol};
use wire::roce::{self, Opcode, U24};
use wire::{cnp, icrc, ipv4, reth, udp};

/// Bytes from the IP header to the BTH.
const TO_BTH: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;

/// Offset in the BTH from which acknowledgements of one flow differ.
const VARIES: usize = 8;

/// The data frames of one flow.
#[derive(Clone, Debug)]
pub(crate) struct DataFrames {
    headers: Headers,
    operation: Operation,
    immediate: Option<u32>,
    flow: FlowId,
    dst_qp: U24,
    head: [u8; HEAD],
    l3: usize,
    /// Bytes between the BTH and the ICRC for which the lengths in `head` are correct.
    fits: usize,
}

impl DataFrames {
    pub(crate) fn new(plan: &TransportPlan, roce: &RocePlan) -> Self {
        let headers = Headers::of_data(plan, roce.src_port, roce::UDP_PORT);
        let mut head = [0; HEAD];
        let l3 = headers.emit_ethernet(&mut head);
        let bth = roce::Repr::new(Opcode::RC_SEND_ONLY, roce.dst_qp, U24::default());
        bth.emit(&mut head[l3 + TO_BTH..]).expect(ROOM);
        let RocePlan { operation, immediate, dst_qp, .. } = *roce;
        Self { headers, operation, immediate, flow: plan.id, dst_qp, head, l3, fits: usize::MAX }
    }

    /// Returns the first bytes of the frame of `packet`, with probe number `sequence`, sent now,
    /// and its length with FCS.
    #[inline]
    pub(crate) fn stamp(
        &mut self,
        packet: &Packet,
        sequence: u64,
        now: Instant,
        full: u32,
    ) -> (&[u8], u32) {
        let first = packet.place.is_first();
        // Full frames have the planned length; a shorter one is padded according to 9.2.3.
        let pad = if packet.payload == full {
            0
        } else {
            packet.payload.next_multiple_of(4) - packet.payload
        };
        let has_reth = first && self.operation == Operation::Write;
        let immediate = self.immediate.filter(|_| packet.last);
        let before = if has_reth { reth::RETH_LEN } else { 0 };
        let extra = before + if immediate.is_some() { roce::IMMEDIATE_LEN } else { 0 };
        let behind = extra + (packet.payload + pad) as usize;
        // Lengths are written again only when they differ from those of the frame before.
        if behind != self.fits {
            self.resize(behind);
        }
        let bth = self.l3 + TO_BTH;
        let probe_at = bth + roce::BTH_LEN + extra;
        let b: &mut [u8; roce::BTH_LEN] =
            (&mut self.head[bth..bth + roce::BTH_LEN]).try_into().expect(ROOM);
        b[0] = opcode(self.operation, first, packet.last, immediate.is_some()).0;
        b[1] = (pad as u8) << 4;
        // The acknowledge request is the top bit of the byte before the PSN.
        b[VARIES] = if packet.ack_request { 0x80 } else { 0 };
        b[9..].copy_from_slice(&packet.psn.octets());
        if has_reth {
            // The RETH's length has 32 bits: of a longer message it states the most that fits.
            self.emit_reth(u32::try_from(packet.message).unwrap_or(u32::MAX));
        }
        if let Some(data) = immediate {
            self.head[probe_at - roce::IMMEDIATE_LEN..probe_at]
                .copy_from_slice(&data.to_be_bytes());
        }
        let probe = Probe::new(self.flow, sequence, now);
        self.head[probe_at..probe_at + PROBE_LEN].copy_from_slice(&probe.octets());
        let len = bth + roce::BTH_LEN + behind + icrc::LEN;
        // The ICRC needs all bytes of the packet, of which a longer frame has only the first here.
        let shown = if len <= HEAD {
            self.head[probe_at + PROBE_LEN..len].fill(0);
            icrc::seal(&mut self.head[self.l3..len]).expect("a whole packet");
            len
        } else {
            probe_at + PROBE_LEN
        };
        (&self.head[..shown], len as u32 + FCS_BYTES)
    }

    /// Takes another UDP source port for all further packets and returns it: the next one of the
    /// dynamic ports (RFC 6335), which RoCEv2 senders use for entropy.
    pub(crate) fn reroute(&mut self) -> u16 {
        let port = 0xc000 | (self.headers.ip().src_port.wrapping_add(1) & 0x3fff);
        self.headers.set_src_port(port);
        // The UDP header has to be written again, by the length of the next packet.
        self.fits = usize::MAX;
        port
    }

    /// Writes the lengths for `behind` bytes between BTH and ICRC.
    fn resize(&mut self, behind: usize) {
        let len = udp::HEADER_LEN + roce::BTH_LEN + behind + icrc::LEN;
        let l4 = self.l3 + ipv4::HEADER_LEN;
        self.headers.emit_ip(&mut self.head[self.l3..], Protocol::UDP, len);
        emit_udp(&self.headers, len, &mut self.head[l4..]);
        self.fits = behind;
    }

    /// Writes the RETH, with a dummy memory address.
    fn emit_reth(&mut self, dma_len: u32) {
        let at = self.l3 + TO_BTH + roce::BTH_LEN;
        let reth = reth::Repr { virtual_address: 0, r_key: self.dst_qp.get(), dma_len };
        reth.emit(&mut self.head[at..]).expect(ROOM);
    }
}

/// Returns the opcode of a packet by its place in its message, whose last one may carry immediate
/// data (IBA Table 38).
const fn opcode(operation: Operation, first: bool, last: bool, immediate: bool) -> Opcode {
    match (operation, first, last) {
        (Operation::Send, true, true) if immediate => Opcode::RC_SEND_ONLY_IMMEDIATE,
        (Operation::Send, false, true) if immediate => Opcode::RC_SEND_LAST_IMMEDIATE,
        (Operation::Write, true, true) if immediate => Opcode::RC_WRITE_ONLY_IMMEDIATE,
        (Operation::Write, false, true) if immediate => Opcode::RC_WRITE_LAST_IMMEDIATE,
        (Operation::Send, true, true) => Opcode::RC_SEND_ONLY,
        (Operation::Send, true, false) => Opcode::RC_SEND_FIRST,
        (Operation::Send, false, false) => Opcode::RC_SEND_MIDDLE,
        (Operation::Send, false, true) => Opcode::RC_SEND_LAST,
        (Operation::Write, true, true) => Opcode::RC_WRITE_ONLY,
        (Operation::Write, true, false) => Opcode::RC_WRITE_FIRST,
        (Operation::Write, false, false) => Opcode::RC_WRITE_MIDDLE,
        (Operation::Write, false, true) => Opcode::RC_WRITE_LAST,
    }
}

/// Writes the UDP header of a datagram of `len` bytes.
fn emit_udp(headers: &Headers, len: usize, out: &mut [u8]) {
    let payload_len = (len - udp::HEADER_LEN) as u16;
    let (src_port, dst_port) = (headers.ip().src_port, headers.ip().dst_port);
    udp::Repr { src_port, dst_port, payload_len, checksum: 0 }.emit(out).expect(ROOM);
}

/// The acknowledgements of one flow, positive and negative.
#[derive(Clone, Debug)]
pub(crate) struct AckFrames {
    head: [u8; HEAD],
    len: usize,
    bth: usize,
    begun: icrc::Begun,
}

impl AckFrames {
    pub(crate) fn new(plan: &TransportPlan, roce: &RocePlan) -> Self {
        let (ports, ecn) = ((roce.src_port, roce::UDP_PORT), plan.ecn);
        let headers = Headers::of_answers(plan, roce.ack, ports.0, ports.1, ecn);
        let mut head = [0; HEAD];
        let l3 = headers.emit_ethernet(&mut head);
        let len = udp::HEADER_LEN + roce::BTH_LEN + aeth::AETH_LEN + icrc::LEN;
        headers.emit_ip(&mut head[l3..], Protocol::UDP, len);
        emit_udp(&headers, len, &mut head[l3 + ipv4::HEADER_LEN..]);
        let bth = l3 + TO_BTH;
        let repr = roce::Repr::new(Opcode::RC_ACKNOWLEDGE, roce.src_qp, U24::default());
        repr.emit(&mut head[bth..]).expect(ROOM);
        // The ICRC up to the bytes that differ is calculated one time.
        let begun = icrc::Begun::new(&head[l3..], TO_BTH + VARIES).expect("a whole packet");
        Self { head, len: padded(l3, ipv4::HEADER_LEN + len), bth, begun }
    }

    /// Returns the whole frame with this content, and its length with FCS.
    #[inline]
    pub(crate) fn stamp(&mut self, syndrome: Syndrome, psn: U24, msn: U24) -> (&[u8], u32) {
        let ([a, b, c], [d, e, f]) = (psn.octets(), msn.octets());
        let syndrome = syndrome.octet().expect("no credits are counted");
        let rest = [0, a, b, c, syndrome, d, e, f];
        let at = self.bth + VARIES;
        let end = at + rest.len();
        self.head[at..end].copy_from_slice(&rest);
        self.head[end..end + icrc::LEN].copy_from_slice(&self.begun.close(&rest));
        (&self.head[..self.len], self.len as u32 + FCS_BYTES)
    }
}

/// The congestion notifications of one flow, which are all the same.
#[derive(Clone, Debug)]
pub(crate) struct CnpFrame {
    head: [u8; HEAD],
    len: usize,
}

impl CnpFrame {
    pub(crate) fn new(plan: &TransportPlan, roce: &RocePlan) -> Self {
        let (marking, ecn) = (Some(roce.cnp), Ecn::Ect0);
        let headers = Headers::of_answers(plan, marking, roce.src_port, roce::UDP_PORT, ecn);
        let mut head = [0; HEAD];
        let l3 = headers.emit_ethernet(&mut head);
        let repr = cnp::Repr {
            src: headers.ip().src.into(),
            dst: headers.ip().dst.into(),
            dscp: headers.dscp(),
            ecn,
            ttl: crate::template::TTL,
            identification: 0,
            src_port: roce.src_port,
            p_key: roce::DEFAULT_P_KEY,
            dest_qp: roce.src_qp,
        };
        repr.emit(&mut head[l3..]).expect(ROOM);
        Self { head, len: padded(l3, repr.buffer_len()) }
    }

    /// Returns the whole frame and its length with FCS.
    pub(crate) fn octets(&self) -> (&[u8], u32) {
        (&self.head[..self.len], self.len as u32 + FCS_BYTES)
    }
}

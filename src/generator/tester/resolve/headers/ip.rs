//! IPv4 (RFC 791) without options, IPv6 (RFC 8200) without extension headers, UDP (RFC 768), and TCP (RFC 9293)
//! without options.

use super::draft::{Field, field};
use super::writer::{Setting, Writer};
use super::{Ends, Ip, Notes};
use host::plan::stream::{Covered, LengthField, Values};
use otg::model::header::{FlowHeader, FlowIpv4, FlowIpv6, FlowTcp, FlowUdp, Ipv4Priority};
use wire::{ipv4, ipv6, segment, sfcm, udp};

const VERSION4: Field = field("version", 0, 4, 4);
const HEADER_LENGTH: Field = field("header_length", 4, 4, 5);
const TOTAL_LENGTH: Field = field("total_length", 16, 16, 0);
const IDENTIFICATION: Field = field("identification", 32, 16, 0);
const RESERVED: Field = field("reserved", 48, 1, 0);
const DONT_FRAGMENT: Field = field("dont_fragment", 49, 1, 0);
const MORE_FRAGMENTS: Field = field("more_fragments", 50, 1, 0);
const FRAGMENT_OFFSET: Field = field("fragment_offset", 51, 13, 0);
const TIME_TO_LIVE: Field = field("time_to_live", 64, 8, 64);
/// 61 is any host internal protocol (IANA).
const PROTOCOL: Field = field("protocol", 72, 8, 61);
const CHECKSUM: Field = field("header_checksum", 80, 16, 0);
const SRC4: Field = field("src", 96, 32, 0);
const DST4: Field = field("dst", 128, 32, 0);

const RAW: Field = field("priority.raw", 8, 8, 0);
const PHB: Field = field("priority.dscp.phb", 8, 6, 0);
const ECN: Field = field("priority.dscp.ecn", 14, 2, 0);
const PRECEDENCE: Field = field("priority.tos.precedence", 8, 3, 0);
const DELAY: Field = field("priority.tos.delay", 11, 1, 0);
const THROUGHPUT: Field = field("priority.tos.throughput", 12, 1, 0);
const RELIABILITY: Field = field("priority.tos.reliability", 13, 1, 0);
const MONETARY: Field = field("priority.tos.monetary", 14, 1, 0);
const UNUSED: Field = field("priority.tos.unused", 15, 1, 0);

/// Writes an IPv4 header; `next` is the protocol of the next header.
pub(super) fn ipv4(
    w: &mut Writer<'_>,
    h: &FlowIpv4,
    next: Option<u8>,
    ends: &Ends,
    notes: &mut Notes,
) {
    let base = w.draft.room(ipv4::HEADER_LEN);
    // The outermost header tells the priority, the innermost one belongs to the checksums behind it.
    notes.first_ip.get_or_insert(Ip::V4(base));
    notes.ip = Some(Ip::V4(base));
    w.put_all(
        base,
        &[
            (VERSION4, &h.version),
            (IDENTIFICATION, &h.identification),
            (RESERVED, &h.reserved),
            (DONT_FRAGMENT, &h.dont_fragment),
            (MORE_FRAGMENTS, &h.more_fragments),
            (FRAGMENT_OFFSET, &h.fragment_offset),
            (TIME_TO_LIVE, &h.time_to_live),
        ],
    );
    // Without options; a configured length may be wrong on purpose.
    w.fill(base, &HEADER_LENGTH, &h.header_length, HEADER_LENGTH.default);
    priority4(w, base, h);
    if w.fill(base, &TOTAL_LENGTH, &h.total_length, 0) {
        w.draft.lengths.push(LengthField { at: base + TOTAL_LENGTH.bit / 8, from: base });
    }
    w.fill(base, &PROTOCOL, &h.protocol, next.map_or(PROTOCOL.default, Into::into));
    // The sum is made at the end, as other fields may still change.
    let over = Covered::Header(base, base + ipv4::HEADER_LEN as u16);
    w.checksum(base, &CHECKSUM, &h.header_checksum, Some(over));
    for (field, pattern, own) in [
        (SRC4, &h.src, ends.each(|end| end.src4.map(|a| a.to_bits().into()))),
        (DST4, &h.dst, ends.each(|end| end.dst4.map(|a| a.to_bits().into()))),
    ] {
        match w.setting(&field, pattern.as_ref()) {
            Setting::These(values) => w.draft.vary(base, &field, values),
            // The addresses of the devices, one for each pair; between ports there are none.
            Setting::Nothing | Setting::Auto => {
                w.draft.vary(base, &field, own.unwrap_or(Values::List(vec![field.default])));
            }
        }
    }
}

/// Writes the byte of DSCP and ECN from any of its three forms.
fn priority4(w: &mut Writer<'_>, base: u16, h: &FlowIpv4) {
    match &h.priority {
        None | Some(Ipv4Priority::Other { .. }) => {}
        Some(Ipv4Priority::Raw(raw)) => w.put(base, &RAW, &Some(raw.clone())),
        Some(Ipv4Priority::Dscp(dscp)) => {
            w.put_all(base, &[(PHB, &dscp.phb), (ECN, &dscp.ecn)]);
        }
        Some(Ipv4Priority::Tos(tos)) => w.put_all(
            base,
            &[
                (PRECEDENCE, &tos.precedence),
                (DELAY, &tos.delay),
                (THROUGHPUT, &tos.throughput),
                (RELIABILITY, &tos.reliability),
                (MONETARY, &tos.monetary),
                (UNUSED, &tos.unused),
            ],
        ),
    }
}

const VERSION6: Field = field("version", 0, 4, 6);
const TRAFFIC_CLASS: Field = field("traffic_class", 4, 8, 0);
const FLOW_LABEL: Field = field("flow_label", 12, 20, 0);
const PAYLOAD_LENGTH: Field = field("payload_length", 32, 16, 0);
/// 59: no next header (RFC 8200 4.7).
const NEXT_HEADER: Field = field("next_header", 48, 8, 59);
const HOP_LIMIT: Field = field("hop_limit", 56, 8, 64);
const SRC6: Field = field("src", 64, 128, 0);
const DST6: Field = field("dst", 192, 128, 0);

/// Writes an IPv6 header; `next` is the protocol of the next header.
pub(super) fn ipv6(
    w: &mut Writer<'_>,
    h: &FlowIpv6,
    next: Option<u8>,
    ends: &Ends,
    notes: &mut Notes,
) {
    let base = w.draft.room(ipv6::HEADER_LEN);
    notes.first_ip.get_or_insert(Ip::V6(base));
    notes.ip = Some(Ip::V6(base));
    w.put_all(
        base,
        &[
            (VERSION6, &h.version),
            (TRAFFIC_CLASS, &h.traffic_class),
            (FLOW_LABEL, &h.flow_label),
            (HOP_LIMIT, &h.hop_limit),
        ],
    );
    // Unlike IPv4's, it counts from behind the header.
    if w.fill(base, &PAYLOAD_LENGTH, &h.payload_length, 0) {
        let from = base + ipv6::HEADER_LEN as u16;
        w.draft.lengths.push(LengthField { at: base + PAYLOAD_LENGTH.bit / 8, from });
    }
    w.fill(base, &NEXT_HEADER, &h.next_header, next.map_or(NEXT_HEADER.default, Into::into));
    for (field, pattern, own) in [
        (SRC6, &h.src, ends.each(|end| end.src6.map(|a| a.to_bits()))),
        (DST6, &h.dst, ends.each(|end| end.dst6.map(|a| a.to_bits()))),
    ] {
        match w.setting(&field, pattern.as_ref()) {
            Setting::These(values) => w.draft.vary(base, &field, values),
            Setting::Nothing | Setting::Auto => {
                w.draft.vary(base, &field, own.unwrap_or(Values::List(vec![field.default])));
            }
        }
    }
}

const SRC_PORT: Field = field("src_port", 0, 16, 0);
const DST_PORT: Field = field("dst_port", 16, 16, 0);

const UDP_LENGTH: Field = field("length", 32, 16, 0);
const UDP_CHECKSUM: Field = field("checksum", 48, 16, 0);

const SEQ_NUM: Field = field("seq_num", 32, 32, 0);
const ACK_NUM: Field = field("ack_num", 64, 32, 0);
/// OTG's default of 0 is invalid for every receiver; the header without options has five words.
const DATA_OFFSET: Field = field("data_offset", 96, 4, 5);
/// The ECN nonce of RFC 3540, now AE (RFC 9768).
const NS: Field = field("ecn_ns", 103, 1, 0);
const CWR: Field = field("ecn_cwr", 104, 1, 0);
const ECHO: Field = field("ecn_echo", 105, 1, 0);
const URG: Field = field("ctl_urg", 106, 1, 0);
const ACK: Field = field("ctl_ack", 107, 1, 0);
const PSH: Field = field("ctl_psh", 108, 1, 0);
const RST: Field = field("ctl_rst", 109, 1, 0);
const SYN: Field = field("ctl_syn", 110, 1, 0);
const FIN: Field = field("ctl_fin", 111, 1, 0);
const WINDOW: Field = field("window", 112, 16, 0);
const TCP_CHECKSUM: Field = field("checksum", 128, 16, 0);

pub(super) fn udp(w: &mut Writer<'_>, h: &FlowUdp, notes: &Notes, next: Option<&FlowHeader>) {
    let base = w.draft.room(udp::HEADER_LEN);
    // Messages have their port on both sides.
    let default = match next {
        Some(FlowHeader::Sfcm(_)) => sfcm::PORT_DEFAULT.into(),
        _ => 0,
    };
    let (src, dst) = (Field { default, ..SRC_PORT }, Field { default, ..DST_PORT });
    w.put_all(base, &[(src, &h.src_port), (dst, &h.dst_port)]);
    if w.fill(base, &UDP_LENGTH, &h.length, 0) {
        w.draft.lengths.push(LengthField { at: base + UDP_LENGTH.bit / 8, from: base });
    }
    w.checksum(base, &UDP_CHECKSUM, &h.checksum, covered(notes, base, true));
}

pub(super) fn tcp(w: &mut Writer<'_>, h: &FlowTcp, notes: &Notes) {
    let base = w.draft.room(segment::HEADER_LEN);
    w.put_all(
        base,
        &[
            (SRC_PORT, &h.src_port),
            (DST_PORT, &h.dst_port),
            (SEQ_NUM, &h.seq_num),
            (ACK_NUM, &h.ack_num),
            (DATA_OFFSET, &h.data_offset),
            (NS, &h.ecn_ns),
            (CWR, &h.ecn_cwr),
            (ECHO, &h.ecn_echo),
            (URG, &h.ctl_urg),
            (ACK, &h.ctl_ack),
            (PSH, &h.ctl_psh),
            (RST, &h.ctl_rst),
            (SYN, &h.ctl_syn),
            (FIN, &h.ctl_fin),
            (WINDOW, &h.window),
        ],
    );
    w.checksum(base, &TCP_CHECKSUM, &h.checksum, covered(notes, base, false));
}

/// Returns the coverage of the checksum of the header at `from`, by the IP header in front.
fn covered(notes: &Notes, from: u16, udp: bool) -> Option<Covered> {
    notes.ip.map(|ip| match ip {
        Ip::V4(ip) => Covered::Payload4 { ip, from, udp },
        Ip::V6(ip) => Covered::Payload6 { ip, from, udp },
    })
}

//! UDP (RFC 768) and TCP (RFC 9293, without options).

use super::draft::{Field, field};
use super::writer::Writer;
use super::{Ip, Notes};
use host::plan::stream::{Covered, LengthField};
use otg::model::header::{FlowHeader, FlowTcp, FlowUdp};
use wire::{segment, sfcm, udp};

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

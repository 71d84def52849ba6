//! Congestion messages of switches, and headroom measurement messages: SFCM ([`wire::sfcm`]), CIM
//! ([`wire::cim`]), CNM ([`wire::cnm`]) and the measurement's ([`wire::headroom`]). Fields are not
//! checked against the formats, so that a test can send invalid messages.

use super::draft::{Field, field};
use super::writer::Writer;
use host::plan::stream::LengthField;
use otg::model::header::{
    FlowCim, FlowCnm, FlowHeadroom, FlowSfcm, Msdu, Number, SfcmFlow, SfcmFlow4, SfcmFlow6,
};
use wire::ip::Protocol;

const VERSION: Field = field("version", 0, 4, 0);

const FORM: Field = field("form", 4, 4, 0);
const LOCATOR: Field = field("locator", 8, 2, 0);
const SFCM_RESERVED: Field = field("reserved", 10, 3, 0);
const PCP: Field = field("pcp", 13, 3, 0);
const DSCP: Field = field("dscp", 16, 6, 0);
const OCTET_THREE: Field = field("octet_three", 24, 8, 0);
const PAUSE: Field = field("pause", 32, 32, 0);
const SFCM_LENGTH: Field = field("length", 64, 16, 0);

const SRC4: Field = field("flow.ipv4.src", 80, 32, 0);
const DST4: Field = field("flow.ipv4.dst", 112, 32, 0);
const SRC6: Field = field("flow.ipv6.src", 80, 128, 0);
const DST6: Field = field("flow.ipv6.dst", 208, 128, 0);
/// Behind the addresses of a simplified flow.
const PROTOCOL: Field = field("flow.protocol", 0, 8, Protocol::UDP.0 as u128);
const SRC_PORT: Field = field("flow.src_port", 16, 16, 0);
const DST_PORT: Field = field("flow.dst_port", 32, 16, 0);
const MSDU_TYPE: Field = field("flow.msdu.ether_type", 80, 16, 0);

/// Writes an SFCM in front of a header of type `kind`.
pub(super) fn sfcm(w: &mut Writer<'_>, h: &FlowSfcm, kind: Option<u16>) {
    let base = w.draft.room(wire::sfcm::HEADER_LEN);
    w.put_all(
        base,
        &[
            (VERSION, &h.version),
            (LOCATOR, &h.locator),
            (SFCM_RESERVED, &h.reserved),
            (PCP, &h.pcp),
            (DSCP, &h.dscp),
            (OCTET_THREE, &h.octet_three),
            (PAUSE, &h.pause),
        ],
    );
    let none = SfcmFlow::Ipv4(Box::default());
    let flow = h.flow.as_ref().unwrap_or(&none);
    // The form follows from the kind of flow, unless it is configured.
    let encapsulated = u128::from(matches!(flow, SfcmFlow::Msdu(_)));
    w.fill(base, &FORM, &h.form, encapsulated);
    let len = match flow {
        SfcmFlow::Ipv4(flow) => simplified4(w, base, flow),
        SfcmFlow::Ipv6(flow) => simplified6(w, base, flow),
        SfcmFlow::Msdu(Msdu { ether_type, .. }) => {
            w.draft.room(2);
            w.fill(base, &MSDU_TYPE, ether_type, kind.unwrap_or_default().into());
            let rest = w.fill(base, &SFCM_LENGTH, &h.length, 0);
            return rest_of_frame(w, rest, base, &SFCM_LENGTH, wire::sfcm::HEADER_LEN as u16);
        }
        SfcmFlow::Other { .. } => 0,
    };
    w.fill(base, &SFCM_LENGTH, &h.length, len.into());
}

/// Writes a simplified flow and returns its length.
fn simplified4(w: &mut Writer<'_>, base: u16, h: &SfcmFlow4) -> u16 {
    w.draft.room(2 * 4);
    w.put_all(base, &[(SRC4, &h.src), (DST4, &h.dst)]);
    2 * 4 + ports(w, [&h.protocol, &h.src_port, &h.dst_port])
}

fn simplified6(w: &mut Writer<'_>, base: u16, h: &SfcmFlow6) -> u16 {
    w.draft.room(2 * 16);
    w.put_all(base, &[(SRC6, &h.src), (DST6, &h.dst)]);
    2 * 16 + ports(w, [&h.protocol, &h.src_port, &h.dst_port])
}

/// Writes the fields behind the addresses of a flow and returns their length.
fn ports(w: &mut Writer<'_>, [protocol, src, dst]: [&Number; 3]) -> u16 {
    const LEN: u16 = 6;
    let base = w.draft.room(LEN.into());
    w.put_all(base, &[(PROTOCOL, protocol), (SRC_PORT, src), (DST_PORT, dst)]);
    LEN
}

const OUTER_VERSION: Field = field("outer_version", 0, 4, 0);
const SUBTYPE: Field = field("subtype", 4, 4, 0);

const CIM_RESERVED: Field = field("reserved", 4, 3, 0);
const ADD: Field = field("add", 7, 1, 1);
const CIM_DST: Field = field("destination_address", 8, 48, 0);
const CIM_SRC: Field = field("source_address", 56, 48, 0);
const VID: Field = field("vlan_identifier", 104, 16, 0);
const CIM_LENGTH: Field = field("length", 120, 16, 0);
const CIM_TYPE: Field = field("ether_type", 136, 16, 0);

/// Writes a CIM in front of a header of type `kind`, behind UDP or not.
pub(super) fn cim(w: &mut Writer<'_>, h: &FlowCim, kind: Option<u16>, over_ip: bool) {
    // Behind UDP there are no outer version and subtype.
    if !over_ip {
        let base = w.draft.room(1);
        w.put_all(base, &[(OUTER_VERSION, &h.outer_version), (SUBTYPE, &h.subtype)]);
    }
    let base = w.draft.room(wire::cim::HEADER_LEN + 2);
    w.put_all(
        base,
        &[
            (VERSION, &h.version),
            (CIM_RESERVED, &h.reserved),
            (ADD, &h.add),
            (VID, &h.vlan_identifier),
        ],
    );
    w.put_all(base, &[(CIM_DST, &h.destination_address), (CIM_SRC, &h.source_address)]);
    w.fill(base, &CIM_TYPE, &h.ether_type, kind.unwrap_or_default().into());
    // It counts what follows, which is known at the end of the headers.
    let rest = w.fill(base, &CIM_LENGTH, &h.length, 0);
    rest_of_frame(w, rest, base, &CIM_LENGTH, wire::cim::HEADER_LEN as u16);
}

const CNM_RESERVED: Field = field("reserved", 4, 6, 0);
const FEEDBACK: Field = field("feedback", 10, 6, 0);
const CPID_MAC: Field = field("cpid_mac", 16, 48, 0);
const CPID_QUEUE: Field = field("cpid_queue", 64, 16, 0);
const Q_OFFSET: Field = field("q_offset", 80, 16, 0);
const Q_DELTA: Field = field("q_delta", 96, 16, 0);
const PRIORITY: Field = field("priority", 112, 3, 0);
const CNM_DST: Field = field("destination_address", 128, 48, 0);
const CNM_LENGTH: Field = field("length", 176, 16, 0);
const CNM_TYPE: Field = field("ether_type", 192, 16, 0);

/// Writes a CNM in front of a header of type `kind`, if any follows.
pub(super) fn cnm(w: &mut Writer<'_>, h: &FlowCnm, kind: Option<u16>, follows: bool) {
    let base = w.draft.room(wire::cnm::HEADER_LEN);
    w.put_all(
        base,
        &[
            (VERSION, &h.version),
            (CNM_RESERVED, &h.reserved),
            (FEEDBACK, &h.feedback),
            (CPID_QUEUE, &h.cpid_queue),
            (Q_OFFSET, &h.q_offset),
            (Q_DELTA, &h.q_delta),
            (PRIORITY, &h.priority),
        ],
    );
    w.put_all(base, &[(CPID_MAC, &h.cpid_mac), (CNM_DST, &h.destination_address)]);
    let rest = w.fill(base, &CNM_LENGTH, &h.length, 0);
    // Without a header behind it the message has no MSDU.
    if follows || h.ether_type.is_some() {
        w.draft.room(2);
        w.fill(base, &CNM_TYPE, &h.ether_type, kind.unwrap_or_default().into());
        rest_of_frame(w, rest, base, &CNM_LENGTH, wire::cnm::HEADER_LEN as u16);
    }
}

const MEASURED_SUBTYPE: Field = field("subtype", 4, 4, 1);
const PDU_VERSION: Field = field("version", 8, 4, 0);
const MEASURED_RESERVED: Field = field("reserved", 12, 2, 0);
const KIND: Field = field("kind", 14, 2, 1);
const MEASURED_LENGTH: Field = field("length", 16, 8, 0);
const T1_HIGH: Field = field("t1_high", 24, 32, 0);
const T1: Field = field("t1", 56, 32, 0);
const T2_HIGH: Field = field("t2_high", 88, 32, 0);
const T2: Field = field("t2", 120, 32, 0);
const T3_HIGH: Field = field("t3_high", 152, 32, 0);
const T3: Field = field("t3", 184, 32, 0);
const T4_HIGH: Field = field("t4_high", 216, 32, 0);
const T4: Field = field("t4", 248, 32, 0);
const PSN: Field = field("psn", 280, 8, 0);
const P_T1_HIGH: Field = field("p_t1_high", 288, 32, 0);
const P_T1: Field = field("p_t1", 320, 32, 0);
const P_PSN: Field = field("p_psn", 352, 8, 0);
const COMPENSATION: Field = field("compensation", 360, 32, 0);

/// Bytes of a measurement message in front of its PDU, up to its PSN, with a piggybacked message,
/// and with a compensation.
const BEFORE_PDU: usize = 1;
const PLAIN: usize = 36;
const PIGGYBACKED: usize = 45;
const COMPENSATED: usize = 49;

/// Writes a headroom measurement message.
pub(super) fn headroom(w: &mut Writer<'_>, h: &FlowHeadroom) {
    let piggybacked = [&h.p_t1_high, &h.p_t1, &h.p_psn].into_iter().any(Option::is_some);
    // A compensation stands behind the piggybacked message, whose bytes are there then in any case.
    let len = match (&h.compensation, piggybacked) {
        (Some(_), _) => COMPENSATED,
        (None, true) => PIGGYBACKED,
        (None, false) => PLAIN,
    };
    let base = w.draft.room(len);
    w.put_all(
        base,
        &[
            (OUTER_VERSION, &h.outer_version),
            (MEASURED_SUBTYPE, &h.subtype),
            (PDU_VERSION, &h.version),
            (MEASURED_RESERVED, &h.reserved),
            (KIND, &h.kind),
            (T1_HIGH, &h.t1_high),
            (T1, &h.t1),
            (T2_HIGH, &h.t2_high),
            (T2, &h.t2),
            (T3_HIGH, &h.t3_high),
            (T3, &h.t3),
            (T4_HIGH, &h.t4_high),
            (T4, &h.t4),
            (PSN, &h.psn),
        ],
    );
    w.fill(base, &MEASURED_LENGTH, &h.length, (len - BEFORE_PDU) as u128);
    if len >= PIGGYBACKED {
        w.put_all(base, &[(P_T1_HIGH, &h.p_t1_high), (P_T1, &h.p_t1), (P_PSN, &h.p_psn)]);
    }
    if len == COMPENSATED {
        w.put(base, &COMPENSATION, &h.compensation);
    }
}

/// Lets a length field count the bytes from `start` of the header to the end of the frame, unless a
/// value is configured.
fn rest_of_frame(w: &mut Writer<'_>, rest: bool, base: u16, field: &Field, start: u16) {
    if rest {
        w.draft.lengths.push(LengthField { at: base + field.bit / 8, from: base + start });
    }
}

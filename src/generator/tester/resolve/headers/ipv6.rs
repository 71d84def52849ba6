//! IPv6 (RFC 8200), without extension headers.

use super::draft::{Field, field};
use super::writer::{Said, Writer};
use super::{Ends, Ip, Notes};
use host::plan::stream::{LengthField, Values};
use otg::model::header::FlowIpv6;
use wire::ipv6::HEADER_LEN;

const VERSION: Field = field("version", 0, 4, 6);
const TRAFFIC_CLASS: Field = field("traffic_class", 4, 8, 0);
const FLOW_LABEL: Field = field("flow_label", 12, 20, 0);
const PAYLOAD_LENGTH: Field = field("payload_length", 32, 16, 0);
/// 59: no next header (RFC 8200 4.7).
const NEXT_HEADER: Field = field("next_header", 48, 8, 59);
const HOP_LIMIT: Field = field("hop_limit", 56, 8, 64);
const SRC: Field = field("src", 64, 128, 0);
const DST: Field = field("dst", 192, 128, 0);

/// Writes an IPv6 header; `next` is the protocol of the next header.
pub(super) fn write(
    w: &mut Writer<'_>,
    h: &FlowIpv6,
    next: Option<u8>,
    ends: &Ends,
    notes: &mut Notes,
) {
    let base = w.draft.room(HEADER_LEN);
    notes.first_ip.get_or_insert(Ip::V6(base));
    notes.ip = Some(Ip::V6(base));
    w.put_all(
        base,
        &[
            (VERSION, &h.version),
            (TRAFFIC_CLASS, &h.traffic_class),
            (FLOW_LABEL, &h.flow_label),
            (HOP_LIMIT, &h.hop_limit),
        ],
    );
    if w.fill(base, &PAYLOAD_LENGTH, &h.payload_length, 0) {
        let from = base + HEADER_LEN as u16;
        w.draft.lengths.push(LengthField { at: base + PAYLOAD_LENGTH.bit / 8, from });
    }
    w.fill(base, &NEXT_HEADER, &h.next_header, next.map_or(NEXT_HEADER.default, Into::into));
    for (field, said, own) in [
        (SRC, &h.src, ends.each(|end| end.src6.map(|a| a.to_bits()))),
        (DST, &h.dst, ends.each(|end| end.dst6.map(|a| a.to_bits()))),
    ] {
        match w.said(&field, said.as_ref()) {
            Said::These(values) => w.draft.vary(base, &field, values),
            Said::Nothing | Said::Auto => {
                w.draft.vary(base, &field, own.unwrap_or(Values::List(vec![field.default])));
            }
        }
    }
}

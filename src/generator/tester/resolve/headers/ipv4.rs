//! IPv4 (RFC 791), without options.

use super::Notes;
use super::draft::{Field, field};
use super::writer::{Said, Writer};
use super::{Ends, Ip};
use host::plan::stream::{Covered, LengthField, Values};
use otg::model::header::{FlowIpv4, Ipv4Priority};
use wire::ipv4::HEADER_LEN;

const VERSION: Field = field("version", 0, 4, 4);
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
const SRC: Field = field("src", 96, 32, 0);
const DST: Field = field("dst", 128, 32, 0);

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
pub(super) fn write(
    w: &mut Writer<'_>,
    h: &FlowIpv4,
    next: Option<u8>,
    ends: &Ends,
    notes: &mut Notes,
) {
    let base = w.draft.room(HEADER_LEN);
    notes.first_ip.get_or_insert(Ip::V4(base));
    notes.ip = Some(Ip::V4(base));
    w.put_all(
        base,
        &[
            (VERSION, &h.version),
            (IDENTIFICATION, &h.identification),
            (RESERVED, &h.reserved),
            (DONT_FRAGMENT, &h.dont_fragment),
            (MORE_FRAGMENTS, &h.more_fragments),
            (FRAGMENT_OFFSET, &h.fragment_offset),
            (TIME_TO_LIVE, &h.time_to_live),
        ],
    );
    w.fill(base, &HEADER_LENGTH, &h.header_length, HEADER_LENGTH.default);
    priority(w, base, h);
    if w.fill(base, &TOTAL_LENGTH, &h.total_length, 0) {
        w.draft.lengths.push(LengthField { at: base + TOTAL_LENGTH.bit / 8, from: base });
    }
    w.fill(base, &PROTOCOL, &h.protocol, next.map_or(PROTOCOL.default, Into::into));
    let over = Covered::Header(base, base + HEADER_LEN as u16);
    w.checksum(base, &CHECKSUM, &h.header_checksum, Some(over));
    for (field, said, own) in [
        (SRC, &h.src, ends.each(|end| end.src4.map(|a| a.to_bits().into()))),
        (DST, &h.dst, ends.each(|end| end.dst4.map(|a| a.to_bits().into()))),
    ] {
        match w.said(&field, said.as_ref()) {
            Said::These(values) => w.draft.vary(base, &field, values),
            Said::Nothing | Said::Auto => {
                w.draft.vary(base, &field, own.unwrap_or(Values::List(vec![field.default])));
            }
        }
    }
}

/// Writes the byte of DSCP and ECN from any of its three forms.
fn priority(w: &mut Writer<'_>, base: u16, h: &FlowIpv4) {
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

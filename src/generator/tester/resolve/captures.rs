//! Resolves captures: the frames that a port stores.

use super::findings::Findings;
use super::headers::octets;
use super::ports::Ports;
use crate::plan::{CaptureFormat, CapturePlan, Filter, Part};
use otg::model::capture::{self, Capture, CaptureCustom, CaptureField, CaptureFilter, Format};
use wire::EtherType;

/// A field that a filter names: its first bit from the start of its part, and its width.
type Place = (u32, u32);

/// Assigns capture plans to ports.
pub(super) fn captures(captures: &[Capture], ports: &mut Ports, cx: &mut Findings) {
    for (i, capture) in captures.iter().enumerate() {
        let path = format!("captures[{i}]");
        let mut filters = Vec::new();
        for (f, filter) in capture.filters.iter().enumerate() {
            read(filter, &format!("{path}.filters[{f}]"), &mut filters, cx);
        }
        let plan = CapturePlan {
            name: capture.name.clone(),
            filters: if filters.is_empty() { Vec::new() } else { vec![filters] },
            overwrite: capture.overwrite,
            // Some OTG clients send 0 for no limit.
            snap: capture.packet_size.filter(|n| *n > 0),
            format: match capture.format {
                Format::Pcap => CaptureFormat::Pcap,
                Format::Pcapng => CaptureFormat::Pcapng,
            },
        };
        for (n, name) in capture.port_names.iter().enumerate() {
            let path = format!("{path}.port_names[{n}]");
            let Some(port) = ports.find(name, &path, cx) else { continue };
            let before = ports.plans[port].capture.take();
            ports.plans[port].capture =
                Some(before.map_or_else(|| plan.clone(), |b| together(b, &plan, &path, cx)));
        }
    }
}

/// Merges two captures of one port, because a request names only the port: frames that match
/// either are stored.
fn together(before: CapturePlan, next: &CapturePlan, path: &str, cx: &mut Findings) -> CapturePlan {
    let how = |plan: &CapturePlan| (plan.overwrite, plan.format);
    if how(&before) != how(next) {
        let what = format!("is of `{}`, too, whose overwrite and format are taken", before.name);
        cx.warn(path, what);
    }
    // An empty list matches all frames.
    let filters = match (before.filters.is_empty(), next.filters.is_empty()) {
        (false, false) => [before.filters, next.filters.clone()].concat(),
        _ => Vec::new(),
    };
    // The longer of both; none if one of them has no limit.
    let snap = before.snap.zip(next.snap).map(|(a, b)| a.max(b));
    CapturePlan { filters, snap, ..before }
}

/// Converts a filter to conditions, all of which must hold. Conditions on IP headers apply behind
/// any tags, those on tags to the outermost one.
fn read(filter: &CaptureFilter, path: &str, out: &mut Vec<Filter>, cx: &mut Findings) {
    let mut of = |header: &str, part: Part, fields: &[(&str, &Option<CaptureField>, Place)]| {
        for (name, field, place) in fields {
            let Some(field) = field else { continue };
            let path = format!("{path}.{header}.{name}");
            out.extend(bits(field, *place, part, &path, cx));
        }
    };
    match filter {
        CaptureFilter::Custom(custom) => {
            out.extend(anywhere(custom, &format!("{path}.custom"), cx));
        }
        CaptureFilter::Ethernet(e) => {
            of(
                "ethernet",
                Part::Frame,
                &[
                    ("dst", &e.dst, (0, 48)),
                    ("src", &e.src, (48, 48)),
                    ("ether_type", &e.ether_type, (96, 16)),
                ],
            );
            if e.pfc_queue.is_some() {
                let what = "frames do not carry the queue that they were sent by; take it out";
                cx.error(format!("{path}.ethernet.pfc_queue"), what);
            }
        }
        CaptureFilter::Vlan(v) => of(
            "vlan",
            Part::Tag,
            &[
                ("priority", &v.priority, (0, 3)),
                ("cfi", &v.cfi, (3, 1)),
                ("id", &v.id, (4, 12)),
                ("protocol", &v.protocol, (16, 16)),
            ],
        ),
        CaptureFilter::Ipv4(ip) => of("ipv4", Part::Packet(EtherType::IPV4), &ipv4(ip)),
        CaptureFilter::Ipv6(ip) => of(
            "ipv6",
            Part::Packet(EtherType::IPV6),
            &[
                ("version", &ip.version, (0, 4)),
                ("traffic_class", &ip.traffic_class, (4, 8)),
                ("flow_label", &ip.flow_label, (12, 20)),
                ("payload_length", &ip.payload_length, (32, 16)),
                ("next_header", &ip.next_header, (48, 8)),
                ("hop_limit", &ip.hop_limit, (56, 8)),
                ("src", &ip.src, (64, 128)),
                ("dst", &ip.dst, (192, 128)),
            ],
        ),
        // Reported by name with the other unsupported parts.
        CaptureFilter::Other { .. } => {}
    }
}

fn ipv4(ip: &capture::CaptureIpv4) -> [(&'static str, &Option<CaptureField>, Place); 14] {
    [
        ("version", &ip.version, (0, 4)),
        ("header_length", &ip.header_length, (4, 4)),
        ("priority", &ip.priority, (8, 8)),
        ("total_length", &ip.total_length, (16, 16)),
        ("identification", &ip.identification, (32, 16)),
        ("reserved", &ip.reserved, (48, 1)),
        ("dont_fragment", &ip.dont_fragment, (49, 1)),
        ("more_fragments", &ip.more_fragments, (50, 1)),
        ("fragment_offset", &ip.fragment_offset, (51, 13)),
        ("time_to_live", &ip.time_to_live, (64, 8)),
        ("protocol", &ip.protocol, (72, 8)),
        ("header_checksum", &ip.header_checksum, (80, 16)),
        ("src", &ip.src, (96, 32)),
        ("dst", &ip.dst, (128, 32)),
    ]
}

fn anywhere(field: &CaptureCustom, path: &str, cx: &mut Findings) -> Option<Filter> {
    // The widest field that OTG names is an IPv6 address, and the compared bytes are within the
    // first kilobyte of a frame. This choice bounds the cost of each frame.
    const WIDTH_MAX: u32 = 128;
    const OFFSET_MAX: u32 = 8 * 1024;
    if !(1..=WIDTH_MAX).contains(&field.bit_length) || field.offset > OFFSET_MAX {
        let what = format!(
            "write an offset of at most {OFFSET_MAX} bits and a length of 1 to {WIDTH_MAX} bits"
        );
        cx.error(path, what);
        return None;
    }
    let place = (field.offset, field.bit_length);
    let field = CaptureField {
        value: field.value.clone(),
        mask: field.mask.clone(),
        negate: field.negate,
        ..CaptureField::default()
    };
    bits(&field, place, Part::Frame, path, cx)
}

/// A condition on bits; value and mask are numbers of the field's width. A mask of zeros stands
/// for all bits, because clients send it when they set only a value. So does a mask with bits
/// only outside the field, from clients that write the field together with the bits around it.
fn bits(
    field: &CaptureField,
    place: Place,
    part: Part,
    path: &str,
    cx: &mut Findings,
) -> Option<Filter> {
    let (first, width) = place;
    let value = number(&field.value, width, &format!("{path}.value"), cx);
    let mask = number(&field.mask, u128::BITS, &format!("{path}.mask"), cx);
    let all = u128::MAX >> (u128::BITS - width);
    let (value, mask) = (value?, mask? & all);
    let mask = if mask == 0 { all } else { mask };
    // Bits from the end of the field to the end of its last byte.
    let behind = (8 - (first + width) % 8) % 8;
    let len = ((first % 8 + width + behind) / 8) as usize;
    let lay = |n: u128| -> Vec<u8> {
        // Up to 17 bytes: 16 of the number, and one for the shift.
        let (high, low) = match behind {
            0 => (0, n),
            _ => (n >> (128 - behind), n << behind),
        };
        let octets: Vec<u8> = [high as u8].into_iter().chain(low.to_be_bytes()).collect();
        octets[octets.len() - len..].to_vec()
    };
    Some(Filter {
        part,
        at: (first / 8) as u16,
        value: lay(value),
        mask: lay(mask),
        negate: field.negate,
    })
}

/// Parses a number of at most `width` bits in hexadecimal digits.
pub(super) fn number(text: &str, width: u32, path: &str, cx: &mut Findings) -> Option<u128> {
    // Single digits stand in front of a number without separators alone; others are in pairs.
    let even = if text.trim().len() % 2 == 1 && !text.contains(['x', 'X', ':', ' ']) {
        format!("0{}", text.trim())
    } else {
        text.to_owned()
    };
    let read = octets(&even).map(|octets| {
        // Zeros in front do not make a number too wide.
        let zeros = octets.iter().take_while(|o| **o == 0).count();
        octets[zeros..].to_vec()
    });
    let fits = read.filter(|octets| octets.len() <= 16);
    let n = fits.map(|octets| octets.iter().fold(0_u128, |n, o| n << 8 | u128::from(*o)));
    let n = n.filter(|n| width >= 128 || n >> width == 0);
    if n.is_none() {
        let what = format!("`{text}` is no number of {width} bits in hexadecimal digits");
        cx.error(path, what);
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(value: &str, mask: &str) -> CaptureField {
        CaptureField { value: value.into(), mask: mask.into(), ..CaptureField::default() }
    }

    #[test]
    fn conditions_lie_where_their_bits_are() {
        let mut cx = Findings::default();
        let mut bits = |value: &str, mask: &str, place: Place| {
            super::bits(&field(value, mask), place, Part::Frame, "f", &mut cx).unwrap()
        };
        let vid = bits("123", "fff", (116, 12));
        assert_eq!((vid.at, vid.value, vid.mask), (14, vec![0x01, 0x23], vec![0x0f, 0xff]));
        let pcp = bits("5", "7", (112, 3));
        assert_eq!((pcp.at, pcp.value, pcp.mask), (14, vec![0xa0], vec![0xe0]));
        let odd = bits("0xffffffffffffffffffffffffffffffff", "1", (3, 128));
        assert_eq!((odd.at, odd.value.len()), (0, 17));
        assert_eq!((odd.value[0], odd.value[16], odd.mask[16]), (0x1f, 0xe0, 0x20));
        assert_eq!(cx.errors(), 0);
    }

    #[test]
    fn a_mask_of_zeros_is_one_of_all_bits() {
        let mut cx = Findings::default();
        let mut mask = |mask: &str, place: Place| {
            super::bits(&field("06", mask), place, Part::Tag, "f", &mut cx).unwrap().mask
        };
        assert_eq!(mask("00", (4, 12)), [0x0f, 0xff]);
        // With the four bits in front of the field, which do not belong to it.
        assert_eq!(mask("F000", (4, 12)), [0x0f, 0xff]);
        assert_eq!(mask("F00E", (4, 12)), [0x00, 0x0e]);
        assert_eq!(mask("00", (0, 128)), [0xff; 16]);
        assert_eq!(mask("0e", (0, 128))[15], 0x0e);
    }

    #[test]
    fn numbers_that_are_none_or_too_wide_are_refused() {
        for (value, width) in [("xyz", 8), ("1ff", 8), ("", 8), ("8", 3)] {
            let mut cx = Findings::default();
            assert_eq!(number(value, width, "f", &mut cx), None, "{value}");
            assert_eq!(cx.errors(), 1);
        }
    }
}

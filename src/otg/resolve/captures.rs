//! Captures: which frames a port keeps.

use super::findings::Findings;
use super::headers::octets;
use super::ports::Ports;
use crate::otg::model::capture::{
    self, Capture, CaptureCustom, CaptureField, CaptureFilter, Format,
};
use crate::tester::plan::{CaptureFormat, CapturePlan, Filter};
use crate::wire::EtherType;

/// A field that a filter names: its first bit from the frame's start and its width.
type Place = (u32, u32);

/// Gives ports what is captured on them.
pub(super) fn captures(captures: &[Capture], ports: &mut Ports, cx: &mut Findings) {
    for (i, capture) in captures.iter().enumerate() {
        let path = format!("captures[{i}]");
        let mut filters = Vec::new();
        for (f, filter) in capture.filters.iter().enumerate() {
            read(filter, &format!("{path}.filters[{f}]"), &mut filters, cx);
        }
        let plan = CapturePlan {
            name: capture.name.clone(),
            filters,
            overwrite: capture.overwrite,
            // OTG's clients may say 0 for nothing.
            snap: capture.packet_size.filter(|n| *n > 0),
            format: match capture.format {
                Format::Pcap => CaptureFormat::Pcap,
                Format::Pcapng => CaptureFormat::Pcapng,
            },
        };
        for (n, name) in capture.port_names.iter().enumerate() {
            let path = format!("{path}.port_names[{n}]");
            let Some(port) = ports.find(name, &path, cx) else { continue };
            if let Some(other) = &ports.plans[port].capture {
                let what = format!("`{}` captures on port `{name}` already; keep one", other.name);
                cx.error(path, what);
                continue;
            }
            ports.plans[port].capture = Some(plan.clone());
        }
    }
}

/// Reads a filter into conditions, all of which must hold. Those on IP headers are for frames
/// without a tag, those on tags for frames with one.
fn read(filter: &CaptureFilter, path: &str, out: &mut Vec<Filter>, cx: &mut Findings) {
    let mut of = |name: &str, only: EtherType, fields: &[(&str, &Option<CaptureField>, Place)]| {
        for (field, said, place) in fields {
            let Some(said) = said else { continue };
            let path = format!("{path}.{name}.{field}");
            let only = if only.0 == 0 { Vec::new() } else { vec![(12, only.0)] };
            out.extend(condition(said, *place, only, &path, cx));
        }
    };
    match filter {
        CaptureFilter::Custom(custom) => {
            out.extend(anywhere(custom, &format!("{path}.custom"), cx));
        }
        CaptureFilter::Ethernet(e) => {
            of(
                "ethernet",
                EtherType(0),
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
            EtherType::C_TAG,
            &[
                ("priority", &v.priority, (112, 3)),
                ("cfi", &v.cfi, (115, 1)),
                ("id", &v.id, (116, 12)),
                ("protocol", &v.protocol, (128, 16)),
            ],
        ),
        CaptureFilter::Ipv4(ip) => of("ipv4", EtherType::IPV4, &ipv4(ip)),
        CaptureFilter::Ipv6(ip) => of(
            "ipv6",
            EtherType::IPV6,
            &[
                ("version", &ip.version, (112, 4)),
                ("traffic_class", &ip.traffic_class, (116, 8)),
                ("flow_label", &ip.flow_label, (124, 20)),
                ("payload_length", &ip.payload_length, (144, 16)),
                ("next_header", &ip.next_header, (160, 8)),
                ("hop_limit", &ip.hop_limit, (168, 8)),
                ("src", &ip.src, (176, 128)),
                ("dst", &ip.dst, (304, 128)),
            ],
        ),
        CaptureFilter::Other { .. } => {}
    }
}

/// The fields of an IPv4 header behind an Ethernet header.
fn ipv4(ip: &capture::CaptureIpv4) -> [(&'static str, &Option<CaptureField>, Place); 14] {
    [
        ("version", &ip.version, (112, 4)),
        ("header_length", &ip.header_length, (116, 4)),
        ("priority", &ip.priority, (120, 8)),
        ("total_length", &ip.total_length, (128, 16)),
        ("identification", &ip.identification, (144, 16)),
        ("reserved", &ip.reserved, (160, 1)),
        ("dont_fragment", &ip.dont_fragment, (161, 1)),
        ("more_fragments", &ip.more_fragments, (162, 1)),
        ("fragment_offset", &ip.fragment_offset, (163, 13)),
        ("time_to_live", &ip.time_to_live, (176, 8)),
        ("protocol", &ip.protocol, (184, 8)),
        ("header_checksum", &ip.header_checksum, (192, 16)),
        ("src", &ip.src, (208, 32)),
        ("dst", &ip.dst, (240, 32)),
    ]
}

/// A condition on a header's field.
fn condition(
    said: &CaptureField,
    place: Place,
    only: Vec<(u16, u16)>,
    path: &str,
    cx: &mut Findings,
) -> Option<Filter> {
    bits((&said.value, &said.mask), said.negate, place, only, path, cx)
}

/// A condition on any bits.
fn anywhere(said: &CaptureCustom, path: &str, cx: &mut Findings) -> Option<Filter> {
    // The widest field that OTG names is an address of IPv6, and the octets looked at are within
    // the first kilobyte of a frame: a choice that bounds what each frame costs.
    const WIDTH_MAX: u32 = 128;
    const OFFSET_MAX: u32 = 8 * 1024;
    if !(1..=WIDTH_MAX).contains(&said.bit_length) || said.offset > OFFSET_MAX {
        let what = format!(
            "write an offset of at most {OFFSET_MAX} bits and a length of 1 to {WIDTH_MAX} bits"
        );
        cx.error(path, what);
        return None;
    }
    let place = (said.offset, said.bit_length);
    bits((&said.value, &said.mask), said.negate, place, Vec::new(), path, cx)
}

/// A condition on bits, whose value and mask are numbers as wide as they are.
fn bits(
    (value, mask): (&str, &str),
    negate: bool,
    (first, width): Place,
    only: Vec<(u16, u16)>,
    path: &str,
    cx: &mut Findings,
) -> Option<Filter> {
    let value = number(value, width, &format!("{path}.value"), cx);
    let mask = number(mask, width, &format!("{path}.mask"), cx);
    let (value, mask) = (value?, mask?);
    let behind = (8 - (first + width) % 8) % 8;
    let len = ((first % 8 + width + behind) / 8) as usize;
    let lay = |n: u128| -> Vec<u8> {
        // Up to 17 octets: the number's own 16, and one that it may be shifted into.
        let (high, low) = match behind {
            0 => (0, n),
            _ => (n >> (128 - behind), n << behind),
        };
        let octets: Vec<u8> = [high as u8].into_iter().chain(low.to_be_bytes()).collect();
        octets[octets.len() - len..].to_vec()
    };
    Some(Filter { only, at: (first / 8) as u16, value: lay(value), mask: lay(mask), negate })
}

/// A number of at most `width` bits in hexadecimal digits.
fn number(text: &str, width: u32, path: &str, cx: &mut Findings) -> Option<u128> {
    let even = if text.trim().len() % 2 == 1 && !text.contains(['x', 'X', ':', ' ']) {
        format!("0{}", text.trim())
    } else {
        text.to_owned()
    };
    let read = octets(&even).map(|octets| {
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

    #[test]
    fn conditions_lie_where_their_bits_are() {
        let mut cx = Findings::default();
        let mut bits = |value: &str, mask: &str, place: Place| {
            super::bits((value, mask), false, place, Vec::new(), "f", &mut cx).unwrap()
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
    fn numbers_that_are_none_or_too_wide_are_refused() {
        for (value, width) in [("xyz", 8), ("1ff", 8), ("", 8), ("8", 3)] {
            let mut cx = Findings::default();
            assert_eq!(number(value, width, "f", &mut cx), None, "{value}");
            assert_eq!(cx.errors(), 1);
        }
    }
}

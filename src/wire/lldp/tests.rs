use proptest::prelude::*;

use super::*;

/// Chassis 02:00:00:00:00:09, port eth0, 121 s, name "sw", no other TLVs.
const GOLDEN: [u8; 60] = [
    0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xcc, 0x02, 0x07,
    0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x04, 0x05, 0x05, b'e', b't', b'h', b'0', 0x06, 0x02,
    0x00, 0x79, 0x0a, 0x02, b's', b'w', 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0,
];
/// End of the golden frame's TLVs, its end TLV included.
const END: usize = 40;

fn golden() -> Repr<'static> {
    Repr {
        dst: DESTINATION,
        src: Mac([2, 0, 0, 0, 0, 1]),
        chassis: Id { subtype: CHASSIS_MAC, octets: &[2, 0, 0, 0, 0, 9] },
        port: Id { subtype: PORT_INTERFACE_NAME, octets: b"eth0" },
        ttl: 121,
    }
}

#[test]
fn golden_bytes() {
    assert_eq!(Repr::parse(&GOLDEN), Ok(golden()));
    let view = View::new(&GOLDEN).unwrap();
    let tlvs: Vec<_> = view.optional().collect();
    assert_eq!(tlvs, [Tlv { kind: TlvType::SYSTEM_NAME, value: b"sw" }]);
    let mut out = [0xff; 60];
    let mut writer = Writer::new(&mut out, &golden()).unwrap();
    writer.tlv(TlvType::SYSTEM_NAME, b"sw").unwrap();
    assert_eq!(writer.finish(), Ok(60));
    assert_eq!(out, GOLDEN);
    let text = "02:00:00:00:00:01 LLDP chassis 02:00:00:00:00:09 port eth0 for 121 s";
    assert_eq!(golden().to_string(), text);
}

/// A frame may only be truncated between TLVs after the mandatory ones.
#[test]
fn every_truncation_inside_a_tlv_is_refused() {
    for n in 0..GOLDEN.len() {
        let read = View::new(&GOLDEN[..n]).map(|v| v.optional().count());
        match n {
            34 => assert_eq!(read.unwrap(), 0, "the name is missing, and so is the end"),
            38 => assert_eq!(read.unwrap(), 1, "the end is missing"),
            END.. => assert_eq!(read.unwrap(), 1, "padding"),
            _ => assert_eq!(read.unwrap_err(), WireError::Truncated, "{n}"),
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_is_refused() {
    for n in 0..GOLDEN.len() {
        assert_eq!(golden().emit(&mut [0; 60][..n]), Err(WireError::NoRoom), "{n}");
    }
}

#[test]
fn each_fault_has_its_own_error() {
    for (at, octet, error) in [
        (13, 0xcd, WireError::BadEthertype),
        (14, 0x04, WireError::BadOpcode), // another TLV instead of the chassis
        (23, 0x02, WireError::BadOpcode), // duplicate chassis
        (30, 0x08, WireError::BadOpcode), // no time to live
        (34, 0x02, WireError::BadOpcode), // another chassis after the mandatory TLVs
        (34, 0x04, WireError::BadOpcode),
        (34, 0x06, WireError::BadOpcode),
        (34, 0x0b, WireError::Truncated), // a name of 258 bytes
    ] {
        let mut bad = GOLDEN;
        bad[at] = octet;
        assert_eq!(View::new(&bad).unwrap_err(), error, "octet {at}");
    }
    let with_chassis_of = |len: usize| {
        let mut frame = GOLDEN[..14].to_vec();
        frame.extend([0x02 | (len >> 8) as u8, len as u8]);
        frame.extend(vec![7; len]);
        frame.extend(&GOLDEN[23..]);
        frame
    };
    for len in [0, 1, 257, 511] {
        assert_eq!(View::new(&with_chassis_of(len)).unwrap_err(), WireError::BadLength, "{len}");
    }
    for len in [2, 256] {
        assert_eq!(View::new(&with_chassis_of(len)).unwrap().chassis().octets.len(), len - 1);
    }
}

#[test]
fn a_time_to_live_may_be_longer_than_it_is_known_and_not_shorter() {
    let with_ttl_of = |len: u8| {
        let mut frame = GOLDEN[..30].to_vec();
        frame.extend([0x06, len]);
        frame.extend(&[0, 120, 3, 4][..usize::from(len)]);
        frame.extend([0, 0]);
        frame
    };
    assert_eq!(View::new(&with_ttl_of(1)).unwrap_err(), WireError::BadLength);
    assert_eq!(View::new(&with_ttl_of(4)).unwrap().ttl(), 120);
}

#[test]
fn what_follows_the_end_is_not_read() {
    let mut frame = GOLDEN;
    frame[END..].fill(0xff);
    assert_eq!(View::new(&frame).unwrap().optional().count(), 1);
}

#[test]
fn only_a_tlv_that_names_its_organization_is_an_organizations() {
    let tlv = |kind, value| Tlv { kind: TlvType(kind), value };
    let named = Organizational { oui: [0, 0x80, 0xc2], subtype: 11, value: &[1] };
    assert_eq!(tlv(127, &[0, 0x80, 0xc2, 11, 1]).organizational(), Some(named));
    assert_eq!(tlv(127, &[0, 0x80, 0xc2]).organizational(), None);
    assert_eq!(tlv(126, &[0, 0x80, 0xc2, 11, 1]).organizational(), None);
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut out = [0; 600];
    let long = [b'x'; 256];
    let port = Id { subtype: PORT_INTERFACE_NAME, octets: &long };
    let none = Id { octets: &[], ..port };
    for port in [port, none] {
        let refused = Writer::new(&mut out, &Repr { port, ..golden() }).map(drop);
        assert_eq!(refused, Err(WireError::OutOfRange));
    }
    let mut writer = Writer::new(&mut out, &golden()).unwrap();
    assert_eq!(writer.tlv(TlvType(9), &[0; 512]), Err(WireError::OutOfRange));
    assert_eq!(writer.tlv(TlvType(128), &[]), Err(WireError::OutOfRange));
    assert_eq!(writer.organizational([0; 3], 0, &[0; 508]), Err(WireError::OutOfRange));
    assert_eq!(writer.organizational([0; 3], 0, &[0; 507]), Ok(()));
    assert_eq!(writer.tlv(TlvType(9), &[0; 100]), Err(WireError::NoRoom));
    assert!(writer.finish().is_ok());
}

#[test]
fn identifiers_read_as_people_write_them() {
    let id = |subtype, octets| Id { subtype, octets }.to_string();
    assert_eq!(id(PORT_MAC, b"\x02\0\0\0\0\x07"), "02:00:00:00:00:07");
    assert_eq!(id(7, b"local\x00\xff"), "local\\x00\\xff");
    assert_eq!(id(PORT_INTERFACE_NAME, b"swp1s0"), "swp1s0");
}

#[test]
fn capabilities_are_two_times_two_octets() {
    let repr = Capabilities { supported: Capabilities::BRIDGE | Capabilities::ROUTER, enabled: 4 };
    assert_eq!(repr.octets(), [0x00, 0x14, 0x00, 0x04]);
    assert_eq!(Capabilities::parse(&[0x00, 0x14, 0x00, 0x04, 0xff]), Ok(repr));
    assert_eq!(Capabilities::parse(&[0, 0x14, 0]), Err(WireError::Truncated));
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        src in any::<[u8; 6]>(),
        ids in prop::array::uniform2((any::<u8>(), prop::collection::vec(any::<u8>(), 1..=255))),
        ttl in any::<u16>(),
        tlvs in prop::collection::vec((4_u8..=127, prop::collection::vec(any::<u8>(), 0..=511)), 0..8)
    ) {
        let [chassis, port] = &ids;
        let id = |(subtype, octets): &(u8, Vec<u8>)| (*subtype, octets.clone());
        let (chassis, port) = (id(chassis), id(port));
        let repr = Repr {
            dst: DESTINATION,
            src: Mac(src),
            chassis: Id { subtype: chassis.0, octets: &chassis.1 },
            port: Id { subtype: port.0, octets: &port.1 },
            ttl,
        };
        let mut out = vec![0xa5; 6_000];
        let mut writer = Writer::new(&mut out, &repr).unwrap();
        for (kind, value) in &tlvs {
            writer.tlv(TlvType(*kind), value).unwrap();
        }
        let len = writer.finish().unwrap();
        let view = View::new(&out[..len]).unwrap();
        prop_assert_eq!(Repr::parse(&out[..len]), Ok(repr));
        let read: Vec<_> = view.optional().map(|tlv| (tlv.kind.0, tlv.value.to_vec())).collect();
        prop_assert_eq!(read, tlvs);
        let mut short = vec![0xa5; repr.buffer_len()];
        repr.emit(&mut short).unwrap();
        prop_assert_eq!(Repr::parse(&short), Ok(repr));
    }
}

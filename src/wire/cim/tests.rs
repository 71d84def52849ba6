use proptest::prelude::*;

use super::*;
use crate::datagram::tests::headers;
use crate::ip::Ecn;
use crate::tests;
use ground::units::Dscp;

const OTHER: Dialect =
    Dialect { octet_three: OctetThree::Pdu, add: AddBit::Clear, vid: VidBits::High };

/// Returns a UDP packet over IPv4 from 10.0.0.1 port 7 to 10.0.0.2 port 9, from its EtherType on.
fn msdu() -> Vec<u8> {
    let mut msdu = vec![
        8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 26,
        0, 0,
    ];
    msdu.resize(MSDU_MIN, 0xab);
    msdu
}

fn repr(msdu: &[u8]) -> Repr<'_> {
    Repr {
        encapsulation: Encapsulation::L2,
        add: true,
        dst: Mac([2, 0, 0, 0, 0, 9]),
        src: Mac([2, 0, 0, 0, 0, 7]),
        vid: Vid::new(0x123),
        msdu,
    }
}

/// As [`repr`], over UDP.
fn over_udp(msdu: &[u8], v6: bool) -> Repr<'_> {
    let address = |n: u8| {
        if v6 {
            format!("fd00::{n}").parse().unwrap()
        } else {
            format!("10.1.0.{n}").parse().unwrap()
        }
    };
    let headers = datagram::Repr {
        src: address(1),
        dst: address(2),
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 255,
        src_port: 50_000,
        dst_port: 50_000,
    };
    Repr { encapsulation: Encapsulation::Udp(headers), ..repr(msdu) }
}

fn emitted(repr: &Repr<'_>, dialect: &Dialect) -> Vec<u8> {
    let mut out = vec![0xff; repr.buffer_len(dialect)];
    repr.emit(&mut out, dialect).unwrap();
    out
}

/// Returns the PDU of [`repr`] by Table 47-4.
fn golden_pdu() -> Vec<u8> {
    let header = [0x01, 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 7, 0x01, 0x23, 0, 48];
    [&header[..], &msdu()].concat()
}

#[test]
fn golden_bytes() {
    let msdu = msdu();
    let dialect = Dialect::default();
    let want = [&[0][..], &golden_pdu()].concat();
    assert_eq!(emitted(&repr(&msdu), &dialect), want);
    assert_eq!(Repr::parse(EtherType::CIM, &want, &dialect), Ok(repr(&msdu)));
    assert_eq!(
        repr(&msdu).to_string(),
        "CIM add 02:00:00:00:00:07 > 02:00:00:00:00:09 vid 291 \
         udp 10.0.0.1 port 7 > 10.0.0.2 port 9"
    );
    // The bytes of Table 47-2: header of IPv4 at 3, of UDP at 23, PDU at 31, counting the EtherType.
    let v4 = emitted(&over_udp(&msdu, false), &dialect);
    assert_eq!(v4[28..], golden_pdu());
    assert_eq!(v4[20..26], [0xc3, 0x50, 0xc3, 0x50, 0, 8 + 65]);
    let v6 = emitted(&over_udp(&msdu, true), &dialect);
    assert_eq!(v6[48..], golden_pdu());
}

#[test]
fn the_other_reading_of_each_part_can_be_spoken() {
    let msdu = msdu();
    let one = |dialect| emitted(&repr(&msdu), &dialect);
    let plain = one(Dialect::default());
    let bare = one(Dialect { octet_three: OctetThree::Pdu, ..Dialect::default() });
    assert_eq!(bare, plain[1..]);
    assert_eq!(one(Dialect { add: AddBit::Clear, ..Dialect::default() })[1], 0);
    let high = one(Dialect { vid: VidBits::High, ..Dialect::default() });
    assert_eq!(high[14..16], [0x12, 0x30]);
    assert_eq!(Repr::parse(EtherType::CIM, &one(OTHER), &OTHER), Ok(repr(&msdu)));
    // Without a byte before it, a message to add resembles the headroom message's subtype.
    let read = Repr::parse(EtherType::CIM, &bare, &Dialect::default());
    assert_eq!(read, Err(WireError::BadOpcode));
}

#[test]
fn each_fault_has_its_own_error() {
    let dialect = Dialect::default();
    let msdu = msdu();
    for (at, octet, error) in [
        (0, 0x10, WireError::BadVersion),
        (0, 0x01, WireError::BadOpcode), // A headroom measurement.
        (1, 0x11, WireError::BadVersion),
        (16, 0x02, WireError::BadLength),
        (17, 47, WireError::BadLength),
        (17, 49, WireError::Truncated),
        (18, 0x89, WireError::AboutItself),
    ] {
        let mut bad = emitted(&repr(&msdu), &dialect);
        bad[at] = octet;
        if at == 18 {
            bad[19] = 0xa2;
        }
        assert_eq!(Repr::parse(EtherType::CIM, &bad, &dialect), Err(error), "octet {at}");
    }
    let mut bad = emitted(&repr(&msdu), &dialect);
    bad[14..16].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(Repr::parse(EtherType::CIM, &bad, &dialect), Err(WireError::ReservedVid));
    assert_eq!(Repr::parse(EtherType::LLDP, &bad, &dialect), Err(WireError::BadEthertype));
    for len in [0, 47, 513] {
        let msdu = vec![0; len];
        let mut out = [0; LEN_MAX];
        assert_eq!(repr(&msdu).emit(&mut out, &dialect), Err(WireError::OutOfRange));
    }
}

#[test]
fn a_message_about_a_message_is_neither_sent_nor_read() {
    let dialect = Dialect::default();
    let inner = msdu();
    for outer in [repr(&inner), over_udp(&inner, false), over_udp(&inner, true)] {
        let header = [&outer.ethertype().0.to_be_bytes()[..], &emitted(&outer, &dialect)];
        let about = header.concat();
        let again = Repr { msdu: &about, ..outer };
        let mut out = [0; LEN_MAX];
        assert_eq!(again.emit(&mut out, &dialect), Err(WireError::AboutItself));
    }
    // A message of another bridge: to its port, with a correct checksum.
    let mut flow_to_us = msdu();
    flow_to_us[24..26].copy_from_slice(&50_000_u16.to_be_bytes());
    let over = over_udp(&inner, false);
    let Encapsulation::Udp(headers) = over.encapsulation else { unreachable!() };
    let mut forged = emitted(&over, &dialect);
    forged[28 + HEADER_LEN..].copy_from_slice(&flow_to_us);
    headers.emit(&mut forged).unwrap();
    let read = Repr::parse(EtherType::IPV4, &forged, &dialect);
    assert_eq!(read, Err(WireError::AboutItself));
}

#[test]
fn reserved_bits_are_ignored() {
    let msdu = msdu();
    for (dialect, spare) in [(Dialect::default(), (14, 0xf0)), (OTHER, (14, 0x0f))] {
        let mut octets = emitted(&repr(&msdu), &dialect);
        let flags = dialect.subtype_len();
        assert_eq!(octets[flags] & 0xfe, 0);
        octets[flags] |= 0x0e;
        let at = spare.0 - usize::from(dialect.octet_three == OctetThree::Pdu);
        let at = if dialect.vid == VidBits::High { at + 1 } else { at };
        assert_eq!(octets[at] & spare.1, 0);
        octets[at] |= spare.1;
        assert_eq!(Repr::parse(EtherType::CIM, &octets, &dialect), Ok(repr(&msdu)));
    }
}

pub(crate) fn dialects() -> impl Strategy<Value = Dialect> {
    any::<(bool, bool, bool)>().prop_map(|(octet_three, add, vid)| Dialect {
        octet_three: if octet_three { OctetThree::Subtype } else { OctetThree::Pdu },
        add: if add { AddBit::Set } else { AddBit::Clear },
        vid: if vid { VidBits::Low } else { VidBits::High },
    })
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same_and_every_truncation_is_refused(
        dialect in dialects(),
        headers in prop::option::of(headers(Some(50_000))),
        (add, vid) in (any::<bool>(), 0_u16..4095),
        (dst, src) in any::<([u8; 6], [u8; 6])>(),
        msdu in prop::collection::vec(any::<u8>(), MSDU_MIN..=MSDU_MAX),
    ) {
        let encapsulation = headers.map_or(Encapsulation::L2, Encapsulation::Udp);
        let (dst, src, vid) = (Mac(dst), Mac(src), Vid::new(vid));
        let repr = Repr { encapsulation, add, dst, src, vid, msdu: &msdu };
        prop_assume!(!repr.is_about_itself());
        let octets = emitted(&repr, &dialect);
        prop_assert!(octets.len() <= LEN_MAX);
        let parse = |octets| Repr::parse(repr.ethertype(), octets, &dialect);
        tests::hold(&repr, &octets, parse, |repr, out| repr.emit(out, &dialect));
        let padded = [&octets[..], &[0xee; 4]].concat();
        prop_assert_eq!(Repr::parse(repr.ethertype(), &padded, &dialect), Ok(repr));
    }
}

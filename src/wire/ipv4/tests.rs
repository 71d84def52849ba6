use proptest::prelude::*;

use super::*;
use crate::tests;

/// The header of the captured CNP in `tests/data_plane/wire_golden.rs`, whose checksum was calculated by a
/// NIC.
const GOLDEN: [u8; 20] = [
    0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
    0x0a, 0x00, 0x12, 0x01,
];

/// Returns the header of those bytes.
pub(crate) fn golden() -> Repr<'static> {
    Repr {
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::Ect0,
        identification: 0x718c,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: Protocol::UDP,
        src: Ipv4Addr::new(10, 0, 17, 1),
        dst: Ipv4Addr::new(10, 0, 18, 1),
        options: &[],
        payload_len: 40,
    }
}

#[test]
fn golden_bytes() {
    tests::hold(&golden(), &GOLDEN, Repr::parse, Repr::emit);
    assert_eq!(golden().to_string(), "10.0.17.1 > 10.0.18.1 udp ttl 64 dscp 48 Ect0 payload 40");
}

#[test]
fn each_fault_has_its_own_error() {
    for (at, octet, error) in [
        (0, 0x65, WireError::BadVersion),
        (0, 0x44, WireError::BadLength),
        (3, 19, WireError::BadLength),
        (8, 63, WireError::BadChecksum),
        (0, 0x46, WireError::Truncated),
    ] {
        let mut bad = GOLDEN;
        bad[at] = octet;
        assert_eq!(Repr::parse(&bad), Err(error), "octet {at}");
    }
    for bad in [
        Repr { options: &[0; 3], ..golden() },
        Repr { options: &[0; 44], ..golden() },
        Repr { payload_len: u16::MAX, ..golden() },
        Repr { fragment_offset: 0x2000, ..golden() },
    ] {
        assert_eq!(bad.emit(&mut [0; 99]), Err(WireError::OutOfRange));
    }
}

#[test]
fn the_reserved_flag_is_ignored_and_sent_as_zero() {
    let mut octets = GOLDEN;
    octets[6] |= 0x80;
    let sum = checksum::update(be16(&octets, CHECKSUM), 0x4000, 0xc000);
    octets[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(Repr::parse(&octets), Ok(golden()));
}

#[test]
fn the_payload_ends_at_the_total_length_or_at_the_octets_at_hand() {
    let frame = [&GOLDEN[..], &[7; 50]].concat();
    assert_eq!(View::new(&frame).unwrap().payload(), &[7; 40]);
    assert_eq!(View::new(&frame[..30]).unwrap().payload(), &[7; 10]);
}

#[test]
fn a_packet_with_one_hop_left_is_not_changed() {
    for ttl in [0, 1] {
        let mut octets = GOLDEN;
        octets[8] = ttl;
        let before = octets;
        assert_eq!(ViewMut::new(&mut octets).unwrap().decrement_ttl(), None);
        assert_eq!(octets, before);
    }
}

fn any_ecn() -> impl Strategy<Value = Ecn> {
    any::<u8>().prop_map(Ecn::from_octet)
}

prop_compose! {
    fn any_repr()(
        (dscp, ecn, ttl, protocol) in (0_u8..64, any_ecn(), any::<u8>(), any::<u8>()),
        (identification, dont_fragment, more_fragments) in any::<(u16, bool, bool)>(),
        (fragment_offset, payload_len) in (0..=FRAGMENT_OFFSET_MAX, 0_u16..65_000),
        (src, dst) in any::<(u32, u32)>(),
    ) -> Repr<'static> {
        Repr {
            dscp: Dscp::new(dscp).unwrap(),
            ecn,
            identification,
            dont_fragment,
            more_fragments,
            fragment_offset,
            ttl,
            protocol: Protocol(protocol),
            src: src.into(),
            dst: dst.into(),
            options: &[],
            payload_len,
        }
    }
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        repr in any_repr(), options in prop::collection::vec(any::<[u8; 4]>(), 0..=10)
    ) {
        let options = options.concat();
        let repr = Repr { options: &options, ..repr };
        let mut out = vec![0xff; repr.buffer_len()];
        repr.emit(&mut out).unwrap();
        tests::hold(&repr, &out, Repr::parse, Repr::emit);
    }

    #[test]
    fn changes_in_place_equal_a_header_made_anew(
        repr in any_repr(), dscp in 0_u8..64, ecn in any_ecn()
    ) {
        let emit = |r: &Repr| {
            let mut out = [0; HEADER_LEN];
            r.emit(&mut out).unwrap();
            out
        };
        let mut octets = emit(&repr);
        let mut v = ViewMut::new(&mut octets).unwrap();
        let mut want = repr;
        if v.decrement_ttl().is_some() {
            want.ttl -= 1;
        }
        let mark = v.mark_ce();
        prop_assert_eq!(mark == CeMark::NotEct, repr.ecn == Ecn::NotEct);
        if mark != CeMark::NotEct {
            want.ecn = Ecn::Ce;
        }
        prop_assert_eq!(octets, emit(&want));
        ViewMut::new(&mut octets).unwrap().set_dscp_ecn(Dscp::new(dscp).unwrap(), ecn);
        prop_assert_eq!(octets, emit(&Repr { dscp: Dscp::new(dscp).unwrap(), ecn, ..want }));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong(repr in any_repr(), wrong in 1_u16..0xffff) {
        let mut octets = [0; HEADER_LEN];
        repr.emit(&mut octets).unwrap();
        let bad = Sum::default().word(be16(&octets, CHECKSUM)).word(wrong);
        octets[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!bad.finish()).to_be_bytes());
        prop_assume!(!View::new(&octets).unwrap().checksum_ok());
        let mut v = ViewMut::new(&mut octets).unwrap();
        v.decrement_ttl();
        v.mark_ce();
        prop_assert!(!View::new(&octets).unwrap().checksum_ok());
    }
}

use proptest::prelude::*;

use super::*;
use crate::tests;

/// Returns a header, and what it says.
pub(crate) fn golden() -> ([u8; 40], Repr) {
    let mut octets = [0; 40];
    octets[..8].copy_from_slice(&[0x66, 0x9a, 0xbc, 0xde, 0x00, 0x28, 0x11, 0x40]);
    octets[8..12].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    octets[23] = 1;
    octets[24..28].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    octets[39] = 2;
    let repr = Repr {
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect1,
        flow_label: 0xa_bcde,
        payload_len: 40,
        next_header: Protocol::UDP,
        hop_limit: 64,
        src: "2001:db8::1".parse().unwrap(),
        dst: "2001:db8::2".parse().unwrap(),
    };
    (octets, repr)
}

/// Returns the golden header with `next` as its next header, followed by `payload`.
fn packet(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut octets = [&golden().0[..], payload].concat();
    octets[5] = payload.len() as u8;
    octets[6] = next;
    octets
}

#[test]
fn golden_bytes() {
    let (octets, repr) = golden();
    tests::hold(&repr, &octets, Repr::parse, Repr::emit);
    assert_eq!(repr.to_string(), "2001:db8::1 > 2001:db8::2 udp hops 64 dscp 26 Ect1 payload 40");
}

#[test]
fn faults_are_refused() {
    let (mut octets, repr) = golden();
    octets[0] = 0x46;
    assert_eq!(Repr::parse(&octets), Err(WireError::BadVersion));
    let bad = Repr { flow_label: 0x10_0000, ..repr };
    assert_eq!(bad.emit(&mut [0; 40]), Err(WireError::OutOfRange));
}

#[test]
fn extension_headers_are_passed_and_every_truncation_of_them_refused() {
    let chain = [
        &[43, 0, 0, 0, 0, 0, 0, 0][..], // hop-by-hop, then routing
        &[51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // routing, then authentication
        &[60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // AH of (1+2)*4, then destination
        &[17, 0, 0, 0, 0, 0, 0, 0],     // destination, then UDP
    ]
    .concat();
    let full = packet(0, &[&chain[..], b"udp here"].concat());
    let upper = View::new(&full).unwrap().upper().unwrap();
    assert_eq!((upper.protocol, upper.payload), (Protocol::UDP, &b"udp here"[..]));
    assert_eq!(upper.fragment, Fragment::Whole);
    for n in 40..40 + chain.len() {
        let cut = View::new(&full[..n]).unwrap();
        assert_eq!(cut.upper(), Err(WireError::Truncated), "{n}");
    }
}

#[test]
fn fragments_are_told_apart_and_nothing_is_read_behind_a_later_one() {
    let of = |hi, lo| {
        let p = packet(44, &[60, 0, hi, lo, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0]);
        let u = View::new(&p).unwrap().upper().unwrap();
        (u.protocol.0, u.fragment)
    };
    assert_eq!(of(0, 0), (17, Fragment::Whole));
    assert_eq!(of(0, 1), (17, Fragment::First));
    assert_eq!(of(0, 8), (60, Fragment::Later));
    assert_eq!(of(0, 6), (17, Fragment::Whole), "reserved bits are ignored");
}

#[test]
fn a_chain_past_the_bound_is_refused() {
    let link = [60, 0, 0, 0, 0, 0, 0, 0];
    let within =
        packet(60, &[&link.repeat(MAX_EXTENSIONS - 1)[..], &[17, 0, 0, 0, 0, 0, 0, 0]].concat());
    assert_eq!(View::new(&within).unwrap().upper().unwrap().protocol, Protocol::UDP);
    let past = packet(60, &link.repeat(MAX_EXTENSIONS));
    assert_eq!(View::new(&past).unwrap().upper(), Err(WireError::Unsupported));
}

#[test]
fn the_payload_ends_at_its_length_or_at_the_octets_at_hand() {
    let (octets, _) = golden();
    let frame = [&octets[..], &[7; 50]].concat();
    assert_eq!(View::new(&frame).unwrap().payload(), &[7; 40]);
    assert_eq!(View::new(&frame[..50]).unwrap().payload(), &[7; 10]);
}

prop_compose! {
    fn any_repr()(
        (dscp, ecn, hop_limit, next) in (0_u8..64, any::<u8>(), any::<u8>(), any::<u8>()),
        (flow_label, payload_len) in (0..=FLOW_LABEL_MAX, any::<u16>()),
        (src, dst) in any::<(u128, u128)>(),
    ) -> Repr {
        Repr {
            dscp: Dscp::new(dscp).unwrap(),
            ecn: Ecn::from_octet(ecn),
            flow_label,
            payload_len,
            next_header: Protocol(next),
            hop_limit,
            src: src.into(),
            dst: dst.into(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(repr in any_repr()) {
        tests::round(&repr, HEADER_LEN, Repr::parse, Repr::emit);
    }

    #[test]
    fn changes_in_place_touch_their_field_alone(repr in any_repr(), class in any::<u8>()) {
        let mut octets = [0; HEADER_LEN];
        repr.emit(&mut octets).unwrap();
        let mut want = repr;
        let mut v = ViewMut::new(&mut octets).unwrap();
        match v.decrement_hop_limit() {
            Some(left) => { want.hop_limit -= 1; prop_assert_eq!(left, want.hop_limit) }
            None => prop_assert!(repr.hop_limit < 2),
        }
        if v.mark_ce() != CeMark::NotEct {
            want.ecn = Ecn::Ce;
        }
        prop_assert_eq!(repr.ecn == Ecn::NotEct, want.ecn == Ecn::NotEct);
        prop_assert_eq!(Repr::parse(&octets), Ok(want));
        let (dscp, ecn) = (ip::dscp_of(class), Ecn::from_octet(class));
        ViewMut::new(&mut octets).unwrap().set_dscp_ecn(dscp, ecn);
        prop_assert_eq!(Repr::parse(&octets), Ok(Repr { dscp, ecn, ..want }));
    }
}
